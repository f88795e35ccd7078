"""Our own JSON: the lossless form of which every other format is a view.

In: `{"interpunct": 1, "model": …, "source": …, "words": […], "sentences": […]}`, one object or one after
another. Out: the same; one transcript is laid out with a word a line, several are one object a line. A key
without a value is left out (null is read as missing); `raw` is always written. Sentences are written for
the reader's convenience and made anew from the words, never read. Keys that we do not know are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from interpunct import render
from interpunct.cases import CASES
from interpunct.errors import InputError
from interpunct.formats import located
from interpunct.formats.format import Format, WriteOptions
from interpunct.formats.source import Source
from interpunct.labels import MARKS
from interpunct.transcript import Sentence, Transcript, Word

VERSION = 1
"""The version that is written; a reader refuses newer ones."""


def read(source: Source) -> Iterator[Transcript]:
    """Read every object of the file."""
    yield from located.read_located(source.text, source.id, from_object)


def from_object(data: Any, name: str) -> Transcript:
    """Make a transcript of one of our objects; `name` is its source where it names none itself."""
    data = located.an_object(data, "the document")
    version = data.get("interpunct")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise located.wrong(data, f"no 'interpunct': {VERSION} in it; is this interpunct's own JSON?")
    if version > VERSION:
        raise located.wrong(data, f"version {version} of interpunct's JSON; this release reads {VERSION}: update it")
    if data.get("words") is None:
        raise located.wrong(data, "no 'words' in it; give a list, empty where nothing was said")
    words = tuple(map(word_of, located.objects(data, "words")))
    source = located.string(data, "source")
    return Transcript(words, name if source is None else source, located.string(data, "model") or "")


def _one_of(item: dict[str, Any], name: str, known: Sequence[str]) -> str | None:
    value = located.string(item, name)
    if value is not None and value not in known:
        raise located.wrong(item, f"{name!r} is {value!r}; use one of {', '.join(map(repr, known))}")
    return value


def word_of(item: dict[str, Any]) -> Word:
    """Make a word of one of our word objects.

    >>> word_of({"text": "Stop", "raw": "stop.", "start": 1, "mark": "."})
    Word(text='Stop', start=1.0, end=None, confidence=None, speaker=None, raw='stop.', mark='.', case=None, \
mark_confidence=None, case_confidence=None)
    """
    text = located.string(item, "text")
    if text is None:
        raise located.wrong(item, "a word without 'text'; every word needs one")
    raw = located.string(item, "raw")
    try:
        return Word(
            text=text,
            start=located.number(item, "start"),
            end=located.number(item, "end"),
            confidence=located.number(item, "confidence"),
            speaker=located.label(item, "speaker"),
            raw=None if raw == text else raw,
            mark=_one_of(item, "mark", MARKS),
            case=_one_of(item, "case", CASES),
            mark_confidence=located.number(item, "mark_confidence"),
            case_confidence=located.number(item, "case_confidence"),
        )
    except InputError as error:
        raise error.at(line=located.line_of(item)) from None


def write(transcripts: Iterable[Transcript], _: WriteOptions) -> Iterator[str]:
    """Write one transcript a word a line, several an object a line."""
    remaining = iter(transcripts)
    first = next(remaining, None)
    if first is None:
        return
    second = next(remaining, None)
    if second is None:
        yield from _laid_out(first)
        return
    yield located.dumps(to_object(first)) + "\n"
    yield located.dumps(to_object(second)) + "\n"
    for transcript in remaining:
        yield located.dumps(to_object(transcript)) + "\n"


def to_object(transcript: Transcript) -> dict[str, Any]:
    """Return a transcript as our object."""
    return {
        "interpunct": VERSION,
        "model": transcript.model,
        "source": transcript.source,
        "words": list(map(to_item, transcript.words)),
        "sentences": list(map(_sentence, render.sentences(transcript))),
    }


def to_item(word: Word) -> dict[str, Any]:
    """Return a word as our word object.

    >>> to_item(Word("Stop", 1.5, raw="stop.", mark="."))
    {'text': 'Stop', 'raw': 'stop.', 'start': 1.5, 'mark': '.'}
    """
    item = {
        "text": word.text,
        "raw": word.token,
        "start": word.start,
        "end": word.end,
        "confidence": word.confidence,
        "speaker": word.speaker,
        "mark": word.mark,
        "mark_confidence": word.mark_confidence,
        "case": word.case,
        "case_confidence": word.case_confidence,
    }
    return {key: value for key, value in item.items() if value is not None}


def _sentence(sentence: Sentence) -> dict[str, Any]:
    item = {
        "first": sentence.first,
        "last": sentence.last,
        "start": sentence.start,
        "end": sentence.end,
        "speaker": sentence.speaker,
        "text": sentence.text,
    }
    return {key: value for key, value in item.items() if value is not None}


def _laid_out(transcript: Transcript) -> Iterator[str]:
    model, source = located.dumps(transcript.model), located.dumps(transcript.source)
    yield f'{{"interpunct": {VERSION}, "model": {model}, "source": {source},\n "words": ['
    yield from _one_a_line(map(to_item, transcript.words))
    yield '],\n "sentences": ['
    yield from _one_a_line(map(_sentence, render.sentences(transcript)))
    yield "]}\n"


def _one_a_line(items: Iterable[dict[str, Any]]) -> Iterator[str]:
    for index, item in enumerate(items):
        yield f"{',' if index else ''}\n  {located.dumps(item)}"


def sniff(source: Source) -> bool:
    """Know our own JSON by its version key; with a text beside the words it is JSONL."""
    keys = source.json_keys
    return "interpunct" in keys and "text" not in keys


JSON = Format(
    name="json",
    summary="interpunct's own JSON, lossless",
    extensions=(".json",),
    sniff=sniff,
    read=read,
    write=write,
    timed=True,
    many=True,
)
