"""Whisper's JSON, in the dialects of its family.

In: openai-whisper, faster-whisper (also its word tuples), whisperX, whisper.cpp (`-oj`, `-ojf`, `-ml 1`), the
API's verbose_json, and the Transformers pipeline's chunks. Out: openai-whisper's shape with a segment a
sentence. Where only a segment is timed, its first word gets its start and its last word its end. A piece
that continues a word (" follow" + "-up", " 4" + ",754") is joined to it, as the segment's text has it; the
joined word has the first start, the last end and the lowest probability, marks left aside. A word that stands in a
segment's text but not among its words has no times; where both have the same words, they are written as in the text.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from interpunct import render
from interpunct.align import NOWHERE, align
from interpunct.formats import located, word_entries
from interpunct.formats.format import Format, WriteOptions
from interpunct.formats.source import Source
from interpunct.labels import standalone_mark, surface, tokens_of
from interpunct.transcript import Sentence, Transcript, Word

Piece = tuple[object, Word]
"""An item of the file and the word it makes, whose text still has its leading space."""

_SPECIAL = re.compile(r"\[_.*\]|<\|.*\|>")
_TUPLE_FIELDS = ("start", "end", "word", "probability")
_SIGNATURES = (
    {"segments.text"},
    {"segments.words"},
    {"word_segments.word"},
    {"transcription.text"},
    {"chunks.timestamp"},
    {"words.word", "task"},
    {"words.word", "duration", "language"},
    {"[", "text", "words.probability"},
    {"[", "text", "no_speech_prob"},
)


def read(source: Source) -> Iterator[Transcript]:
    """Read the words of the file, or of its segments where only those are timed."""
    yield from located.read_located(source.text, source.id, _transcript)


def _transcript(data: Any, name: str) -> Transcript:
    # faster-whisper's segments are often dumped as a bare list.
    document = {"segments": data} if isinstance(data, list) else located.an_object(data, "the document")
    return Transcript(word_entries.parsed(_words(document)), name)


def _words(document: dict[str, Any]) -> Iterator[Word]:
    segments = located.objects(document, "segments")
    if "transcription" in document:
        yield from _cpp_words(located.objects(document, "transcription"))
    elif any(segment.get("words") for segment in segments):
        yield from _segment_words(segments)
    elif document.get("words"):  # the API lists the words beside the segments
        yield from _segment_words([document])
    elif document.get("word_segments"):
        yield from _segment_words([{"words": document["word_segments"]}])
    elif document.get("chunks"):
        yield from _chunk_words(located.objects(document, "chunks"))
    elif segments:
        for segment in segments:
            yield from _phrase(segment)
    elif document.get("text") is None and "segments" not in document:
        raise located.wrong(document, "no 'segments', 'words' or 'text' in it; is this Whisper's JSON?")
    else:
        yield from word_entries.spread(document, located.string(document, "text") or "")


def _segment_words(segments: list[dict[str, Any]]) -> Iterator[Word]:
    pieces = [list(_entries(segment)) for segment in segments]
    spaced = _is_spaced(chain.from_iterable(pieces))
    for segment, entries in zip(segments, pieces, strict=True):
        if entries:
            words = list(_joined(entries, lambda text: spaced and text[0] in string.punctuation))
            tokens = tokens_of(located.string(segment, "text") or "")
            yield from _with_missing(words, [token for token in tokens if not _SPECIAL.fullmatch(token)])
        else:
            yield from _phrase(segment)


def _with_missing(words: list[Word], tokens: list[str]) -> list[Word]:
    """Put back, without times, what a segment's text says and its words do not."""
    said = [word.text.strip() for word in words]
    if not words or not tokens or said == tokens:
        return words
    if _letters(said) == _letters(tokens):
        return _as_written(words, tokens)
    found = align(tokens, said)
    if 2 * found.correct < len(tokens):
        return words  # the text is of something else
    whole: list[Word] = []
    last, sure = -1, True
    for place, equal, word in zip([*found.places, len(tokens)], [*found.equal, True], [*words, words[-1]], strict=True):
        # Beside a word that is written otherwise, as "cannot" for "can not", nobody knows what is missing.
        if sure and equal:
            between = (token for token in tokens[last + 1 : place] if _letters([token]))
            whole.extend(Word(token, speaker=word.speaker) for token in between)
        whole.append(word)
        last, sure = (place, bool(equal)) if place != NOWHERE else (last, False)
    return whole[:-1]


def _as_written(words: list[Word], tokens: list[str]) -> list[Word]:
    """Write words as the text has them: the API's have no marks and no capitals of their own."""
    if [_letters([word.text]) for word in words] != [_letters([token]) for token in tokens]:
        return words
    return [replace(word, text=token) for word, token in zip(words, tokens, strict=True)]


def _letters(texts: Iterable[str]) -> str:
    return "".join(letter for text in texts for letter in text.lower() if letter.isalnum())


def _entries(segment: dict[str, Any]) -> Iterator[Piece]:
    speaker = located.label(segment, "speaker")
    values = located.a_list(segment, "words")
    for value in values:
        entry = located.fields(value, _TUPLE_FIELDS, "a word", values)
        token = located.string(entry, "word", "text")
        if token is None:
            raise located.wrong(entry, "an entry of 'words' without a 'word'; every entry needs one")
        start, end = located.number(entry, "start"), located.number(entry, "end")
        confidence = located.number(entry, "probability", "score", "confidence")
        yield (
            entry,
            word_entries.word(entry, token, start, end, confidence, located.label(entry, "speaker") or speaker),
        )


def _phrase(segment: dict[str, Any]) -> Iterator[Word]:
    text = located.string(segment, "text") or ""
    start, end = located.number(segment, "start"), located.number(segment, "end")
    yield from word_entries.spread(segment, text, start, end, located.label(segment, "speaker"))


def _chunk_words(chunks: list[dict[str, Any]]) -> Iterator[Word]:
    pieces: list[list[Piece]] = []
    for chunk in chunks:
        times = located.fields(chunk.get("timestamp") or [], ("start", "end"), "'timestamp'", chunk)
        pieces.append(list(_spread_pieces(chunk, located.number(times, "start"), located.number(times, "end"))))
    yield from _joined_phrases(pieces, lambda text: text[0] in string.punctuation)


def _cpp_words(segments: list[dict[str, Any]]) -> Iterator[Word]:
    pieces = [list(_cpp_pieces(segment)) for segment in segments]
    yield from _joined_phrases(pieces, lambda text: not text[0].isspace())


def _cpp_pieces(segment: dict[str, Any]) -> Iterator[Piece]:
    tokens = [
        token
        for token in located.objects(segment, "tokens")
        if not _SPECIAL.fullmatch((located.string(token, "text") or "").strip())
    ]
    if not any(token.get("offsets") for token in tokens):
        yield from _spread_pieces(segment, *_cpp_times(segment))
        return
    speaker = located.label(segment, "speaker")
    for token in tokens:
        text, confidence = located.string(token, "text") or "", located.number(token, "p")
        yield token, word_entries.word(token, text, *_cpp_times(token), confidence, speaker)


def _cpp_times(item: dict[str, Any]) -> tuple[float | None, float | None]:
    offsets = located.an_object(item.get("offsets") or {}, "'offsets'", item)
    start_ms, end_ms = located.exact(offsets, "from"), located.exact(offsets, "to")
    return located.seconds(start_ms, per_second=1000), located.seconds(end_ms, per_second=1000)


def _spread_pieces(phrase: dict[str, Any], start: float | None, end: float | None) -> Iterator[Piece]:
    text = located.string(phrase, "text") or ""
    for index, word in enumerate(word_entries.spread(phrase, text, start, end, located.label(phrase, "speaker"))):
        spaced = index > 0 or text[0].isspace()
        yield phrase, replace(word, text=f" {word.text}" if spaced else word.text)


def _joined_phrases(phrases: list[list[Piece]], continues: Callable[[str], bool]) -> Iterator[Word]:
    """Join within phrases; and across them where each is but a word or a part of one (`-ml 1`)."""
    spaced = _is_spaced(chain.from_iterable(phrases))
    if all(sum(word.text[:1].isspace() for _, word in pieces[1:]) == 0 for pieces in phrases):
        phrases = [list(chain.from_iterable(phrases))]
    for pieces in phrases:
        yield from _joined(pieces, lambda text: spaced and continues(text))


def _is_spaced(pieces: Iterable[Piece]) -> bool:
    """Say whether words begin with a space here, so that what begins without one continues a word."""
    return any(word.text[:1].isspace() for _, word in pieces)


def _joined(pieces: Iterable[Piece], continues: Callable[[str], bool]) -> Iterator[Word]:
    held: Word | None = None
    for item, word in pieces:
        if not word.text:
            continue
        if held is None:
            held = word
        elif continues(word.text) and not held.text[-1].isspace() and held.speaker == word.speaker:
            if standalone_mark(word.text.strip()) is not None:  # a mark has no duration
                held = replace(held, text=held.text + word.text)
                continue
            known = [value for value in (held.confidence, word.confidence) if value is not None]
            confidence = min(known, default=None)
            held = word_entries.word(item, held.text + word.text, held.start, word.end, confidence, held.speaker)
        else:
            yield held
            held = word
    if held is not None:
        yield held


def write(transcripts: Iterable[Transcript], _: WriteOptions) -> Iterator[str]:
    """Write openai-whisper's shape; of several transcripts, each on a line of its own."""
    remaining = iter(transcripts)
    first, second = next(remaining, None), next(remaining, None)
    if first is not None and second is None:
        yield located.dumps(_document(first), indent=1) + "\n"
    elif first is not None and second is not None:
        for transcript in chain((first, second), remaining):
            yield located.dumps(_document(transcript)) + "\n"


def _document(transcript: Transcript) -> dict[str, Any]:
    segments = [
        _segment(index, sentence, transcript.words[sentence.first : sentence.last + 1])
        for index, sentence in enumerate(sentence for sentence in render.sentences(transcript) if sentence.text)
    ]
    # Only English is restored; what was merely converted may be in any language.
    language = {"language": "en"} if transcript.model else {}
    return {"text": render.text(transcript), "segments": segments} | language


def _segment(index: int, sentence: Sentence, words: tuple[Word, ...]) -> dict[str, Any]:
    times = {"start": sentence.start, "end": sentence.end, "speaker": sentence.speaker}
    known = {key: value for key, value in times.items() if value is not None}
    return {"id": index} | known | {"text": f" {sentence.text}", "words": list(map(_item, words))}


def _item(word: Word) -> dict[str, Any]:
    item = {
        "word": f" {surface(word)}",
        "start": word.start,
        "end": word.end,
        "probability": word.confidence,
        "speaker": word.speaker,
    }
    return {key: value for key, value in item.items() if value is not None}


WHISPER = Format(
    name="whisper",
    summary="Whisper's JSON: openai-whisper, faster-whisper, whisperX, whisper.cpp, the API",
    extensions=(".json",),
    sniff=lambda source: any(signature <= source.json_keys for signature in _SIGNATURES),
    read=read,
    write=write,
    timed=True,
    many=True,
)
