"""Scores to tags: which mark stands after each word, and how it is capitalised.

In: words and their scores, block after block. Out: the same words with text recased, mark, case and
confidences filled. A mark's confidence is the model's probability of the label chosen. Marks of a kind (`, : —`, or
`. ! ;`) stand together against none and the other kinds, so that a place where something must stand is not left empty
because it is not clear which. The likeliest mark of the likeliest kind is written where its kind is likelier than none;
one that has a threshold, exactly where its own probability, as the model tells it, reaches that. The end of a document
or of a speaker's turn closes a sentence. Where marks of the input stay, a word behind one that ends no sentence has no
capital for a sentence's sake.

What the model cannot know stays as it is: words in another script, and tokens without letters or digits
(but a mark given as a word of its own is decided anew with the others, and its word left empty, unless what exists is
to stay).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Literal, NamedTuple, get_args

import numpy as np

from interpunct.cases import bare, case_of, is_literal, recase
from interpunct.errors import InputError
from interpunct.labels import MARKS, SENTENCE_MARKS, ends_with_own_period, standalone_mark, to_three
from interpunct.models.scores import Array, Ints, Scores
from interpunct.transcript import Word

Existing = Literal["redo", "keep", "fill"]
_I = re.compile(r"i(?:['’]|$)", re.IGNORECASE)
"""What has a capital wherever it stands: I, I'm, I've."""
_LARGEST_SCALE = 1e6
"""A factor beyond this, or its inverse, decides alone, and would soon be no number."""
Choice = tuple[int, float]
"""A label's index and its confidence: its probability, to four places."""


@dataclass(frozen=True)
class DecodeOptions:
    """What to decide, and how.

    `existing` says what becomes of marks and capitals in the input: `redo` ignores them; `keep` leaves a
    document that has marks its marks, and one that has capitals its capitals, and restores what is missing
    altogether; `fill` leaves each mark and capital that is there and adds others.
    """

    marks: bool = True
    case: bool = True
    existing: Existing = "redo"
    thresholds: Mapping[str, float] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    """Factors on marks' probabilities before the likeliest is chosen; `{"": 0.5}` halves "no mark" (paper 001's -A).

    A model may bring factors of its own, which were best on dev; those given here go before them.
    """
    close: bool = True
    """Whether the last word of a document or turn gets a closing mark."""
    beam: int = 1
    """How many label sequences a model that writes them one after another keeps on the way; 1 is greedy."""
    prosody: bool = True
    """Whether times, and sound where there is some, help to decide, for a model that has learned what they tell."""

    def __post_init__(self) -> None:
        if self.existing not in get_args(Existing):
            raise InputError(f"unknown way {self.existing!r} with what exists; use redo, keep or fill")
        if self.beam < 1:
            raise InputError(f"a beam of {self.beam} keeps nothing; use 1 or more")
        for mark, threshold in self.thresholds.items():
            if mark not in MARKS[1:]:
                raise InputError(f"no mark {mark!r} to set a threshold for; use one of {' '.join(MARKS[1:])}")
            if not 0 <= threshold <= 1:
                raise InputError(f"threshold {threshold} for {mark!r} is no probability; use 0 to 1")
        for mark, factor in self.scales.items():
            if mark not in MARKS or not 1 / _LARGEST_SCALE <= factor <= _LARGEST_SCALE:
                raise InputError(
                    f"scale {factor} for {mark!r}; use a factor from {1 / _LARGEST_SCALE:g} to {_LARGEST_SCALE:g} "
                    f"for none or {' '.join(MARKS[1:])}"
                )


class _Kind(NamedTuple):
    """What kind of token a text is: whether a model can say anything of it, keeps its letters, and it is spoken."""

    readable: bool
    literal: bool
    spoken: bool

    @classmethod
    def of(cls, text: str) -> _Kind:
        return cls(is_readable(text), is_literal(text), any(map(str.isalnum, text)))


class Decoder:
    """Decodes one document. Feed it the document's scores in order."""

    def __init__(
        self,
        words: Sequence[Word],
        labels: Mapping[str, tuple[str, ...]],
        *,
        options: DecodeOptions | None = None,
        lexicon: Mapping[str, str] | None = None,
        scales: Mapping[str, float] | None = None,
    ) -> None:
        self._words = words
        self._options = options or DecodeOptions()
        self._lexicon = lexicon or {}
        keep, fill = self._options.existing == "keep", self._options.existing == "fill"
        has_marks = self._options.existing != "redo" and any(map(_is_marked, words))
        has_case = self._options.existing != "redo" and case_is_known(words)
        self._write_marks = self._options.marks and "mark" in labels and not (keep and has_marks)
        self._write_case = self._options.case and "case" in labels and not (keep and has_case)
        self._fill_marks = fill and has_marks
        # Marks of the input that stay say where no sentence begins; in one that has none, nothing is known of that.
        stays = self._fill_marks or (not self._write_marks and any(map(_is_marked, words)))
        self._sentences_given = stays and self._write_case and "mark" in labels
        self._fill_case = fill and has_case
        self._marks = labels.get("mark", ("",))
        self._scales = {**(scales or {}), **self._options.scales}
        self._kinds_of_marks = _kinds_of(self._marks)
        self._cases = labels.get("case", ("lower",))
        self._closing = [index for index, mark in enumerate(self._marks) if mark in SENTENCE_MARKS]
        self._forms: dict[tuple[str, int, bool], tuple[str, str]] = {}  # a document's vocabulary, written
        self._kinds: dict[str, _Kind] = {}
        self._turn_ends = turn_ends(words)
        self._next = 0
        self._opens = True
        self._unended = 0.0  # how likely the model holds an end before the next word, where the input has none

    def feed(self, scores: Scores) -> Iterator[Word]:
        """Decode the next words, as many as there are scores."""
        marks = self._mark_choices(scores) if self._write_marks else repeat(None)
        cases = _choices(np.exp(scores.tasks["case"]), scores.chosen("case")) if self._write_case else repeat(None)
        for row, mark, case in zip(range(len(scores)), marks, cases, strict=False):
            index = self._next
            self._next += 1
            word = given = self._words[index]
            kind = self._kinds.get(word.text)
            if kind is None:
                kind = self._kinds[word.text] = _Kind.of(word.text)
            ends_turn = self._turn_ends[index]
            if kind.readable:
                closing = scores.tasks["mark"][row] if ends_turn and mark is not None else None
                if case is not None and self._unended and not _I.match(word.text):
                    case = self._inside(case, scores.tasks["case"][row])
                word = self._decided(word, kind, mark, case, closing)
            elif mark is not None and self._options.existing == "redo" and _is_but_a_mark(word.text):
                word = replace(word, text="", raw=word.token, mark="", case="lower")  # its mark is decided anew
            if ends_turn or kind.spoken:
                self._opens = bool(ends_turn) or word.mark in SENTENCE_MARKS
                if self._sentences_given:
                    self._unended = self._end_missed(given, scores.tasks["mark"][row])
            yield word

    def _decided(
        self, word: Word, kind: _Kind, mark: Choice | None, case: Choice | None, closing: Array | None
    ) -> Word:
        """Return the word with what was decided; `closing` are the mark's scores where a turn ends."""
        text, new_mark, new_case = word.text, word.mark, word.case
        mark_confidence, case_confidence = word.mark_confidence, word.case_confidence
        if mark is not None and not (self._fill_marks and (word.mark or ends_with_own_period(word.text))):
            new_mark, mark_confidence = self._marks[mark[0]], mark[1]
            if closing is not None and new_mark not in SENTENCE_MARKS and self._options.close and self._closing:
                new_mark, mark_confidence = self._closing_mark(closing)
        if case is not None and not (self._fill_case and word.case not in ("lower", None)) and not kind.literal:
            text, new_case = self._text_and_case(text, case[0])
            case_confidence = case[1]
        return word.tagged(text, new_mark, new_case, mark_confidence, case_confidence)

    def _end_missed(self, given: Word, scores: Array) -> float:
        """Return how likely a sentence would end with a word whose mark stays, and does not end it; else nothing."""
        if self._opens or given.mark is None or (self._fill_marks and not given.mark):
            return 0.0
        return float(np.exp(scores[self._closing]).sum())

    def _inside(self, case: Choice, scores: Array) -> Choice:
        """Return the case of a word before which no sentence ends, though the model may have thought so.

        What it holds to be a capital may be that of a name or of a sentence's begin, and the latter is out of question.
        """
        lower = self._cases.index("lower")
        capital = 1.0 - float(np.exp(scores[lower]))
        left = (capital - self._unended) / (1.0 - self._unended) if self._unended < capital else 0.0
        return case if left >= 0.5 else (lower, _rounded(1.0 - left))

    def _mark_choices(self, scores: Scores) -> list[Choice]:
        chances = np.exp(scores.tasks["mark"])
        weighed = scaled(chances, self._marks, self._scales) if self._scales else chances
        if not self._options.thresholds:
            # What was chosen together holds only as long as nobody asks for other odds.
            together = "mark" in scores.best and not self._scales
            return _choices(chances, scores.chosen("mark") if together else likeliest(weighed, self._kinds_of_marks))
        none = self._marks.index("")
        only_marks = weighed.copy()
        only_marks[:, none] = -1
        best = likeliest(only_marks, self._kinds_of_marks)
        alone = np.array([self._options.thresholds.get(mark, np.nan) for mark in self._marks])[best]
        rows = np.arange(len(chances))
        kinds = np.where(self._kinds_of_marks == self._kinds_of_marks[best][:, None], weighed, 0).sum(axis=1)
        kept = np.where(np.isnan(alone), kinds >= weighed[:, none], chances[rows, best] >= alone)
        return _choices(chances, np.where(kept, best, none))

    def _closing_mark(self, scores: Array) -> tuple[str, float]:
        """Return the likeliest of the marks that close a sentence, and its confidence."""
        label = max(self._closing, key=lambda candidate: float(scores[candidate]))
        return self._marks[label], _rounded(float(np.exp(scores[label])))

    def _text_and_case(self, text: str, label: int) -> tuple[str, str]:
        key = (text, label, self._opens)
        found = self._forms.get(key)
        if found is None:
            recased = recase(text, self._cases[label], self._lexicon)
            if self._opens and not any(map(str.isupper, recased)):
                recased = recase(recased, "sentence")
            if len(bare(text)) == 1 and ends_with_own_period(text):
                recased = recase(text, "upper")  # the initial of a name
            # A mixed word that the lexicon lacks may get one capital only: the tag says what was written.
            found = self._forms[key] = recased, case_of(recased)
        return found


def scaled(chances: Array, marks: Sequence[str], scales: Mapping[str, float]) -> Array:
    """Multiply marks' probabilities by factors; what comes out are probabilities again."""
    weighed = chances * np.array([scales.get(mark, 1.0) for mark in marks], dtype=chances.dtype)
    found: Array = weighed / weighed.sum(axis=1, keepdims=True)
    return found


def likeliest(chances: Array, kinds: Ints) -> Ints:
    """Return the likeliest label of the likeliest kind in each row; `kinds` says of which kind each label is.

    >>> likeliest(np.array([[0.4, 0.35, 0.25], [0.4, 0.3, 0.3]]), np.array([0, 1, 1])).tolist()
    [1, 1]
    """
    if len({*kinds.tolist()}) == len(kinds):
        alone: Ints = chances.argmax(axis=1)
        return alone
    sums = chances @ (kinds[:, None] == np.arange(kinds.max() + 1)).astype(chances.dtype)  # (rows, kinds)
    found: Ints = np.where(kinds == sums.argmax(axis=1)[:, None], chances, -1).argmax(axis=1)
    return found


def _kinds_of(marks: Sequence[str]) -> Ints:
    """Number the kinds of marks: those that the papers count as one."""
    kinds = list(dict.fromkeys(map(to_three, marks)))
    return np.array([kinds.index(to_three(mark)) for mark in marks], dtype=np.int64)


def turn_ends(words: Sequence[Word]) -> bytearray:
    """Say of each word whether the document or a speaker's turn ends with it, or with symbols right behind it.

    >>> said = [("yes", "A"), ("no", "B"), ("so", "B"), ("♪", "B")]
    >>> list(turn_ends([Word(text, speaker=speaker) for text, speaker in said]))
    [1, 0, 1, 1]
    """
    ends = bytearray(len(words))
    for index in range(len(words) - 1, -1, -1):
        following = words[index + 1] if index + 1 < len(words) else None
        if (
            following is None
            or following.speaker != words[index].speaker
            or (ends[index + 1] and not any(map(str.isalnum, following.text)))
        ):
            ends[index] = True
    return ends


# Confidences are told to four places; sharing the numbers themselves saves a long text a third of its memory.
_CHANCES = tuple(place / 10_000 for place in range(10_001))


def _rounded(chance: float) -> float:
    return _CHANCES[min(10_000, round(chance * 10_000))]


def _choices(chances: Array, best: Ints) -> list[Choice]:
    chosen = chances[np.arange(len(chances)), best].astype(np.float64)
    places = np.minimum(10_000, np.rint(chosen * 10_000)).astype(np.int64)
    return [(label, _CHANCES[place]) for label, place in zip(best.tolist(), places.tolist(), strict=True)]


def _is_marked(word: Word) -> bool:
    """Say whether a word has a mark that is not just the period of an abbreviation."""
    return bool(word.mark) and not (word.mark == "." and ends_with_own_period(word.text))


def _is_but_a_mark(text: str) -> bool:
    return not text or standalone_mark(text) is not None


def case_is_known(words: Sequence[Word]) -> bool:
    """Say whether capitals in the input mean something: not where all is lower case or ALL CAPS, numbers aside.

    >>> case_is_known([Word("hello", case="lower"), Word("Bob", case="sentence")])
    True
    >>> case_is_known([Word("HELLO", case="upper"), Word("42", case="lower"), Word("BOB", case="upper")])
    False
    """
    cases = {word.case for word in words if word.text.upper() != word.text.lower()}
    return bool(cases & {"sentence", "mixed"}) or ("lower" in cases and bool(cases & {"upper", "single"}))


def is_readable(text: str) -> bool:
    """Say whether a model for English has anything to say about a word.

    >>> is_readable("café"), is_readable("42"), is_readable("слово"), is_readable("♪")
    (True, True, False, False)
    """
    if text.isascii():
        return any(map(str.isalnum, text))
    letters = [character for character in text if character.isalpha()]
    if letters:
        return any(character < "\u0250" for character in letters)
    return any(map(str.isalnum, text))
