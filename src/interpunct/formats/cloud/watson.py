"""IBM Watson: results with alternatives; times, confidences and speakers are lists of their own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from interpunct.formats import located, word_entries
from interpunct.formats.cloud.answer import Channels, first, reader, token_of
from interpunct.formats.format import Format
from interpunct.formats.source import Source
from interpunct.transcript import Word

KEYS = frozenset(("result_index", "results.alternatives.timestamps"))
"""What no other service's answer has."""

Speakers = dict[float | None, str | None]
"""Who says the word that begins then."""


def _channels(data: dict[str, Any]) -> Channels:
    if "results" not in data:
        raise located.wrong(data, "no 'results' in it; is this Watson's JSON?")
    of_a_job = [result for result in located.objects(data, "results") if "results" in result]
    return {None: list(chain.from_iterable(map(_answered, of_a_job or [data])))}


def _answered(answer: dict[str, Any]) -> Iterator[Word]:
    labels = located.objects(answer, "speaker_labels")
    speakers = {located.number(label, "from"): located.label(label, "speaker") for label in labels}
    for result in located.objects(answer, "results"):
        if result.get("final") is not False:  # what is said while it listens is said again when it is sure
            yield from _words(first(result, "alternatives"), speakers)


def _words(best: dict[str, Any], speakers: Speakers) -> Iterator[Word]:
    entries = _rows(best, "timestamps", ("word", "start", "end"))
    scores = _rows(best, "word_confidence", ("word", "score"))
    if len(scores) != len(entries):
        scores = [{}] * len(entries)
    for entry, score in zip(entries, scores, strict=True):
        start, end = located.number(entry, "start"), located.number(entry, "end")
        confidence = located.number(score, "score")
        yield word_entries.word(entry, token_of(entry, "word"), start, end, confidence, speakers.get(start))
    if not entries:
        text = located.string(best, "transcript")
        if text is None and best:
            raise located.wrong(best, "neither 'timestamps' nor 'transcript' in an alternative; is this Watson's JSON?")
        yield from word_entries.spread(best, text or "")


def _rows(best: dict[str, Any], name: str, fields: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return a list's rows, each a list itself, by the names of their fields."""
    rows = located.a_list(best, name)
    return [located.fields(row, fields, "a word", rows) for row in rows]


def _is_watson(source: Source) -> bool:
    inside = {key.removeprefix("results.") for key in source.json_keys}  # of a job's answers
    return "results" in source.json_keys and bool(KEYS & (source.json_keys | inside))


WATSON = Format(
    name="watson",
    summary="IBM Watson Speech to Text's JSON (read only)",
    extensions=(".json",),
    sniff=_is_watson,
    read=reader(_channels),
    timed=True,
    many=True,
)
