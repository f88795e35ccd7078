from __future__ import annotations

import pytest

from interpunct.errors import InputError
from interpunct.labels import parse_text
from interpunct.metrics.pair import WordErrors, pair
from interpunct.transcript import Transcript, Word


def text(written: str, source: str = "") -> Transcript:
    return Transcript(parse_text(written), source)


def test_pair_takes_the_same_words_whatever_their_case_and_quotes() -> None:
    found = pair(text('So, "how" are you?'), text("so how are You."))
    assert found.reference_marks == (",", "", "", "?")
    assert found.hypothesis_marks == ("", "", "", ".")
    assert found.marks_scored.all()


def test_pair_takes_an_accent_for_part_of_its_letter_however_it_was_typed() -> None:
    found = pair(text("The caf\u00e9, is open."), text("the cafe\u0301 is open"))
    assert found.reference_marks == ("", ",", "", ".")
    aligned = pair(text("The caf\u00e9, is open."), text("the cafe\u0301 is open"), aligned=True)
    assert aligned.marks_scored.all()


def test_pair_shows_the_first_difference_with_its_place() -> None:
    with pytest.raises(InputError) as caught:
        pair(text("one two three four"), text("one two tree four", "h.txt"))
    message = str(caught.value)
    assert message.startswith("h.txt: words differ at word 3 (after 'one two')")
    assert "'three'" in message
    assert "'tree'" in message
    assert "--align" in message
    with pytest.raises(InputError, match="hypothesis ends"):
        pair(text("one two"), text("one"))


def test_aligned_pair_scores_marks_between_recognised_words_only() -> None:
    #        0     1      2    3     4
    found = pair(text("I see, the cat. Yes."), text("i see a cat yes"), aligned=True)
    assert found.reference_marks == ("", ",", "", ".", ".")
    # "see|a" and "a|cat" touch the mistaken word; "cat|yes" does not, and the last word has the end beside it.
    assert found.marks_scored.tolist() == [True, False, False, True, True]
    assert found.case_scored.tolist() == [True, True, False, True, True]
    assert found.word_errors == WordErrors(correct=4, substituted=1)
    assert found.word_errors.wer == pytest.approx(0.2)
    assert found.unrestricted().marks_scored.all()


def test_aligned_pair_does_not_score_over_a_missed_word() -> None:
    found = pair(text("go, well, on."), text("go on"), aligned=True)
    assert found.marks_scored.tolist() == [False, True]
    found = pair(text("go on now."), text("go on"), aligned=True)
    assert found.marks_scored.tolist() == [True, False]


def test_pair_leaves_out_what_nobody_knows_and_reads_an_ellipsis_as_a_mark() -> None:
    reference = Transcript((Word("a", mark=None, case=None), Word("b…", mark="", case="lower")))
    found = pair(reference, text("a b"))
    assert found.marks_scored.tolist() == [False, True]
    assert found.reference_marks == (None, "…")
    assert found.case_scored.tolist() == [False, True]
