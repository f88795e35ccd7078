"""Words misheard as a recogniser mishears them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from interpunct.errors import ConfigError, UnknownNameError
from interpunct.labels import parse_tokens
from interpunct.train.misheard import Confusions, check, learned_from
from interpunct.train.pack import Pack
from interpunct.transcript import Transcript


def transcript(text: str) -> Transcript:
    return Transcript(tuple(parse_tokens(text.split())))


PAIRS = [
    (transcript("We see the sea and the land."), transcript("we see a sea in the land")),
    (transcript("Go and see, and stay."), transcript("go in see stay")),
]


def test_confusions_count_what_was_heard_and_missed() -> None:
    found = Confusions.learn(PAIRS)
    assert found.said["and"] == 3
    assert found.instead == {"the": {"a": 1}, "and": {"in": 2}}
    assert found.missed == {"and": 1}


def test_heard_points_at_the_words_that_were_heard_instead() -> None:
    pack = Pack.of([transcript("A sea and the land in sight of the sea and me.")])
    heard = Confusions.learn(PAIRS).heard(pack)
    texts = [*pack.texts()]
    number = {word: place for place, word in enumerate(pack.words)}
    assert {texts[place] for place in heard.others[number["and"]]} == {"in"}
    assert {texts[place] for place in heard.others[number["land"]]} == {"land"}
    assert heard.replaced[number["and"]] > heard.replaced[number["the"]] > heard.replaced[number["land"]] == 0
    # 3 of 12 words were replaced; "and" in 2 of 3, drawn towards that by twenty words of average luck
    assert heard.replaced[number["and"]] == pytest.approx((2 + 20 * 3 / 12) / 23)
    assert heard.missed[number["me"]] == pytest.approx(1 / 12)
    assert np.array_equal(heard.numbers, pack.numbers)


def test_heard_leaves_out_words_that_the_pack_does_not_hold() -> None:
    heard = Confusions.learn(PAIRS).heard(Pack.of([transcript("the land")]))
    assert not heard.replaced.any()


def test_confusions_of_nothing_change_nothing() -> None:
    heard = Confusions.learn([]).heard(Pack.of([transcript("the land")]))
    assert not heard.replaced.any()
    assert not heard.missed.any()


def test_misheard_corpora_are_checked() -> None:
    with pytest.raises(ConfigError, match="not CORPUS:SPLIT:TRACK"):
        check("debater:train")
    with pytest.raises(UnknownNameError):
        check("debater:train:nobody")


def test_a_real_recogniser_takes_and_for_in(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERPUNCT_DATA", str(data))
    found = learned_from(["debater:dev:asr"])
    assert found.instead["and"].most_common(1)[0][0] == "in"
    assert 0.02 < sum(sum(each.values()) for each in found.instead.values()) / found.said.total() < 0.08
