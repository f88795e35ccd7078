"""`Restorer`: the main job. Words in; the same words out, with marks, capitals and sentences.

In: text, words or transcripts, of any length and in any number. Out: `Restored` transcripts, in order. The
count, order and times of the words never change. Memory holds the documents in hand and the scores of a few
batches of windows, whatever their length; short documents are taken in until some batches are full.
Times, where words have them, and a recording help a model that has learned what they tell (`models.branch`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING

from interpunct import models, render
from interpunct.decode import DecodeOptions, Decoder
from interpunct.decode.pending import Pending
from interpunct.decode.reading import Reading
from interpunct.decode.windows import score
from interpunct.errors import InputError, ModelError, UnknownNameError
from interpunct.features import Features
from interpunct.labels import BLANKS, parse_text, split_token
from interpunct.models import Listener, Model, Scores
from interpunct.models.branch import Branch
from interpunct.models.folder import load_lexicon
from interpunct.transcript import Sentence, Transcript, Word, is_timed

if TYPE_CHECKING:
    from interpunct.features.prosody import Prosody

Document = str | Transcript | Iterable[Word | str]
"""What can be restored: text, a transcript, or words."""
Progress = Callable[[int, int], None]
Watch = Callable[[Scores], None]
"""Is told the scores of tokens that are decided on, block after block."""
PRETRAINED = Path(__file__).parent / "pretrained"
_OFF_S = 2.0  # the usual difference from which on some words' times are another recording's


@dataclass(frozen=True, slots=True)
class Restored(Transcript):
    """A transcript with its marks and capitals back."""

    @property
    def text(self) -> str:
        """The whole text."""
        return render.text(self)

    @property
    def sentences(self) -> list[Sentence]:
        """The sentences, with the first and last word's place, times and speaker."""
        return list(render.sentences(self))


class Restorer:
    """Restores with one model.

    >>> import interpunct
    >>> restorer = interpunct.load()
    >>> restorer.restore("so how are you i am fine thanks").text
    'So how are you? I am fine. Thanks.'
    """

    def __init__(
        self,
        model: Model,
        lexicon: dict[str, str] | None = None,
        *,
        scales: Mapping[str, float] | None = None,
        branch: Branch | None = None,
    ) -> None:
        self.model = model
        self.lexicon = lexicon or {}
        self.scales = scales or {}
        self.branch = branch

    def restore(
        self,
        document: Document,
        options: DecodeOptions | None = None,
        *,
        audio: str | Path | None = None,
        progress: Progress | None = None,
        watch: Watch | None = None,
    ) -> Restored:
        """Restore one document, with its recording where there is one.

        Words without times get those at which they are said in the recording, in a document of which fewer than half
        have both times. Times that are given never change.
        """
        return next(self._restore([(document, audio)], options, progress, watch))

    def restore_all(
        self,
        documents: Iterable[Document],
        options: DecodeOptions | None = None,
        *,
        progress: Progress | None = None,
    ) -> Iterator[Restored]:
        """Restore documents one after another; short ones share the model's batches.

        `progress` is told again and again how many of a document's words are done, and how many it has.
        """
        if isinstance(documents, str | Transcript):
            raise InputError("restore_all takes several documents; give a list of them, or one to restore")
        return self._restore(((document, None) for document in documents), options, progress)

    def _restore(
        self,
        documents: Iterable[tuple[Document, str | Path | None]],
        options: DecodeOptions | None = None,
        progress: Progress | None = None,
        watch: Watch | None = None,
    ) -> Iterator[Restored]:
        waiting: deque[_Job] = deque()

        def features() -> Iterator[Features]:
            for document, audio in documents:
                transcript, prosody = self._heard(as_transcript(document), audio, options or DecodeOptions())
                decoder = Decoder(
                    transcript.words, self.model.labels, options=options, lexicon=self.lexicon, scales=self.scales
                )
                job = _Job(transcript, prosody, self, decoder)
                waiting.append(job)
                yield job.reading.features

        done = 0
        beam = options.beam if options else 1
        pending = Pending(score(self.model, features(), beam=beam))
        while (block := pending.next()) is not None:
            index, scores = block
            while done < index:
                yield waiting.popleft().result(watch)
                done += 1
            waiting[0].take(waiting[0].reading.take(scores), watch)
            if progress is not None:
                progress(len(waiting[0].words), len(waiting[0].transcript))
        while waiting and waiting[0].reading.whole:
            yield waiting.popleft().result(watch)
        pending.tell()

    def _heard(
        self, transcript: Transcript, audio: str | Path | None, options: DecodeOptions
    ) -> tuple[Transcript, Prosody | None]:
        """Return a document with its times, and its prosody where that is asked for and there is some."""
        listens = self.branch is not None or _hears(self.model)
        if audio is None:
            if not listens or not options.prosody or all(word.duration_s is None for word in transcript.words):
                return transcript, None
            from interpunct.features.prosody import measure_prosody  # most documents are text alone
            from interpunct.features.prosody_table import FROM_TIMES, NAMES

            names = NAMES if _hears(self.model) else FROM_TIMES  # a branch can do without columns of nothing
            return transcript, measure_prosody(transcript, names=names)
        if options.prosody and not listens:
            raise ModelError(
                f"model {self.model.name} has not learned what a recording tells; use another model, or leave out the "
                "audio (words without times are still timed by it with --no-prosody)"
            )
        if not Path(audio).exists():
            raise InputError("no such file; give the recording", path=str(audio))
        from interpunct.audio import align_audio
        from interpunct.features.prosody import prosody_of

        if not options.prosody:
            untimed = transcript.words and not is_timed(transcript)
            return _filled(transcript, align_audio(audio, transcript), audio) if untimed else transcript, None
        found, prosody = prosody_of(transcript, audio)
        return _filled(transcript, found, audio), prosody


class _Job:
    """One document on its way: what went in, and what has come out so far."""

    def __init__(self, transcript: Transcript, prosody: Prosody | None, restorer: Restorer, decoder: Decoder) -> None:
        self.transcript = transcript
        self.model = restorer.model
        heard = prosody if _hears(self.model) else None
        self.reading = Reading([word.text for word in transcript.words], self.model, heard)
        self.following = None
        if restorer.branch is not None and prosody is not None:
            self.following = restorer.branch.follow(prosody)
        self.decoder = decoder
        self.words: list[Word] = []

    def take(self, scores: Scores | None, watch: Watch | None) -> None:
        """Decode the tokens whose scores are complete."""
        if scores is not None:
            if self.following is not None:
                scores = self.following.take(scores)
            if watch is not None:
                watch(scores)
            self.words.extend(self.decoder.feed(scores))

    def result(self, watch: Watch | None) -> Restored:
        """Return the document; one of which no model has anything to say is decoded only now."""
        self.take(self.reading.rest(), watch)
        return Restored(tuple(self.words), self.transcript.source, self.model.name)


def as_transcript(document: Document) -> Transcript:
    """Read text; and words of which nobody has yet told marks from letters, one word for one.

    >>> [(word.text, word.mark) for word in as_transcript(["Yes,", Word("no", mark=".")]).words]
    [('Yes', ','), ('no', '.')]
    """
    if isinstance(document, str):
        return Transcript(parse_text(document))
    if not isinstance(document, Transcript | Iterable) or isinstance(document, Mapping):
        raise InputError(f"{document!r} is no document; give a Transcript, words or a string")
    words = document.words if isinstance(document, Transcript) else tuple(map(_as_word, document))
    if any(word.mark is None and word.case is None for word in words):
        words = tuple(map(_parsed, words))
    source = document.source if isinstance(document, Transcript) else ""
    return Transcript(words, source)


def _hears(model: Model) -> bool:
    return isinstance(model, Listener) and model.hears


def _filled(transcript: Transcript, timed: Transcript, audio: str | Path) -> Transcript:
    """Give words the times that they lack, those at which they are heard in a recording."""
    pairs = list(zip(transcript.words, timed.words, strict=True))
    off = sorted(
        abs(given - heard)
        for word, its in pairs
        for given, heard in ((word.start, its.start), (word.end, its.end))
        if given is not None and heard is not None
    )
    if off and off[len(off) // 2] > _OFF_S:
        raise InputError(
            f"the times that some words have are {off[len(off) // 2]:.1f} s off those at which they are heard; check "
            "that they are of this recording, or take them out",
            path=str(audio),
        )
    return replace(transcript, words=tuple(starmap(_completed, pairs)))


def _completed(word: Word, heard: Word) -> Word:
    """Return a word with the times it lacks; where they would contradict the one it has, as it is."""
    start = heard.start if word.start is None else word.start
    end = heard.end if word.end is None else word.end
    if start is not None and end is not None and end < start:
        return word
    return replace(word, start=start, end=end)


def _as_word(given: Word | str) -> Word:
    if isinstance(given, str):
        return Word(given)
    if not isinstance(given, Word):
        raise InputError(f"{given!r} is neither a word nor text; give a Transcript, words or a string")
    return given


def _parsed(word: Word) -> Word:
    if word.mark is not None or word.case is not None:
        return word
    text, mark, case = split_token(word.text.strip(BLANKS))  # Whisper's words begin with a space
    return replace(word, text=text, raw=word.token.strip(BLANKS), mark=mark, case=case)


def load(model: str | Path = "default", *, threads: int | None = None) -> Restorer:
    """Load a restorer: a bundled model by its name, or any model by its folder."""
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise InputError(f"threads {threads!r}; use a whole number, 1 or more")
    folder = find_model(model)
    scales = models.Description.load(folder).scales
    loaded = models.load(folder, threads=threads)
    branch = Branch.load(folder, loaded.labels)
    return Restorer(loaded, load_lexicon(folder), scales=scales, branch=branch)


def find_model(model: str | Path) -> Path:
    """Return the folder of a bundled model's name or of a path."""
    if not isinstance(model, str | Path):
        raise InputError(f"model {model!r} is neither a name nor a folder; use e.g. 'default'")
    bundled = {path.name: path for path in bundled_models()}
    if str(model) in bundled:
        return bundled[str(model)]
    if Path(model).is_dir():
        return Path(model)
    if "/" in str(model) or "\\" in str(model):
        raise ModelError(f"{model}: no such folder; give a model folder or one of {', '.join(bundled)}")
    raise UnknownNameError("model", str(model), bundled)


def bundled_models() -> list[Path]:
    """Return the folders of the models that come in the wheel."""
    return sorted(path.parent for path in PRETRAINED.glob("*/model.json"))
