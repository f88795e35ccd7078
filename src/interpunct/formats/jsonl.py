"""JSONL: one document a line, as datasets keep them.

In: an object a line with a `words` column (strings, objects with their text and times, or lists
[text, start, end, confidence, speaker]) or a `text` column, and perhaps an `id`, `source` or `name`; other
columns are ignored, blank lines skipped, and a line of our own JSON is read as such. Out: our own JSON, one
object a line, with a `text` column. A single JSON document of that shape laid out over lines is read, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median
from typing import Any

from interpunct import render
from interpunct.errors import InputError
from interpunct.formats import located, own, word_entries
from interpunct.formats.cloud.assemblyai import ASSEMBLYAI
from interpunct.formats.cloud.aws import AWS
from interpunct.formats.cloud.azure import AZURE
from interpunct.formats.cloud.deepgram import DEEPGRAM
from interpunct.formats.cloud.google import GOOGLE
from interpunct.formats.cloud.speechmatics import SPEECHMATICS
from interpunct.formats.cloud.watson import WATSON
from interpunct.formats.format import Format, WriteOptions
from interpunct.formats.source import Source
from interpunct.formats.vosk import VOSK
from interpunct.formats.whisper import WHISPER
from interpunct.labels import parse_text
from interpunct.transcript import Transcript, Word

_LONGEST_S = 30
"""No recording has words that last so long in the middle of the others; as milliseconds they are too short."""
_LIST_FIELDS = ("text", "start", "end", "confidence", "speaker")


def read(source: Source) -> Iterator[Transcript]:
    """Read a document from each line."""
    lines = [(number, line) for number, line in source.lines() if line.strip()]
    if not any(_is_row(line) for _, line in lines):
        if lines:
            yield from located.read_located(source.text, source.id, from_row)
        return
    for count, (number, line) in enumerate(lines, start=1):
        try:
            yield from_row(located.parse(line), source.id if len(lines) == 1 else f"{source.id}#{count}")
        except InputError as error:
            raise InputError(error.what, line=number) from None


def _is_row(line: str) -> bool:
    """Say whether a line is an object of its own, so that its neighbours are taken for rows, too."""
    if not line.startswith("{"):
        return False
    try:
        located.parse(line)
    except InputError:
        return False
    return True


def from_row(row: Any, name: str) -> Transcript:
    """Make a transcript of a row; `name` is its source where it names none itself.

    >>> from_row({"id": 7, "words": [["so", 0.1, 0.3], ["far.", 0.3, 0.9]]}, "talks.jsonl#1").words[1].end
    0.9
    """
    row = located.an_object(row, "a row")
    if "interpunct" in row:
        return own.from_object(row, name)
    own_name = located.label(row, "id", "source", "name")
    name = name if own_name is None else own_name
    if row.get("words") is not None:
        return Transcript(_words(row), name, located.string(row, "model") or "")
    text = located.string(row, "text")
    if text is None:
        columns = ", ".join(sorted(row)[:8]) or "none"
        raise located.wrong(
            row, f"neither 'words' nor 'text' in it (there is: {columns}); rename a column or use --from"
        )
    return Transcript(parse_text(text), name)


def _words(row: dict[str, Any]) -> tuple[Word, ...]:
    items = located.a_list(row, "words")
    # Words with a `raw` are ours, as in the Parquet that we write: their tags are given, not to be found.
    if items and all(isinstance(item, dict) and "raw" in item for item in items):
        return tuple(map(own.word_of, items))
    entries = [_entry(item, items) for item in items]
    lasting = [entry.duration_s for entry in entries if entry.duration_s is not None]
    if len(lasting) > 1 and median(lasting) > _LONGEST_S:
        raise located.wrong(
            row,
            f"words of {median(lasting):g} s; milliseconds? write seconds, or say whose they are (--from assemblyai)",
        )
    return word_entries.parsed(entries)


def _entry(item: Any, items: list[Any]) -> Word:
    if isinstance(item, str):
        return Word(item)
    entry = located.fields(item, _LIST_FIELDS, "a word", items)
    token = located.string(entry, "text", "word")
    if token is None:
        raise located.wrong(entry, "a word without 'text' or 'word'; every word needs one")
    start, end = located.number(entry, "start"), located.number(entry, "end")
    confidence = located.number(entry, "confidence", "conf", "probability", "score")
    return word_entries.word(entry, token, start, end, confidence, located.label(entry, "speaker"))


def write(transcripts: Iterable[Transcript], _: WriteOptions) -> Iterator[str]:
    """Write our own JSON with its text, one object a line."""
    for transcript in transcripts:
        # The text comes first, where people see it.
        yield (
            located.dumps({"interpunct": own.VERSION, "text": render.text(transcript)} | own.to_object(transcript))
            + "\n"
        )


def sniff(source: Source) -> bool:
    """Take any JSON objects that no other format knows: read as prose they would only give nonsense."""
    others = (own.JSON, WHISPER, VOSK, AWS, GOOGLE, DEEPGRAM, ASSEMBLYAI, AZURE, SPEECHMATICS, WATSON)
    return bool(source.json_keys) and not any(other.sniff(source) for other in others)


JSONL = Format(
    name="jsonl",
    summary="one JSON object a line, with a text or words column",
    extensions=(".jsonl", ".ndjson"),
    sniff=sniff,
    read=read,
    write=write,
    timed=True,
    many=True,
)
