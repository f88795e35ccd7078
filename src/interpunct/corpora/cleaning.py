"""What running text needs before it teaches a model.

In: a paragraph or a turn as people typed it. Out: the same paragraph without what nobody said (sounds in
brackets, notes, marks that stand at its start) and with one word to a token (`clean`), or its words with tags
(`words`). Rules are data, `RULES`, and `count` says how often each has something to do. Speaker labels, curly
quotes and "..." are left as they are; so is a parenthesis that holds words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from interpunct.labels import parse_tokens
from interpunct.transcript import Word

_SOUNDS = (
    r"\w*laughter|laugh(?:s|ing)?|mirth|chuckl\w+|giggl\w+|applau\w+|clap(?:s|ping)|cheer(?:s|ing)|"
    r"boo(?:s|ing)|hiss(?:es|ing)|whistl(?:es|ing)|gasps?|sighs?|coughs?|coughing|sneezes|groans|"
    r"inaudible|unintelligible|indiscernible|indecipherable|illegible|crosstalk|cross-talk|overlap(?:ping)?|"
    r"silence|pauses?|interruptions?|interposing|recess|luncheon|music|singing|beeps?|bleeped|noise|static|"
    r"ph|phonetic|sic|unk|hear, hear"
)
_UNBRACKETED = r"[^\s()\[\]{}<>]+"
# In speech "(1)" is read aloud: it names a section. "[1]" is a footnote.
_GROUP = rf"[(\[{{<]\s*(?=[^()\[\]{{}}<>]*\b(?:{_SOUNDS})\b){_UNBRACKETED}(?:\s+{_UNBRACKETED}){{0,3}}\s*[)\]}}>]"
_NOTE = r"\[\d{1,3}\]"
_EMPTY = r"[(\[{]\s*[)\]}]"

_WORD_AHEAD = r"(?=[\"“'‘(\[$£€]*[^\W_])"
_SYMBOLS = r"[-‑–—―.,;:?!…\"“”„«»'‘’()\[\]{}*_|~•·\\]"
_ELLIPSIS = re.compile(r"\.{2,}|…")

# "sync.Map" and "testing.T" look like a lost space, too: behind a full stop only a word that opens sentences
# more often than it names a thing, or a label such as "Audience:", says that one sentence ended.
_OPENERS = (
    r"(?:After|All|Also|And|Are|As|At|Because|But|By|Can|Could|Did|Do|Does|Each|Every|For|From|Had|Has|Have|He|Her|"
    r"Here|His|How|However|I|If|In|Indeed|Is|It|Its|Let|Many|May|Maybe|Moreover|My|No|None|Nor|Not|Nothing|Now|Of|"
    r"Oh|Okay|On|One|Or|Our|People|She|Should|Since|So|Some|Such|That|The|Their|Then|There|Therefore|These|They|"
    r"This|Those|Thus|To|Under|Was|We|Well|Were|What|When|Where|Which|While|Who|Why|Will|With|Would|Yeah|Yes|Yet|"
    r"You|Your)(?=['’]|\W*(?!\S))"
)


@dataclass(frozen=True)
class Rule:
    """One rule: what it looks for, what it puts there, and characters without which it need not look."""

    name: str
    needs: str
    pattern: re.Pattern[str]
    replacement: str | Callable[[re.Match[str]], str]


def _symbol(match: re.Match[str]) -> str:
    """Reduce a token without letters to the mark in it: '--"' is a dash, '",' a comma, '"' nothing."""
    token = match[0]
    bare = _ELLIPSIS.sub("", token)
    marks = "".join(character for character in bare if character in ".,;:?!")
    if marks:
        return marks
    if any(character in "-‑–—―" for character in bare):
        return "—"
    return "" if bare == token else "..."


def _without_underscores(match: re.Match[str]) -> str:
    return match[0].replace("_", "")


def _spaced(match: re.Match[str]) -> str:
    return f"{match[0]} "


# Each pattern begins with the character it needs and looks behind afterwards: the other way round, the engine
# looks behind at every place of the text, ten times as slow.
RULES: tuple[Rule, ...] = (
    Rule("sound", "([{<", re.compile(_GROUP, re.IGNORECASE), " "),
    Rule("note", "([{", re.compile(f"{_NOTE}|{_EMPTY}"), " "),
    # "_then_" is italics, "T_V_s" an acronym spelt for a forced aligner; "a_b" is a name and stays.
    Rule("underscore", "_", re.compile(r"\b(?:[A-Z]_)+s?\b|\b_+|_+\b|(?<!\w)_+"), _without_underscores),
    Rule(
        "dash before a word",
        "—―-",
        re.compile(rf"[—―-](?:(?<!\d.)|(?!-*\d))(?:(?<=[—―])|-+){_WORD_AHEAD}"),
        lambda _: "— ",
    ),
    Rule("dash behind a word", "-", re.compile(r"-(?<=[^\s-]-)-+(?=[\"”'’)\].,;:?!]*(?!\S))"), lambda _: "—"),
    Rule("lost apostrophe", "?", re.compile(r"\?(?<=[a-z].)(?=(?:s|t|d|m|re|ve|ll)\b)"), "'"),
    Rule("lost space, question", "?!", re.compile(r"[?!](?<=[a-z].)[?!]*[\"”’)]*(?=[A-Z])"), _spaced),
    Rule("lost space, title", ".", re.compile(r"\.(?=[A-Z])(?:(?<=\b(?:Mr|Ms|Dr|St).)|(?<=\bMrs.))"), _spaced),
    Rule(
        "lost space, full stop",
        ".",
        re.compile(rf"\.(?=[\"”A-Z])(?<=[a-z]{{2}}.)(?:(?={_OPENERS})|(?=[A-Z]\w*:(?!\S))|[\"”](?=[A-Z]))"),
        _spaced,
    ),
    Rule("lost space, comma", ",", re.compile(r",(?<=[a-z]{2}.)(?=[\"“]?[A-Za-z][a-z'’]|I\b)"), _spaced),
    Rule("lost space, ellipsis", ".…", re.compile(r"[.…](?<=[^\W\d_].)(?:(?<=…)|\.+)(?=[^\W\d_])"), _spaced),
    Rule("symbols alone", "", re.compile(rf"{_SYMBOLS}(?<!\S.){_SYMBOLS}*(?!\S)"), _symbol),
    Rule("mark at the start", "", re.compile(r"\A\s*[.,;:?!—…]+(?:\s+[.,;:?!—…]+)*(?!\S)"), ""),
)
"""The rules in the order in which they are applied."""

_SOUND_TOKEN = re.compile(rf"[(\[{{<](?:{_SOUNDS})[)\]}}>]\W*", re.IGNORECASE)


def clean(text: str) -> str:
    """Take out of a paragraph what nobody said and give each word a token of its own.

    >>> clean("-- So (Laughter) wait--no, a well-known range, 10--20.")
    'So wait— no, a well-known range, 10--20.'
    >>> clean('We asked "why?"--and left.They stayed. [Applause.]')
    'We asked "why?"— and left. They stayed.'
    """
    return _apply(text, None)


def count(text: str) -> Counter[str]:
    """Count how often each rule has something to do in a text.

    >>> count("Yes--no--well, (laughs) maybe.")
    Counter({'dash before a word': 2, 'sound': 1})
    """
    counts: Counter[str] = Counter()
    _apply(text, counts)
    return counts


def _apply(text: str, counts: Counter[str] | None) -> str:
    for rule in RULES:
        if rule.needs and not any(character in text for character in rule.needs):
            continue
        text, times = rule.pattern.subn(rule.replacement, text)
        if counts is not None and times:
            counts[rule.name] += times
    return " ".join(text.split())


def is_sound(token: str) -> bool:
    """Say whether a token is a sound in brackets and no word.

    >>> is_sound("<crosstalk>…"), is_sound("laughter")
    (True, False)
    """
    return _SOUND_TOKEN.fullmatch(token) is not None


def is_heading(line: str) -> bool:
    """Say whether a line is a heading: several words in capitals that nobody shouts or asks.

    >>> is_heading("CHAPTER II."), is_heading("I -- I --"), is_heading("NO WAY!")
    (True, False, False)
    """
    if not line.isupper():
        return False
    tokens = line.split()
    longest = max(sum(map(str.isalpha, token)) for token in tokens)
    return len(tokens) > 1 and longest > 1 and tokens[-1].rstrip("\"'”’)]")[-1:] not in ("?", "!")


def words(paragraphs: Iterable[str], *, speaker: str | None = None) -> tuple[Word, ...]:
    """Return the cleaned words of paragraphs, tagged; a paragraph's end closes nothing by itself.

    >>> [(word.text, word.mark) for word in words(["Well--yes.", "-- And then?"])]
    [('Well', '—'), ('yes', '.'), ('And', ''), ('then', '?')]
    """
    cleaned = (clean(paragraph).split() for paragraph in paragraphs)
    return tuple(word for tokens in cleaned for word in parse_tokens(tokens, speaker=speaker))
