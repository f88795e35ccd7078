"""GUM and CoNLL-2000: words with Penn parts of speech, and chunks where there are any.

In: `syntax/gum.tsv.xz` and `syntax/conll2000.zip`. Out: `tagged` gives sentences with all their tokens and
tags; the corpora themselves give transcripts (GUM one a document, CoNLL-2000, which has none, one a sentence)
in which punctuation is the mark of the word before it. Clitics stay split ("do" + "n't"), as in the IWSLT
files; quotes and brackets are left out of transcripts.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, groupby
from pathlib import Path

from interpunct.corpora.corpus import TENTHS, Corpus, lines, tenth
from interpunct.errors import InputError, UnknownNameError
from interpunct.labels import parse_words
from interpunct.transcript import Transcript, Word

_BRACKETS_AND_QUOTES = frozenset(("(", ")", "-LRB-", "-RRB-", "``", "''"))
_PUNCTUATION = _BRACKETS_AND_QUOTES | {",", ".", ":", "HYPH", "NFP"}
_JOINING = frozenset("-–/")


@dataclass(frozen=True)
class TaggedSentence:
    """A sentence's tokens, the part of speech of each, and its chunk tags (IOB) where they are known."""

    words: tuple[str, ...]
    pos: tuple[str, ...]
    chunks: tuple[str, ...] | None = None
    document: str = ""

    def spoken(self) -> TaggedSentence:
        """Return the sentence as a tagger meets it behind a recogniser: lower case, no punctuation.

        >>> TaggedSentence(('"', "Yes", "!"), ("``", "UH", "."), ("B-INTJ", "I-INTJ", "O")).spoken()
        TaggedSentence(words=('yes',), pos=('UH',), chunks=('B-INTJ',), document='')
        """
        kept = [index for index, pos in enumerate(self.pos) if pos not in _PUNCTUATION]
        words = tuple(self.words[index].lower() for index in kept)
        pos = tuple(self.pos[index] for index in kept)
        chunks = None if self.chunks is None else tuple(_chunks_of(self.chunks, set(kept)))
        return TaggedSentence(words, pos, chunks, self.document)


def _chunks_of(chunks: tuple[str, ...], kept: set[int]) -> Iterator[str]:
    """Yield the chunk tags of the tokens that are kept; a chunk whose first token is gone begins anew."""
    headless = False
    for index, chunk in enumerate(chunks):
        headless = headless and chunk.startswith("I-")
        if index in kept:
            yield f"B-{chunk[2:]}" if headless else chunk
            headless = False
        elif chunk.startswith("B-"):
            headless = True


def tagged(root: Path, corpus: str, split: str) -> Iterator[TaggedSentence]:
    """Yield the sentences of a split of "gum" or "conll2000" with all their tokens."""
    readers = {"gum": _gum, "conll2000": _conll2000}
    if corpus not in readers:
        raise UnknownNameError("corpus with parts of speech", corpus, readers)
    (GUM if corpus == "gum" else CONLL2000).check(split, "ref")
    return readers[corpus](root, split)


def _gum(root: Path, split: str) -> Iterator[TaggedSentence]:
    path = root / "syntax" / "gum.tsv.xz"
    index, document = -1, ""
    sentence: list[list[str]] = []
    for number, line in lines(path):
        columns = line.split("\t")
        if len(columns) == 3:
            sentence.append(columns)
            continue
        if sentence and tenth(index) == split:
            yield _gum_sentence(sentence, document)
        sentence = []
        if line.startswith("# doc "):
            index, document = index + 1, line.removeprefix("# doc ").strip()
        elif line and not line.startswith("#"):
            what = "not a word; write: word TAB universal part of speech TAB Penn part of speech"
            raise InputError(what, path=str(path), line=number)
    if sentence and tenth(index) == split:
        yield _gum_sentence(sentence, document)


def _gum_sentence(rows: list[list[str]], document: str) -> TaggedSentence:
    words, _, pos = zip(*rows, strict=True)
    return TaggedSentence(words, pos, None, document)


def _conll2000(root: Path, split: str) -> Iterator[TaggedSentence]:
    path = root / "syntax" / "conll2000.zip"
    member = f"conll2000/{split}.txt"
    sentence: list[list[str]] = []
    count = 0
    for number, line in _member_lines(path, member):
        columns = line.split()
        if len(columns) == 3:
            sentence.append(columns)
            continue
        if columns:
            what = f"{member}: not a word; write: word, part of speech, chunk"
            raise InputError(what, path=str(path), line=number)
        if sentence:
            yield _conll2000_sentence(sentence, f"conll2000/{split}/{count}")
            count += 1
        sentence = []
    if sentence:
        yield _conll2000_sentence(sentence, f"conll2000/{split}/{count}")


def _conll2000_sentence(rows: list[list[str]], document: str) -> TaggedSentence:
    words, pos, chunks = zip(*rows, strict=True)
    return TaggedSentence(words, pos, chunks, document)


def _member_lines(path: Path, member: str) -> Iterator[tuple[int, str]]:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as file:
            yield from enumerate(io.TextIOWrapper(file, encoding="utf-8"), start=1)
    except FileNotFoundError:
        raise InputError("no such file; check INTERPUNCT_DATA", path=str(path)) from None
    except (zipfile.BadZipFile, KeyError) as error:
        raise InputError(f"no good archive ({error}); fetch it again", path=str(path)) from None


def read(corpus: str, root: Path, split: str, _track: str) -> Iterator[Transcript]:
    """Read the documents of a split as transcripts."""
    for document, sentences in groupby(tagged(root, corpus, split), key=lambda sentence: sentence.document):
        tokens = (Word(token) for sentence in sentences for token in _tokens(sentence))
        yield Transcript(tuple(parse_words(tokens)), document)


def tagged_transcripts(root: Path, corpus: str, split: str) -> Iterator[tuple[Transcript, tuple[str, ...]]]:
    """Yield documents with the part of speech of each of their words."""
    for document, sentences in groupby(tagged(root, corpus, split), key=lambda sentence: sentence.document):
        spoken = [sentence.spoken() for sentence in sentences]
        ends = {place - 1 for place in accumulate(len(sentence.words) for sentence in spoken)}
        texts = [word for sentence in spoken for word in sentence.words]
        words = tuple(Word(text, mark="." if place in ends else None) for place, text in enumerate(texts))
        yield Transcript(words, document), tuple(pos for sentence in spoken for pos in sentence.pos)


def _tokens(sentence: TaggedSentence) -> Iterable[str]:
    """Return the tokens that are words or marks; what a hyphen or a slash joins is one token."""
    tokens: list[str] = []
    glue = False
    for word, pos in zip(sentence.words, sentence.pos, strict=True):
        joining = pos == "HYPH" or (pos == "SYM" and word in _JOINING)
        if pos in _BRACKETS_AND_QUOTES:
            continue
        if tokens and (glue or joining):
            tokens[-1] += word
        elif not joining:
            tokens.append(word)
        glue = joining
    return tokens


GUM = Corpus(
    name="gum",
    summary="mixed genres with universal and Penn parts of speech",
    licence="CC BY",
    words="166k",
    splits=TENTHS,
    read=partial(read, "gum"),
)
CONLL2000 = Corpus(
    name="conll2000",
    summary="newspaper sentences with Penn parts of speech and chunks",
    licence="none stated; shared task data from the Wall Street Journal",
    words="259k",
    splits=("train", "test"),
    read=partial(read, "conll2000"),
    noncommercial=True,
)
