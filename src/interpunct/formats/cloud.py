"""The JSON of cloud recognisers: AWS Transcribe, Google, Deepgram, AssemblyAI, Azure, Speechmatics. Read only.

In: what each service answers, with its own units and its own way of writing marks, speakers and channels.
Out: a transcript, or one for each channel where the channels are told apart. Times are converted in
decimal, so that 1300 ms are 1.3 s. Of alternatives the first is taken. A phrase that comes without words
is split at its spaces and keeps only the times that the service gave it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import chain
from typing import Any

from interpunct.formats import located, word_entries
from interpunct.formats.format import Format
from interpunct.formats.source import Source
from interpunct.transcript import Transcript, Word

Channels = dict[str | None, list[Word]]
"""The words of each channel, in the order of the file; None is the channel of those that name none."""

Speakers = dict[tuple[float | None, float | None], str | None]
"""Who speaks from when to when."""

_MS_PER_S = 1000
_TICKS_PER_S = 10_000_000
_NANOS_PER_S = 1_000_000_000
_ISO_DURATION = re.compile(r"PT(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,12})?)S)?")


def _reader(channels_of: Callable[[dict[str, Any]], Channels]) -> Callable[[Source], Iterator[Transcript]]:
    """Return the reader that makes transcripts of what a service's function finds in its answer."""

    def transcripts(data: Any, name: str) -> list[Transcript]:
        channels = channels_of(located.an_object(data, "the document"))
        if len(channels) < 2:
            return [Transcript(word_entries.parsed(chain.from_iterable(channels.values())), name)]
        return [
            Transcript(word_entries.parsed(words), name if channel is None else f"{name}#{channel}")
            for channel, words in channels.items()
        ]

    def read(source: Source) -> Iterator[Transcript]:
        yield from chain.from_iterable(located.read_located(source.text, source.id, transcripts))

    return read


def _collected(words: Iterable[tuple[str | None, Word]]) -> Channels:
    channels: Channels = {}
    for channel, word in words:
        channels.setdefault(channel, []).append(word)
    return channels


def _first(item: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the first, that is the best, of a list of alternatives, or an empty one."""
    return next(iter(located.objects(item, name)), {})


def _token(entry: dict[str, Any], *names: str) -> str:
    token = located.string(entry, *names)
    if token is None:
        raise located.wrong(entry, f"a word without {names[0]!r}; every word needs one")
    return token


# AWS Transcribe: words and marks are items of one list, times are strings.


def _aws_channels(data: dict[str, Any]) -> Channels:
    results = located.an_object(data.get("results"), "'results'", data)
    labels = located.an_object(results.get("channel_labels") or {}, "'channel_labels'", results)
    channels = located.objects(labels, "channels")
    if channels:
        return {
            located.label(channel, "channel_label"): list(_item_words(located.objects(channel, "items")))
            for channel in channels
        }
    words = list(_item_words(located.objects(results, "items"), _aws_speakers(results)))
    if not words:
        transcript = _first(results, "transcripts")
        words = list(word_entries.spread(transcript, located.string(transcript, "transcript") or ""))
    return {None: words}


def _aws_speakers(results: dict[str, Any]) -> Speakers:
    """Return who speaks from when to when, as older answers tell it: beside the items."""
    labels = located.an_object(results.get("speaker_labels") or {}, "'speaker_labels'", results)
    return {
        (located.number(item, "start_time"), located.number(item, "end_time")): located.label(item, "speaker_label")
        for segment in located.objects(labels, "segments")
        for item in located.objects(segment, "items")
    }


def _item_words(items: Iterable[dict[str, Any]], speakers: Speakers | None = None) -> Iterator[Word]:
    """Yield words of items that are words or marks; a mark joins the word before it, or the next where it says so."""
    held: Word | None = None
    opening = ""
    for item in items:
        best = _first(item, "alternatives")
        token = _token(best or item, "content")
        if item.get("type") == "punctuation" and item.get("attaches_to") == "next":
            opening += token
            continue
        if held is not None and item.get("type") == "punctuation":
            held = replace(held, text=held.text + token)
            continue
        if held is not None:
            yield held
        start, end = located.number(item, "start_time"), located.number(item, "end_time")
        speaker = located.label(item, "speaker_label") or (speakers or {}).get((start, end)) or _speaker_of(best)
        held = word_entries.word(item, opening + token, start, end, located.number(best, "confidence"), speaker)
        opening = ""
    if held is not None:
        yield replace(held, text=held.text + opening)


def _speaker_of(best: dict[str, Any]) -> str | None:
    speaker = located.label(best, "speaker")
    return None if speaker == "UU" else speaker  # Speechmatics' "unknown"


AWS = Format(
    name="aws",
    summary="AWS Transcribe's JSON (read only)",
    extensions=(".json",),
    sniff=lambda source: bool({"results.items", "results.transcripts"} & source.json_keys),
    read=_reader(_aws_channels),
    timed=True,
    many=True,
)


# Google Speech-to-Text: results with alternatives; v1 and v2, camel case and snake case.


def _google_channels(data: dict[str, Any]) -> Channels:
    response = located.an_object(data.get("response") or data, "'response'", data)
    if "results" not in response:
        raise located.wrong(response, "no 'results' in it; is this Google's JSON?")
    by_channel: dict[str | None, list[list[Word]]] = {}
    for result in located.objects(response, "results"):
        words = list(_google_words(_first(result, "alternatives")))
        by_channel.setdefault(located.label(result, "channelTag", "channel_tag"), []).append(words)
    return {channel: list(_google_once(results)) for channel, results in by_channel.items()}


def _google_once(results: list[list[Word]]) -> Iterator[Word]:
    """With speakers told apart, the last result says all words of the others again: take it for them."""
    *earlier, last = results
    said = list(chain.from_iterable(earlier))
    repeats = 0 < len(said) <= len(last) and all(map(_is_same, said, last)) and any(word.speaker for word in last)
    return iter(last) if repeats else chain.from_iterable(results)


def _is_same(word: Word, again: Word) -> bool:
    """Say whether two words are one that is told twice; a result of text alone has no times."""
    same_time = None in (word.start, again.start) or word.start == again.start
    return same_time and word.text.casefold() == again.text.casefold()


def _google_words(best: dict[str, Any]) -> Iterator[Word]:
    entries = located.objects(best, "words")
    for entry in entries:
        start = _google_time(entry, "startTime", "start_time", "startOffset", "start_offset")
        end = _google_time(entry, "endTime", "end_time", "endOffset", "end_offset")
        speaker = located.label(entry, "speakerLabel", "speaker_label", "speakerTag", "speaker_tag")
        named = None if speaker in ("0", "") else speaker  # speakers count from 1; 0 is protobuf's "not set"
        yield word_entries.word(entry, _token(entry, "word"), start, end, located.number(entry, "confidence"), named)
    if not entries:
        text = located.string(best, "transcript")
        if text is None and "content" in best:
            raise located.wrong(best, "neither 'words' nor 'transcript' in an alternative; is this Google's JSON?")
        yield from word_entries.spread(best, text or "")


def _google_time(entry: dict[str, Any], *names: str) -> float | None:
    name = next((name for name in names if entry.get(name) is not None), None)
    if name is None:
        return None
    value = entry[name]
    if isinstance(value, dict):
        whole, nanos = located.exact(value, "seconds"), located.exact(value, "nanos")
        total = (whole or Decimal(0)) * _NANOS_PER_S + (nanos or Decimal(0))
        return located.seconds(total, per_second=_NANOS_PER_S)
    text = value.removesuffix("s") if isinstance(value, str) else value
    return located.seconds(located.decimal(text, name, entry), per_second=1)


def _is_google(source: Source) -> bool:
    """Tell Google's answer from those of others that have results with alternatives, too (Speechmatics, Watson)."""
    keys = {key.removeprefix("response.") for key in source.json_keys}
    others = {"results.alternatives.content", "results.alternatives.timestamps"}
    return "results.alternatives" in keys and not others & keys


GOOGLE = Format(
    name="google",
    summary="Google Speech-to-Text's JSON (read only)",
    extensions=(".json",),
    sniff=_is_google,
    read=_reader(_google_channels),
    timed=True,
    many=True,
)


# Deepgram: channels with alternatives; the word with its mark stands beside the bare one.


def _deepgram_channels(data: dict[str, Any]) -> Channels:
    results = located.an_object(data.get("results"), "'results'", data)
    channels = located.objects(results, "channels")
    return {
        str(number): list(_deepgram_words(_first(channel, "alternatives")))
        for number, channel in enumerate(channels, start=1)
    }


def _deepgram_words(best: dict[str, Any]) -> Iterator[Word]:
    entries = located.objects(best, "words")
    for entry in entries:
        token = _token(entry, "punctuated_word", "word")
        start, end = located.number(entry, "start"), located.number(entry, "end")
        confidence, speaker = located.number(entry, "confidence"), located.label(entry, "speaker")
        yield word_entries.word(entry, token, start, end, confidence, speaker)
    if not entries:
        yield from word_entries.spread(best, located.string(best, "transcript") or "")


DEEPGRAM = Format(
    name="deepgram",
    summary="Deepgram's JSON (read only)",
    extensions=(".json",),
    sniff=lambda source: "results.channels" in source.json_keys,
    read=_reader(_deepgram_channels),
    timed=True,
    many=True,
)


# AssemblyAI: one list of words, times in milliseconds.

_ASSEMBLYAI_KEYS = frozenset(
    (
        "audio_url",
        "audio_duration",
        "acoustic_model",
        "language_model",
        "speech_model",
        "utterances",
        "webhook_url",
    )
)


def _assemblyai_channels(data: dict[str, Any]) -> Channels:
    if data.get("words") is None:
        text = located.string(data, "text")
        if text is None:
            what = located.string(data, "error") or "neither 'words' nor 'text' in it; wait until it is done"
            raise located.wrong(data, f"not a finished AssemblyAI transcript: {what}")
        return {None: list(word_entries.spread(data, text))}
    return _collected(_assemblyai_words(data))


def _assemblyai_words(data: dict[str, Any]) -> Iterator[tuple[str | None, Word]]:
    for entry in located.objects(data, "words"):
        start = located.seconds(located.exact(entry, "start"), per_second=_MS_PER_S)
        end = located.seconds(located.exact(entry, "end"), per_second=_MS_PER_S)
        confidence, speaker = located.number(entry, "confidence"), located.label(entry, "speaker")
        word = word_entries.word(entry, _token(entry, "text"), start, end, confidence, speaker)
        yield located.label(entry, "channel"), word


def _is_assemblyai(source: Source) -> bool:
    keys = source.json_keys
    own = len(keys & _ASSEMBLYAI_KEYS)
    return own >= 2 or (own == 1 and {"words.text", "words.start"} <= keys)


ASSEMBLYAI = Format(
    name="assemblyai",
    summary="AssemblyAI's JSON (read only)",
    extensions=(".json",),
    sniff=_is_assemblyai,
    read=_reader(_assemblyai_channels),
    timed=True,
    many=True,
)


# Azure: batch transcription, fast transcription, and the answers of the short-audio and SDK interfaces.


def _azure_channels(data: dict[str, Any]) -> Channels:
    if "recognizedPhrases" in data:
        return _collected(chain.from_iterable(map(_azure_batch_words, located.objects(data, "recognizedPhrases"))))
    if "phrases" in data:
        return _collected(chain.from_iterable(map(_azure_fast_words, located.objects(data, "phrases"))))
    if "NBest" in data or "DisplayText" in data:
        return {None: list(_azure_answer_words(data))}
    raise located.wrong(data, "no 'recognizedPhrases', 'phrases' or 'NBest' in it; is this Azure's JSON?")


def _azure_batch_words(phrase: dict[str, Any]) -> Iterator[tuple[str | None, Word]]:
    best = _first(phrase, "nBest")
    channel, speaker = located.label(phrase, "channel"), located.label(phrase, "speaker")
    # The displayed words have their marks and capitals; the others are the bare ones.
    entries = located.objects(best, "displayWords") or located.objects(best, "words")
    for entry in entries:
        confidence = located.number(entry, "confidence")
        token = _token(entry, "displayText", "word")
        yield channel, word_entries.word(entry, token, *_azure_times(entry), confidence, speaker)
    if not entries:
        text = located.string(best, "display", "lexical") or ""
        for word in word_entries.spread(phrase, text, *_azure_times(phrase), speaker):
            yield channel, word


def _azure_fast_words(phrase: dict[str, Any]) -> Iterator[tuple[str | None, Word]]:
    channel, speaker = located.label(phrase, "channel"), located.label(phrase, "speaker")
    entries = located.objects(phrase, "words")
    for entry in entries:
        confidence = located.number(entry, "confidence")
        yield channel, word_entries.word(entry, _token(entry, "text"), *_azure_times(entry), confidence, speaker)
    if not entries:
        text = located.string(phrase, "text") or ""
        for word in word_entries.spread(phrase, text, *_azure_times(phrase), speaker):
            yield channel, word


def _azure_answer_words(answer: dict[str, Any]) -> Iterator[Word]:
    best = _first(answer, "NBest")
    speaker = located.label(answer, "SpeakerId")
    entries = located.objects(best, "DisplayWords") or located.objects(best, "Words")
    for entry in entries:
        confidence = located.number(entry, "Confidence")
        yield word_entries.word(entry, _token(entry, "Word"), *_azure_times(entry), confidence, speaker)
    if not entries:
        text = located.string(best, "Display") or located.string(answer, "DisplayText") or ""
        yield from word_entries.spread(answer, text, *_azure_times(answer), speaker)


def _azure_times(item: dict[str, Any]) -> tuple[float | None, float | None]:
    """Return start and end; Azure gives an offset and a duration, in one of four units."""
    for offset_name, duration_name, unit_per_s in (
        ("offsetInTicks", "durationInTicks", _TICKS_PER_S),
        ("offsetMilliseconds", "durationMilliseconds", _MS_PER_S),
        ("Offset", "Duration", _TICKS_PER_S),
    ):
        offset = located.exact(item, offset_name)
        if offset is not None:
            return _span(offset, located.exact(item, duration_name), unit_per_s)
    return _span(_iso_s(item, "offset"), _iso_s(item, "duration"), 1)


def _span(offset: Decimal | None, duration: Decimal | None, per_second: int) -> tuple[float | None, float | None]:
    end = None if offset is None or duration is None else offset + duration
    return located.seconds(offset, per_second=per_second), located.seconds(end, per_second=per_second)


def _iso_s(item: dict[str, Any], name: str) -> Decimal | None:
    value = located.string(item, name)
    if value is None:
        return None
    match = _ISO_DURATION.fullmatch(value)
    if match is None or value == "PT":
        raise located.wrong(item, f"{name!r} is {value[:60]!r}, not a duration such as 'PT1.2S'")
    hours, minutes, rest = (Decimal(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + rest


AZURE = Format(
    name="azure",
    summary="Azure Speech's JSON: batch, fast and single answers (read only)",
    extensions=(".json",),
    sniff=lambda source: bool(
        {
            "recognizedPhrases",
            "combinedRecognizedPhrases",
            "phrases.offsetMilliseconds",
            "NBest",
            "DisplayText",
        }
        & source.json_keys
    ),
    read=_reader(_azure_channels),
    timed=True,
    many=True,
)


# Speechmatics: words and marks are one list, as AWS has them; the speaker stands with the alternative.


def _speechmatics_channels(data: dict[str, Any]) -> Channels:
    by_channel: dict[str | None, list[dict[str, Any]]] = {}
    for result in located.objects(data, "results"):
        if result.get("type") != "speaker_change":
            by_channel.setdefault(located.label(result, "channel"), []).append(result)
    return {channel: list(_item_words(results)) for channel, results in by_channel.items()}


SPEECHMATICS = Format(
    name="speechmatics",
    summary="Speechmatics' JSON (read only)",
    extensions=(".json",),
    sniff=lambda source: {"results.type", "results.alternatives.content"} <= source.json_keys,
    read=_reader(_speechmatics_channels),
    timed=True,
    many=True,
)
