"""The syntax tagger: parts of speech and chunks of lower-case, unpunctuated speech, by CRFsuite.

In: windows of words. Out: log-probabilities per word (the marginals) and the best tags of all, one linear chain per
task. A word's features are the n-grams around it, its own beginnings, endings and shape, and its neighbours' endings;
case and punctuation are not looked at. A chunker looks at the parts of speech that the tagger beside it found, too.
Short documents are joined into longer ones, so that a sentence's end is no end of a sequence: nobody marks it in
speech. `tagged_documents` makes such text of GUM and CoNLL-2000. Needs the extra [papers].
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar, Literal, NamedTuple, Self

from interpunct.corpora.syntax import TaggedSentence
from interpunct.features import Features, normalise
from interpunct.models.encoded import Tagged
from interpunct.models.encoded_texts import EncodedTexts
from interpunct.models.ngram_crf import BEGIN, END, NgramCRF, NgramCRFOptions, ngrams
from interpunct.models.scores import Ints
from interpunct.transcript import Transcript, Word

POS, CHUNK = "pos", "chunk"
"""The tasks that know of each other: chunks are found by the parts of speech."""
_LONGEST_WORD = 40
_MARKS = ".,;:!?"
_LETTERS = re.compile(r"[^\W\d_]+")
_UNIVERSAL = {
    "ADJ": "JJ JJR JJS",
    "ADP": "IN",
    "ADV": "RB RBR RBS WRB",
    "CONJ": "CC",
    "DET": "DT EX PDT WDT",
    "NOUN": "NN NNS NNP NNPS",
    "NUM": "CD",
    "PRON": "PRP PRP$ WP WP$",
    "PRT": "POS RP TO",
    "VERB": "MD VB VBD VBG VBN VBP VBZ",
}
_UNIVERSAL_OF = {penn: universal for universal, tags in _UNIVERSAL.items() for penn in tags.split()}


@dataclass(frozen=True)
class TagCRFOptions(NgramCRFOptions):
    """What the chains look at, and how they learn."""

    clitics: Literal["split"] = "split"
    """Text with parts of speech is always split: "do" and "n't" have their own."""
    window_words: int = 5
    order: int = 1
    """The longest n-grams of words."""
    tag_order: int = 3
    """The longest n-grams of parts of speech, for chunks."""
    affix: int = 4
    """Letters of a word's beginning and ending, at most."""
    near_affix: int = 3
    """Letters of its neighbours' endings, at most."""
    joined: int = 200
    """Documents are joined to training texts of so many words at least."""
    least: int = 1
    sequence: int = 40
    """Words of a training sequence, at most: some sentences, cut anywhere; features look beyond its ends."""
    algorithm: Literal["lbfgs", "l2sgd", "ap", "pa", "arow"] = "l2sgd"
    """The first two give real probabilities; the second needs fewer passes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.affix < 0 or self.near_affix < 0:
            raise ValueError("affix and near_affix must not be negative")
        if not 1 <= self.tag_order <= self.window_words:
            raise ValueError(f"tag_order {self.tag_order} must be at least 1 and at most window_words")
        if self.joined < 1:
            raise ValueError("joined must be at least 1")


class TagCRF(NgramCRF):
    """A linear chain per task over words, their spelling and, for chunks, their parts of speech."""

    TYPE: ClassVar[str] = "tag_crf"
    OPTIONS: ClassVar[Any] = TagCRFOptions

    @classmethod
    def create(cls, *, labels: Mapping[str, tuple[str, ...]], **others: Any) -> Self:
        """Make an untrained model; tasks are learned in their order, and chunks need the parts of speech."""
        return super().create(labels={task: labels[task] for task in sorted(labels, key=CHUNK.__eq__)}, **others)

    def encode(self, documents: Iterable[Transcript | Tagged]) -> EncodedTexts:
        """Encode documents with the model's own labels, short ones joined; every word is kept."""
        return super().encode(joined_documents(documents, words=self.options.joined))

    def features(self, task: str, window: Features, best: Mapping[str, Ints]) -> Iterator[list[str]]:
        """Yield what a task's chain sees of each word; parts of speech are found for chunks, not looked up.

        So a chunker learns from tags as it will meet them, though with fewer mistakes: the tagger has read this text.
        """
        texts = window.texts
        if task != CHUNK or POS not in self.chains:
            return tag_features(texts, options=self.options)
        found = best.get(POS)
        if found is None:  # in training, where each task is learned by itself
            _, found = self.chains[POS].read(tag_features(texts, options=self.options), len(texts))
        pos = [self.labels[POS][place] for place in found]
        return tag_features(texts, pos, options=self.options)


def tag_features(
    texts: Sequence[str], pos: Sequence[str] | None = None, *, options: TagCRFOptions | None = None
) -> Iterator[list[str]]:
    """Yield each word's features; an n-gram of words or tags has its places before it.

    >>> first, last = tag_features(["the", "Cat!"], options=TagCRFOptions(window_words=3, affix=2, near_affix=1))
    >>> first
    ['-1=<s>', '0=the', '1=cat', 'b1=t', 'b2=th', 'e1=e', 'e2=he', '~=a', '-1e1=<s>', '1e1=t']
    """
    chosen = options or TagCRFOptions()
    low = [normalise(text).rstrip(_MARKS)[:_LONGEST_WORD] for text in texts]
    spelt = [_spelling(text, chosen.affix) for text in low]
    reach = chosen.window_words // 2
    padded = [BEGIN] * reach + low + [END] * reach
    tags = None if pos is None else list(ngrams(pos, window_words=chosen.window_words, order=chosen.tag_order))
    for place, found in enumerate(ngrams(low, window_words=chosen.window_words, order=chosen.order)):
        found += spelt[place]
        for offset in range(-reach, reach + 1):
            if offset:
                near = padded[place + reach + offset]
                found += (f"{offset}{end}" for end in _endings(near, chosen.near_affix))
        if tags is not None:
            found += ("p" + tag for tag in tags[place])
        yield found


def _spelling(text: str, longest: int) -> list[str]:
    """Return a word's beginnings and endings and its shape: digits, hyphens and apostrophes between runs of letters."""
    beginnings = [f"b{size}={text[:size]}" for size in range(1, min(longest, len(text)) + 1)]
    return [*beginnings, *_endings(text, longest), f"~={_LETTERS.sub('a', text)}"]


def _endings(text: str, longest: int) -> list[str]:
    if text in (BEGIN, END):
        return [f"e1={text}"] if longest else []
    return [f"e{size}={text[-size:]}" for size in range(1, min(longest, len(text)) + 1)]


def joined_documents(documents: Iterable[Transcript | Tagged], *, words: int) -> Iterator[Tagged]:
    """Join documents that follow one another until each has so many words; nothing tells where one ended.

    Only those are joined that teach the same tasks. A last one that stays shorter is joined to the one before it.
    """
    waiting: list[Tagged] = []
    ready: Tagged | None = None
    for document in documents:
        tagged = document if isinstance(document, Tagged) else Tagged(document)
        if waiting and set(waiting[0].tags) != set(tagged.tags):
            yield from _left_over(ready, waiting)
            ready, waiting = None, []
        waiting.append(tagged)
        if sum(len(one.transcript.words) for one in waiting) >= words:
            if ready is not None:
                yield ready
            ready, waiting = _joined(waiting), []
    yield from _left_over(ready, waiting)


def _left_over(ready: Tagged | None, waiting: list[Tagged]) -> Iterator[Tagged]:
    if ready is not None and waiting and set(ready.tags) != set(waiting[0].tags):
        yield ready
        ready = None
    if ready is not None or waiting:
        yield _joined([*([] if ready is None else [ready]), *waiting])


def _joined(documents: Sequence[Tagged]) -> Tagged:
    if len(documents) == 1:
        return documents[0]
    words = tuple(word for document in documents for word in document.transcript.words)
    tags = {task: [*chain.from_iterable(document.tags[task] for document in documents)] for task in documents[0].tags}
    return Tagged(replace(documents[0].transcript, words=words), tags)


def tagged_documents(sentences: Iterable[TaggedSentence], *, universal: bool = False) -> Iterator[Tagged]:
    """Make sentences what a tagger learns from: lower case, without punctuation, with IOBES chunks where known.

    Parts of speech are Penn's, or on request the universal ones that they belong to.
    """
    for sentence in sentences:
        spoken = sentence.spoken()
        kept = [bool(normalise(word)) for word in spoken.words]
        words = [word for word, keep in zip(spoken.words, kept, strict=True) if keep]
        # GUM tells the preposition "to" from the infinitive's, the Penn treebank does not.
        pos: list[str | None] = [
            "TO" if word == "to" and tag == "IN" else tag
            for word, tag, keep in zip(spoken.words, spoken.pos, kept, strict=True)
            if keep
        ]
        tags: dict[str, Sequence[str | None]] = {POS: [universal_pos(tag) for tag in pos if tag] if universal else pos}
        if spoken.chunks is not None:
            tags[CHUNK] = to_iobes(spoken.chunks, kept)
        if words:
            yield Tagged(Transcript(tuple(map(Word, words)), sentence.document), tags)


def universal_pos(penn: str) -> str:
    """Return the universal part of speech (the set of twelve) that a Penn one belongs to; X for the rest.

    >>> universal_pos("VBZ"), universal_pos("PRP$"), universal_pos("UH")
    ('VERB', 'PRON', 'X')
    """
    return _UNIVERSAL_OF.get(penn, "X")


class Span(NamedTuple):
    """A chunk: words `begin` up to, not including, `stop`."""

    begin: int
    stop: int
    kind: str


def to_iobes(chunks: Sequence[str], kept: Sequence[bool] | None = None) -> list[str]:
    """Turn IOB chunk tags into IOBES, of all words or of those that are kept; a chunk loses what is left out.

    A tag "I-" that goes on with nothing of its kind begins a chunk.

    >>> to_iobes(["B-NP", "B-NP", "I-NP", "I-NP", "O"])
    ['S-NP', 'B-NP', 'I-NP', 'E-NP', 'O']
    >>> to_iobes(["B-NP", "B-NP", "I-NP", "I-NP"], [True, False, True, True])
    ['S-NP', 'B-NP', 'E-NP']
    """
    stays = [True] * len(chunks) if kept is None else kept
    place = 0
    places = []  # of each word among those that are kept
    for keep in stays:
        places.append(place)
        place += keep
    tags = ["O"] * place
    for span in chunk_spans(chunks):
        rows = [places[word] for word in range(span.begin, span.stop) if stays[word]]
        for number, row in enumerate(rows):
            first, last = number == 0, number == len(rows) - 1
            letter = "S" if first and last else "B" if first else "E" if last else "I"
            tags[row] = f"{letter}-{span.kind}"
    return tags


def chunk_spans(tags: Iterable[str]) -> list[Span]:
    """Read the chunks from IOB or IOBES tags; one that is not begun or not ended properly is read as far as it goes.

    >>> chunk_spans(["S-NP", "B-VP", "E-VP", "O", "I-NP"])
    [Span(begin=0, stop=1, kind='NP'), Span(begin=1, stop=3, kind='VP'), Span(begin=4, stop=5, kind='NP')]
    """
    spans: list[Span] = []
    is_open = False
    for place, tag in enumerate(tags):
        letter, _, kind = tag.partition("-")
        if letter == "O":
            is_open = False
            continue
        if is_open and letter in "IE" and spans[-1].kind == kind:
            spans[-1] = spans[-1]._replace(stop=place + 1)
        else:
            spans.append(Span(place, place + 1, kind))
        is_open = letter in "BI"
    return spans
