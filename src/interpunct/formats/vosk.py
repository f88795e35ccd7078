"""Vosk's JSON: one result, or the stream of results that a recogniser prints.

In: objects with `result` (word, start, end, conf) and `text`, one or many on end or in a list; partial
results are skipped, of alternatives the first is taken. All of a file is one document. Out: one object with
`result` and `text`, the words with their marks. Speaker vectors (`spk`) are not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from interpunct import render
from interpunct.formats import located, word_entries
from interpunct.formats.format import Format, WriteOptions, sole
from interpunct.formats.source import Source
from interpunct.labels import surface
from interpunct.transcript import Transcript, Word

_SIGNATURES = ({"result.word"}, {"result.conf"}, {"partial"}, {"alternatives.text"}, {"alternatives.result"})


def read(source: Source) -> Iterator[Transcript]:
    """Read all results as one document."""
    results = located.read_located(source.text, source.id, _results)
    yield Transcript(word_entries.parsed(chain.from_iterable(results)), source.id)


def _results(data: Any, _: str) -> list[Word]:
    results = data if isinstance(data, list) else [data]
    return list(chain.from_iterable(_words(located.an_object(result, "a result", data)) for result in results))


def _words(result: dict[str, Any]) -> Iterator[Word]:
    if "partial" in result:
        return
    alternatives = located.objects(result, "alternatives")
    best = alternatives[0] if alternatives else result
    entries = located.objects(best, "result")
    for entry in entries:
        token = located.string(entry, "word")
        if token is None:
            raise located.wrong(entry, "an item of 'result' without a 'word'; every item needs one")
        start, end = located.number(entry, "start"), located.number(entry, "end")
        yield word_entries.word(
            entry, token, start, end, located.number(entry, "conf"), located.label(entry, "speaker")
        )
    if not entries:
        text = located.string(best, "text")
        if text is None and not {"text", "result", "alternatives"} & result.keys():
            raise located.wrong(best, "neither 'result' nor 'text' in it; is this Vosk's JSON?")
        yield from word_entries.spread(best, text or "")


def write(transcripts: Iterable[Transcript], _: WriteOptions) -> Iterator[str]:
    """Write one result."""
    transcript = sole(transcripts, "Vosk's JSON")
    document = {"result": list(map(_item, transcript.words)), "text": render.text(transcript)}
    yield located.dumps(document, indent=2) + "\n"


def _item(word: Word) -> dict[str, Any]:
    item = {
        "conf": word.confidence,
        "end": word.end,
        "speaker": word.speaker,
        "start": word.start,
        "word": surface(word),
    }
    return {key: value for key, value in item.items() if value is not None}


def sniff(source: Source) -> bool:
    """Know Vosk by its word lists, or by the way it lays out a text that has none."""
    keys = source.json_keys
    laid_out = keys == {"text"} and '"text" :' in source.head
    return laid_out or any(signature <= keys for signature in _SIGNATURES)


VOSK = Format(
    name="vosk",
    summary="Vosk's JSON: one result or a stream of them",
    extensions=(".json",),
    sniff=sniff,
    read=read,
    write=write,
    timed=True,
)
