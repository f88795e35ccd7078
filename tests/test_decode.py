from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from interpunct import render
from interpunct.cases import CASES
from interpunct.decode import DecodeOptions, Decoder, turn_ends
from interpunct.errors import InputError
from interpunct.labels import MARKS, parse_text
from interpunct.models.scores import Scores
from interpunct.transcript import Transcript, Word

LABELS = {"mark": MARKS, "case": CASES}


def scores(*tags: tuple[str, float, str]) -> Scores:
    """Scores in which each word's (mark, its probability, case) come out; the rest goes to no mark."""
    marks = np.full((len(tags), len(MARKS)), 1e-6)
    cases = np.full((len(tags), len(CASES)), 0.01)
    for row, (mark, chance, case) in enumerate(tags):
        marks[row, 0] = 1 - chance
        marks[row, MARKS.index(mark)] = chance
        cases[row, CASES.index(case)] = 0.96
    return Scores({"mark": np.log(marks).astype(np.float32), "case": np.log(cases).astype(np.float32)})


def decoded(text: str | tuple[Word, ...], given: Scores, options: DecodeOptions | None = None) -> tuple[Word, ...]:
    words = parse_text(text) if isinstance(text, str) else text
    lexicon = {"iphone": "iPhone"}
    return tuple(Decoder(words, LABELS, options=options, lexicon=lexicon).feed(given))


LOWER = ("", 1.0, "lower")


def test_decoder_fills_text_mark_case_and_confidences() -> None:
    first, second = decoded("hello bob", scores((",", 0.7, "lower"), (".", 0.9, "sentence")))
    assert (first.text, first.raw, first.mark, first.case) == ("Hello", "hello", ",", "sentence")
    assert first.mark_confidence == pytest.approx(0.7, abs=1e-3)
    assert second.case_confidence == pytest.approx(0.96, abs=1e-3)


def test_decoder_capitalises_after_a_closing_mark_only() -> None:
    words = decoded("so yes ok then", scores((".", 0.9, "lower"), (",", 0.9, "lower"), ("?", 0.9, "lower"), LOWER))
    assert render.join(words) == "So. Yes, ok? Then."


def test_decoder_writes_mixed_words_from_the_lexicon_or_as_names_are() -> None:
    mixed = ("", 1.0, "mixed")
    words = decoded("my iphone macguffin mcrae's jean-luc", scores(LOWER, mixed, mixed, mixed, (".", 0.9, "mixed")))
    assert [word.text for word in words] == ["My", "iPhone", "Macguffin", "McRae's", "Jean-Luc"]
    assert [word.case for word in words] == ["sentence", "mixed", "sentence", "mixed", "mixed"]


def test_decoder_redoes_all_caps_input() -> None:
    words = decoded("HELLO NATO NOW", scores(LOWER, ("", 1.0, "upper"), (".", 0.9, "lower")))
    assert render.join(words) == "Hello NATO now."


def test_threshold_raises_and_lowers_the_bar_of_its_mark() -> None:
    given = scores((",", 0.6, "lower"), (",", 0.3, "lower"), (".", 0.9, "lower"))
    assert [w.mark for w in decoded("a b c", given)] == [",", "", "."]
    strict = DecodeOptions(thresholds={",": 0.7})
    assert [w.mark for w in decoded("a b c", given, strict)] == ["", "", "."]
    lax = DecodeOptions(thresholds={",": 0.2})
    assert [w.mark for w in decoded("a b c", given, lax)] == [",", ",", "."]


def test_scales_change_which_mark_is_likeliest() -> None:
    given = scores((",", 0.4, "lower"), (",", 0.3, "lower"), (".", 0.9, "lower"))
    assert [w.mark for w in decoded("a b c", given)] == ["", "", "."]
    halved = decoded("a b c", given, DecodeOptions(scales={"": 0.5}))
    assert [w.mark for w in halved] == [",", "", "."]
    assert halved[0].mark_confidence == pytest.approx(0.4, abs=1e-3)  # the model's own
    brought = tuple(Decoder(parse_text("a b c"), LABELS, scales={"": 0.5}).feed(given))
    assert [w.mark for w in brought] == [",", "", "."]
    undone = Decoder(parse_text("a b c"), LABELS, scales={"": 0.5}, options=DecodeOptions(scales={"": 1.0}))
    assert [w.mark for w in undone.feed(given)] == ["", "", "."]


def test_marks_of_a_kind_stand_together_against_none() -> None:
    kinds = {"": 0.4, ",": 0.3, "—": 0.25, ".": 0.05}
    logs = np.log(np.array([[kinds.get(mark, 1e-9) for mark in LABELS["mark"]]], dtype=np.float32))
    case = np.log(np.full((1, len(LABELS["case"])), 0.2, dtype=np.float32))

    def first(**options: Any) -> Word:
        decoder = Decoder(parse_text("so"), LABELS, options=DecodeOptions(close=False, **options))
        return next(decoder.feed(Scores({"mark": logs, "case": case})))

    assert first().mark == ","
    assert first().mark_confidence == pytest.approx(0.3, abs=1e-3)
    assert first(thresholds={"—": 0.9}).mark == ","
    assert first(thresholds={",": 0.31}).mark == ""
    assert first(thresholds={",": 0.29}).mark == ","
    assert first(scales={",": 0.6}).mark == "—"
    assert first(scales={",": 0.1, "—": 0.1}).mark == ""


def test_close_ends_documents_and_turns() -> None:
    words = (Word("yes", speaker="A", mark="", case="lower"), Word("no", speaker="B", mark="", case="lower"))
    unsure = scores((".", 0.2, "lower"), ("?", 0.2, "lower"))
    assert [w.mark for w in decoded(words, unsure)] == [".", "?"]
    assert [w.text for w in decoded(words, unsure)] == ["Yes", "No"]
    assert [w.mark for w in decoded(words, unsure, DecodeOptions(close=False))] == ["", ""]


def test_turn_ends_take_a_long_run_of_symbols_in_linear_time() -> None:
    words = [Word("so"), *[Word("♪")] * 200_000]
    assert turn_ends(words)[0] == 1


def test_existing_keep_leaves_what_is_there_and_restores_what_is_missing() -> None:
    given = scores((".", 0.9, "upper"), (".", 0.9, "upper"))
    keep = DecodeOptions(existing="keep")
    assert render.join(decoded("Hello, Bob?!", given, keep)) == "Hello, Bob?!"
    assert render.join(decoded("hello bob", given, keep)) == "HELLO. BOB."
    assert render.join(decoded("hello, bob", given, keep)) == "HELLO, BOB"
    assert render.join(decoded("Hello bob", given, keep)) == "Hello. bob."


def test_existing_fill_adds_and_takes_nothing_away() -> None:
    given = scores((".", 0.9, "lower"), (".", 0.9, "sentence"), (".", 0.9, "sentence"))
    fill = DecodeOptions(existing="fill")
    assert render.join(decoded("Hello, bob NATO", given, fill)) == "Hello, Bob. NATO."


@pytest.mark.parametrize("options", [{"existing": "fill"}, {"existing": "keep"}, {"marks": False}])
def test_marks_that_stay_say_where_no_sentence_begins(options: dict[str, Any]) -> None:
    given = scores((".", 0.985, "lower"), ("", 1.0, "sentence"), (".", 0.95, "lower"))
    words = decoded("hello, how nice", given, DecodeOptions(**options))
    assert render.join(words).startswith("Hello, how nice")
    # Of the .99 for a capital .985 were those of a sentence's begin: (.99 - .985) / (1 - .985) are left.
    assert words[1].case_confidence == pytest.approx(2 / 3, abs=1e-2)


@pytest.mark.parametrize("word", ["i", "i'm", "I’ve"])
def test_i_has_its_capital_behind_any_mark(word: str) -> None:
    given = scores((".", 0.995, "lower"), ("", 1.0, "single" if word == "i" else "sentence"), (".", 0.95, "lower"))
    _, who, _ = decoded(f"hello, {word} know", given, DecodeOptions(existing="fill"))
    assert who.text == "I" + word[1:]


def test_a_name_behind_a_mark_that_stays_keeps_its_capital() -> None:
    given = scores((".", 0.3, "lower"), ("", 1.0, "sentence"), (".", 0.95, "lower"))
    hello, bob, _ = decoded("hello, bob then", given, DecodeOptions(existing="fill"))
    assert (hello.mark, bob.text) == (",", "Bob")
    assert bob.case_confidence == pytest.approx(0.96, abs=1e-3)


def test_places_without_a_mark_that_are_to_be_filled_say_nothing_of_sentences() -> None:
    given = scores((".", 0.95, "lower"), ("", 1.0, "sentence"), (",", 0.9, "lower"), LOWER)
    words = decoded("well then yes, fine", given, DecodeOptions(existing="fill"))
    assert render.join(words) == "Well. Then yes, fine."


def test_no_marks_without_any_in_the_input_leaves_sentences_their_capitals() -> None:
    given = scores((".", 0.95, "lower"), ("", 1.0, "sentence"), LOWER)
    assert render.join(decoded("well then yes", given, DecodeOptions(marks=False))) == "Well Then yes"


def test_existing_redo_ignores_marks_and_case() -> None:
    given = scores(LOWER, (".", 0.9, "lower"))
    assert render.join(decoded("HeLLo, BOB!?", given)) == "Hello bob."


def test_marks_and_case_can_be_left_alone() -> None:
    given = scores((".", 0.9, "upper"), (".", 0.9, "upper"))
    assert render.join(decoded("hello, bob", given, DecodeOptions(marks=False))) == "HELLO, BOB"
    assert render.join(decoded("hello, bob", given, DecodeOptions(case=False))) == "hello. bob."


def test_other_scripts_and_symbols_pass_untouched() -> None:
    given = scores((".", 0.9, "upper"), (".", 0.9, "upper"), (".", 0.9, "upper"))
    assert render.join(decoded("слово ♪ 漢字", given)) == "слово ♪ 漢字"


def test_abbreviations_swallow_the_period_but_end_the_sentence() -> None:
    words = decoded("the u.s. we", scores(LOWER, (".", 0.9, "upper"), (".", 0.9, "lower")))
    assert render.join(words) == "The U.S. We."


@pytest.mark.parametrize(
    "bad",
    [{"existing": "burn"}, {"thresholds": {"%": 0.5}}, {"thresholds": {",": 1.5}}, {"thresholds": {"": 0.5}}],
)
def test_options_refuse_nonsense(bad: dict[str, object]) -> None:
    with pytest.raises(InputError):
        DecodeOptions(**bad)  # type: ignore[arg-type]


def test_decoder_keeps_its_place_over_several_blocks() -> None:
    words = parse_text("a b c")
    decoder = Decoder(words, LABELS)
    first = list(decoder.feed(scores((".", 0.9, "lower"))))
    rest = list(decoder.feed(scores(LOWER, LOWER)))
    assert render.text(Transcript(tuple(first + rest))) == "A. B c."
