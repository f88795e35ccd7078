"""The inventory: the names of the 162 prosodic features, in their order.

In: nothing. Out: `NAMES` and `FAMILIES`. Xu et al. 2017, section 4.2, name families and a count (pause, duration,
pitch, energy, speaker turn; the two words at a boundary and 200 ms on either side of it), not a list: this list is our
own. A row of features belongs to the place after a word: "before" is that word, "after" is the next one.

| family | regions | statistics | names |
|---|---|---|---|
| pause | before, after the word | seconds, logarithm, logarithm by speaker | 6 |
| pause | at the boundary | change of the logarithm, overlap of the two words | 2 |
| duration | word, last syllable, its rhyme, its vowel; word after | seconds, by phone, by speaker, by both | 20 |
| duration | word before, word after | seconds a letter, by speaker | 2 |
| duration | word before | its longest phone, by phone | 1 |
| turn | boundary | change after, change before, seconds and words since the last change | 4 |
| f0 | both words, both windows | mean, lowest, highest, range, first, last, slope, edge slope, voiced | 36 |
| f0 | both words, both windows | mean in deviations; edge and lowest above the speaker's floor | 12 |
| energy | both words, both windows | mean, lowest, highest, range, first, last, slope; mean in deviations | 32 |
| f0, energy | words, windows: after less before | reset, mean, highest, lowest, range: ratio, deviations | 40 |
| f0, energy | words, windows: after less before | slope | 4 |
| boundary | between the words | level, voiced share, seconds without voice | 3 |

"By phone" divides by what the phones last on average (`phone_durations.py`), "by speaker" counts deviations from the
speaker's mean. Pitch is in semitones, energy in dB, so a difference is the logarithm of a ratio.
"""

from __future__ import annotations

from itertools import product

PAUSES = ("before", "after")
PAUSE_SCALES = ("s", "log", "speaker")
UNITS = ("before_word", "before_syllable", "before_rhyme", "before_vowel", "after_word")
UNIT_SCALES = ("s", "phone", "speaker", "both")
TURNS = ("turn_after", "turn_before", "turn_time_s", "turn_words")
REGIONS = ("word_before", "word_after", "window_before", "window_after")
F0_STATISTICS = (
    "mean", "lowest", "highest", "range", "first", "last", "slope", "edge_slope", "voiced",
    "mean_z", "edge_floor", "lowest_floor",
)  # fmt: skip
ENERGY_STATISTICS = ("mean", "lowest", "highest", "range", "first", "last", "slope", "mean_z")
ACROSS = ("words", "windows")
ACROSS_STATISTICS = ("reset", "mean", "highest", "lowest", "range")
ACROSS_SCALES = ("ratio", "z")
BOUNDARY = ("boundary_level", "boundary_voiced", "boundary_unvoiced_s")


def _named(*parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("_".join(chosen) for chosen in product(*parts))


def _across(track: str) -> tuple[str, ...]:
    return tuple(
        f"{track}_{pair}_{statistic}"
        for pair in ACROSS
        for statistic in (*_named(ACROSS_STATISTICS, ACROSS_SCALES), "slope")
    )


FAMILIES: dict[str, tuple[str, ...]] = {
    "pause": (*_named(("pause",), PAUSES, PAUSE_SCALES), "pause_change", "pause_overlap_s"),
    "duration": (
        *_named(("duration",), UNITS, UNIT_SCALES),
        "duration_before_letter",
        "duration_after_letter",
        "duration_before_longest_phone",
    ),
    "turn": TURNS,
    "f0": _named(("f0",), REGIONS, F0_STATISTICS),
    "energy": _named(("energy",), REGIONS, ENERGY_STATISTICS),
    "f0 across": _across("f0"),
    "energy across": _across("energy"),
    "boundary": BOUNDARY,
}
"""The names by family."""

NAMES: tuple[str, ...] = tuple(name for names in FAMILIES.values() for name in names)
"""All names in the order of the columns."""

FROM_TIMES: tuple[str, ...] = (
    *FAMILIES["pause"],
    *_named(("duration",), ("before", "after"), ("word_s", "word_speaker", "letter")),
    *FAMILIES["turn"],
)
"""What can be measured without audio and without phones."""
