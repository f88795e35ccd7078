"""The mark and case inventories, and the way between a token and (text, mark, case).

In: tokens as people and recognisers write them. Out: words with tags, and back. `parse_words` and
`surface` are inverses on canonical text: what `surface` writes, except that a period after "etc" or after a
capital letter reads as the word's own. Anything else is kept in `Word.raw` and written back from there as
long as nobody changes the word.

What clings to a word and is no mark (quotes, brackets, an ellipsis, the period of "Dr.") stays in its
text. The mark stands after the word; paper 000 labels the mark before it, we never do. Spaces between
words are `render`'s business.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, reduce

from interpunct.cases import bare, case_of, remembered, trim
from interpunct.transcript import Word

MARKS = ("", ",", ".", "?", "!", ":", ";", "—")
"""All marks a model may choose from; "" is no mark."""

SENTENCE_MARKS = frozenset(".?!")
"""Marks that end a sentence when text is written."""

BLANKS = " \t\n\r\v\f"
"""What parts words; a no-break space belongs to its word."""
TOKEN = re.compile(r"(?:\S|(?<=\d)[\u00a0\u202f](?=\d))+")
"""A token of running text: a no-break space that groups digits belongs to its number, and any other is a blank."""
_THREE = {"!": ".", ";": ".", "…": ".", ":": ",", "—": ","}
_STRONGEST_FIRST = "?!.;:—,"
_MARK_CHARACTERS = frozenset(",.?!:;—–")
_QUOTES = frozenset('"”»')
_SINGLE_QUOTES = frozenset("'’")
_CLOSING_CHARACTERS = "\"”»'’)]}"
_CLOSING = frozenset(_CLOSING_CHARACTERS)
_CLOSERS = _CLOSING | _MARK_CHARACTERS | {"…"}
_ALONE = _MARK_CHARACTERS | _QUOTES | _SINGLE_QUOTES | {"-", "…"}
_ELLIPSIS = re.compile(r"\.{2,}|…")
_DASHES = re.compile(r"^[—–-]+$")
_DOTTED = re.compile(r"^(?:[^\W\d_]{1,3}\.)+[^\W\d_]{1,3}$")

_TITLES = frozenset(
    "mr mrs ms mme dr prof st ste sen rep gov gen capt cmdr lt col sgt maj adm rev fr hon messrs mt ft vs "
    "cf viz".split()
)
_ABBREVIATIONS = frozenset("etc inc ltd co corp jr sr bros dept est approx fig vol ed eds al ave blvd".split())
# After "U.S." or "etc." one of these words, capitalised, says that a new sentence has begun.
_SENTENCE_OPENERS = frozenset(
    "a about after all also an and are as at because before but by can did do does even every for from "
    "had has have he her here his how i i'd i'll i'm i've if in is it it's its just let like look many "
    "maybe me most my no not now of oh okay on once one or our people she since so some that that's the "
    "their then there there's these they they're this those to today was we we'll we're we've well were "
    "what what's when where which while who why will with yes yet you you're your".split()
)


def to_three(mark: str) -> str:
    """Map a mark to the papers' three: `! ; …` are a period, `: —` a comma.

    >>> [to_three(mark) for mark in ("", ",", "?", "!", "—")]
    ['', ',', '?', '.', ',']
    """
    return _THREE.get(mark, mark)


@remembered(1 << 16)
def split_token(token: str) -> tuple[str, str, str]:
    """Split one token into (text, mark, case), by its own looks alone.

    >>> split_token('world."'), split_token("U.S.,"), split_token("wait..."), split_token("yes ,")
    (('world"', '.', 'lower'), ('U.S.', ',', 'upper'), ('wait...', '', 'lower'), ('yes', ',', 'lower'))
    """
    stop = len(token)
    while stop and (token[stop - 1] in _CLOSERS or token.endswith("--", 0, stop)):
        stop -= 1 if token[stop - 1] in _CLOSERS else 2  # "wait--" ends in a dash, "mid-" in a hyphen
    core, tail = token[:stop].rstrip(BLANKS), token[stop:]
    if not tail or not core:
        return sys.intern(token), "", case_of(token)
    if tail.startswith(".") and not tail.startswith("..") and _is_abbreviation(core):
        core, tail = core + ".", tail[1:]
    ellipsis = "".join(_ELLIPSIS.findall(tail))
    rest = _ELLIPSIS.sub("", tail).replace("--", "—").replace("–", "—")
    mark = next((mark for mark in _STRONGEST_FIRST if mark in rest), "")
    text = core + ellipsis + "".join(character for character in rest if character in _CLOSING)
    return sys.intern(text), mark, case_of(text)


def _is_abbreviation(core: str) -> bool:
    word = core.lstrip("\"'“‘([")
    if len(word) == 1:
        return word.isupper() and word != "I"
    low = word.lower()
    return low in _TITLES or low in _ABBREVIATIONS or bool(_DOTTED.match(word))


def ends_with_own_period(text: str) -> bool:
    """Say whether a word brings its own period or ellipsis ("Dr.", "U.S.", "wait…").

    >>> ends_with_own_period('U.S."'), ends_with_own_period("us")
    (True, False)
    """
    return text.rstrip(_CLOSING_CHARACTERS).endswith((".", "…"))


def mark_with_ellipsis(word: Word) -> str | None:
    """Return a word's mark, or "…" where it has none of its own and its text ends in an ellipsis.

    >>> mark_with_ellipsis(Word("wait…", mark="")), mark_with_ellipsis(Word("wait", mark=","))
    ('…', ',')
    """
    if word.mark == "" and word.text.rstrip(_CLOSING_CHARACTERS).endswith(("…", "..")):
        return "…"
    return word.mark


@remembered(1 << 16)
def standalone_mark(token: str) -> str | None:
    """Return the mark that a token without letters stands for, or None where it is a word of its own.

    >>> standalone_mark("--"), standalone_mark(","), standalone_mark('."'), standalone_mark("&"), standalone_mark('"')
    ('—', ',', '.', None, None)
    """
    if any(map(str.isalnum, token)) or not all(character in _ALONE for character in token):
        return None
    rest = _ELLIPSIS.sub("", token).replace("–", "—").replace("-", "—")
    if rest == token and not any(character in _MARK_CHARACTERS for character in token):
        return None  # a quote alone, of which nobody knows whether it opens or closes
    return next((mark for mark in _STRONGEST_FIRST if mark in rest), "")


def parse_words(words: Iterable[Word], *, join: bool = True) -> Iterator[Word]:
    """Turn words whose text is a token as read into words with text, raw, mark and case.

    A mark standing alone belongs to the word before it, if the same speaker said that (at the very beginning,
    or with `join=False`, it is a word of its own). Times, confidences and speakers pass through untouched.

    >>> [(w.text, w.mark, w.case) for w in parse_words(map(Word, "So , how are you?".split()))]
    [('So', ',', 'sentence'), ('how', '', 'lower'), ('are', '', 'lower'), ('you', '?', 'lower')]
    """
    held: Word | None = None
    alone: list[str] = []
    for word in words:
        same_speaker = held is not None and word.speaker in (None, held.speaker)
        if join and same_speaker and standalone_mark(word.text) is not None:
            alone.append(word.text)
            continue
        text, mark, case = split_token(word.text)
        if held is not None:
            yield _closed(_joined(held, alone), following=text)
            alone = []
        held = Word(
            text, word.start, word.end, word.confidence, word.speaker, word.token, mark, case,
            word.mark_confidence, word.case_confidence,
        )  # fmt: skip
    if held is not None:
        yield _closed(_joined(held, alone), following=None)


def stronger(one: str, other: str) -> str:
    """Return the stronger of two marks: a question mark before a period before a comma before none.

    >>> stronger(",", "?"), stronger("", ",")
    ('?', ',')
    """
    return next((mark for mark in _STRONGEST_FIRST if mark in (one, other)), "")


def _joined(word: Word, tokens: Sequence[str]) -> Word:
    """Join marks standing alone to the word before them; a quote or an ellipsis in them goes into the text."""
    if not tokens:
        return word
    mark = reduce(stronger, (standalone_mark(token) or "" for token in tokens), word.mark or "")
    clinging = "".join(token.replace("-", "—") for token in tokens if not _DASHES.match(token))
    has_core = any(map(str.isalnum, word.text))
    text = split_token(word.text + clinging)[0] if clinging and has_core else word.text
    return replace(word, text=text, mark=mark, raw=" ".join([word.token, *tokens]))


def _closed(word: Word, following: str | None) -> Word:
    """Give the full stop that an abbreviation swallowed its mark back where the next word shows it."""
    core = word.text.rstrip(_CLOSING_CHARACTERS)
    if word.mark or not core.endswith(".") or core.endswith("..") or bare(core) in _TITLES:
        return word
    if following is None:
        return replace(word, mark=".")
    opener = trim(following)[1]
    if opener[:1].isupper() and opener.lower() in _SENTENCE_OPENERS and case_of(word.text) != "single":
        return replace(word, mark=".")
    return word


def parse_text(text: str) -> tuple[Word, ...]:
    """Read running text: words are what stands between white space.

    >>> [word.mark for word in parse_text("Dr. Smith left — at 4,754 a.m. in the U.S. We stayed.")]
    ['', '', '—', '', '', '', '', '', '.', '', '.']
    """
    return tuple(parse_tokens(tokens_of(text)))


def tokens_of(text: str) -> list[str]:
    """Cut running text at its white space, though not inside a number.

    >>> tokens_of("all\u00a05\u00a0000 people\\n1\u202f000,5")
    ['all', '5\xa0000', 'people', '1\u202f000,5']
    """
    # Where there is no such space, which is nearly everywhere, this is several times as fast.
    return TOKEN.findall(text) if "\u00a0" in text or "\u202f" in text else text.split()


def parse_tokens(tokens: Sequence[str], *, speaker: str | None = None) -> Iterator[Word]:
    """Parse tokens without times: what `parse_words` gives, several times as fast.

    A word without times is a value, so equal tokens share one `Word`, and a long text is little more than
    references to its vocabulary.
    """
    index, stop = 0, len(tokens)
    while index < stop:
        word, following = _shared(tokens[index], speaker), index + 1
        while following < stop and standalone_mark(tokens[following]) is not None:
            following += 1
        if word is None or following > index + 1:
            # Neighbours decide: the marks standing alone behind it, and the word after those.
            group = (Word(token, speaker=speaker) for token in tokens[index : following + 1])
            word = next(parse_words(group))
        yield word
        index = following


@lru_cache(maxsize=1 << 17)
def _shared(token: str, speaker: str | None) -> Word | None:
    """Return the word of a token, or None for one that ends in a period of its own."""
    (word,) = parse_words([Word(token, speaker=speaker)])
    return None if ends_with_own_period(word.text) else word


def attach(text: str, mark: str) -> str:
    """Write a mark behind a word: inside closing quotes, behind brackets, a dash after a space.

    >>> attach('world"', "."), attach("aside)", ","), attach("U.S.", "."), attach("wait…", ",")
    ('world."', 'aside),', 'U.S.', 'wait…')
    """
    if not mark:
        return text
    if mark == "—":
        return f"{text} —"
    core = text.rstrip(_CLOSING_CHARACTERS)
    if (mark == "." and core.endswith((".", "…"))) or (mark == "," and core.endswith(("…", ".."))):
        return text
    if mark in ",.?!":
        quotes = _QUOTES | _SINGLE_QUOTES if text[:1] in "'‘" else _QUOTES
        stop = len(text)
        while stop > 1 and text[stop - 1] in quotes:
            stop -= 1
        return text[:stop] + mark + text[stop:]
    return text + mark


def surface(word: Word) -> str:
    """Write one word with its mark.

    A word whose letters and mark nobody changed is written as it was read, only recased: "why?!" stays so.

    >>> surface(Word("Why", raw="why?!", mark="?")), surface(Word("why", raw="why?!", mark=","))
    ('Why?!', 'why,')
    """
    undecided = word.raw is not None and word.mark_confidence is None
    if undecided and _as_read(word.token) == (word.text.lower(), word.mark):
        return _recased_like(word.token, word.text)
    return attach(word.text, word.mark or "")


@remembered(1 << 16)
def _as_read(raw: str) -> tuple[str, str | None] | None:
    """Return the lower-case text and the mark that a token is read as; None where it is several words."""
    parsed = list(parse_words([Word(token) for token in tokens_of(raw)]))
    return (parsed[0].text.lower(), parsed[0].mark) if len(parsed) == 1 else None


def _recased_like(raw: str, text: str) -> str:
    """Copy the letters' case of `text` onto `raw`, which holds the same letters and a mark besides."""
    if raw.startswith(text):
        return raw
    letters = iter(text)
    written: list[str] = []
    for character in raw:
        if character.isalpha():
            match = next((letter for letter in letters if letter.lower() == character.lower()), character)
            written.append(match)
        else:
            written.append(character)
    return "".join(written)
