from __future__ import annotations

import json
import lzma
import zipfile
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import pytest

from interpunct import corpora, formats
from interpunct.cases import CASES
from interpunct.corpora import earnings21, iwslt, syntax
from interpunct.corpora.recordings import AUDIO, with_times
from interpunct.errors import InputError, UnknownNameError
from interpunct.labels import MARKS
from interpunct.train import specs
from interpunct.transcript import Transcript, Word

DATA = Path(__file__).parents[2] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the corpora are not here: no ../shared/data")

DOCUMENTS = 12
SPOKEN = [
    "changelog",
    "scotus",
    "bitcoin_transcripts",
    "ontario_hansard",
    "presidential_speeches",
    "qmsum_meetings",
]
BOOKS = ["novels", "gutenberg"]
UNTAGGED = {("debater", "asr")} | {("earnings21", track) for track in earnings21.BARE}


def write_jsonl(path: Path, documents: Iterable[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with lzma.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(document) + "\n" for document in documents)


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".xz":
        path.write_bytes(lzma.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")


def make_talks(root: Path) -> None:
    for number, split in enumerate(("train", "dev", "test", "extra")):
        talks = [
            {
                "id": str(100 * number + k),
                "title": "A title",
                "paragraphs": ["Well--yes,", "it works. (Laughter)"],
            }
            for k in range(2)
        ]
        write_jsonl(root / "iwslt" / f"{split}.jsonl.xz", talks)
    for split in ("dev2012", "test2011", "test2011asr"):
        write_text(root / "iwslt" / split, "so\tCOMMA\nit\tO\nworks\tPERIOD\n")
    debates = [
        {"id": f"debate {k:02}", "turns": [["ANNA", "Is it so?"], ["BEN", "-- It is."]]} for k in reversed(range(20))
    ]
    write_jsonl(root / "iq2" / "debates.jsonl.xz", debates)


def make_prose(root: Path) -> None:
    for name in SPOKEN + BOOKS:
        documents = (f"CHAPTER {k}\nTurn {k} begins,\nand it ends.\n" for k in range(DOCUMENTS))
        write_text(root / ("spoken" if name in SPOKEN else "books") / f"{name}.txt.xz", "\n\n".join(documents))


def make_timed(root: Path) -> None:
    bare = [["and", 2.0, 2.1], ["fseven", 2.1, 2.3], ["too.", 2.3, 2.5]]
    cased = [["Yes,", 0.5, 0.9], ["we", 1.0, 1.2], ["do.", 1.2, 1.5]]
    segments = [
        {"speaker": "B", "start": 2.0, "cased": False, "words": bare},
        {"speaker": "A", "start": 0.5, "cased": True, "words": cased},
    ]
    meetings = [{"id": f"meeting{k}", "segments": segments} for k in range(DOCUMENTS)]
    write_jsonl(root / "timed" / "icsi.jsonl.xz", meetings)

    known = [
        ["Good", 0.25, 0.5, "0"],
        ["day,", 0.5, 0.75, "0"],
        ["<crosstalk>…", 0.75, 0.8, "1"],
        ["all.", 1.0, 1.2, "1"],
    ]
    missing = [["Good", None, None, "0"], ["day,", 0.5, 0.75, "0"], ["all.", None, None, "1"]]
    calls = [{"id": f"call{k}", "words": missing if k in (10, 11) else known} for k in range(DOCUMENTS)]
    write_jsonl(root / "timed" / "earnings22.jsonl.xz", calls)

    ref = [
        ["Mr", ".", "UC", "0", 0.5, 0.6],
        ["Gray", ",", "UC", "0", None, None],
        ["well", "-", "LC", "1", 1.5, 1.75],
    ]
    hyps = {track: [["Gray", ".", 0.5, 0.6], ["Well", "", 1.5, 1.75]] for track in earnings21.TAGGING}
    hyps |= {track: [["GRAY", "", 0.5, 0.6], ["WELL", "", None, None]] for track in earnings21.BARE}
    write_jsonl(root / "timed" / "earnings21.jsonl.xz", ({"id": f"c{k}", "ref": ref, "hyps": hyps} for k in range(2)))

    speech = {
        "ref": [["We", 0.5, 0.75], ["should.", None, None]],
        "asr": [["we", 0.5, 0.75], ["should", 0.75, 1.0]],
    }
    write_jsonl(root / "timed" / "debater.jsonl.xz", ({"id": f"speech{k}"} | speech for k in range(DOCUMENTS)))


def make_audio(root: Path) -> None:
    for k in range(DOCUMENTS):
        write_text(root / "audio" / "esic" / f"dev_{k:02}.txt", "Madam President, we agree.")
        (root / "audio" / "esic" / f"dev_{k:02}.opus").touch()
        write_text(root / "audio" / "ljspeech" / f"LJ{k:02}.opus", "")
    rows = (f"LJ{k:02}\tThe reader, in the end,\n" for k in range(DOCUMENTS))
    write_text(root / "audio" / "ljspeech" / "transcripts.tsv", "".join(rows))


def make_syntax(root: Path) -> None:
    first = [
        "He PRON PRP",
        "did AUX VBD",
        "n't PART RB",
        ", PUNCT ,",
        "co ADJ JJ",
        "- PUNCT HYPH",
        "own VERB VB",
    ]
    first += ["# SYM SYM", '" PUNCT ``', "it PRON PRP", ". PUNCT ."]
    rows = "\n".join([*first, "", "Yes INTJ UH", "! PUNCT .", "", ""]).replace(" ", "\t")
    documents = (f"# doc made_{k}\n{rows}" for k in range(DOCUMENTS))
    write_text(root / "syntax" / "gum.tsv.xz", "# a header\n" + "".join(documents))
    tokens = ["`` `` B-NP", "Rates NNS I-NP", "fell VBD B-VP", ", , O", "Mr. NNP B-NP", "Gray NNP I-NP"]
    sentence = "\n".join([*tokens, "said VBD B-VP", ". . O", "", ""])
    with zipfile.ZipFile(root / "syntax" / "conll2000.zip", "w") as archive:
        archive.writestr("conll2000/train.txt", sentence * 3)
        archive.writestr("conll2000/test.txt", sentence * 2)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder in the layout of the real one, with a few sentences of ours in each corpus."""
    root = tmp_path_factory.mktemp("data")
    for make in (make_talks, make_prose, make_timed, make_audio, make_syntax):
        make(root)
    return root


@pytest.fixture(params=["made", pytest.param("real", marks=needs_data)])
def root(request: pytest.FixtureRequest, made: Path) -> Path:
    return made if request.param == "made" else DATA


def read_all(root: Path, name: str, *, track: str | None = None) -> dict[str, list[Transcript]]:
    return {split: list(corpora.read(name, split, root=root, track=track)) for split in corpora.named(name).splits}


def tagged_as_promised(transcript: Transcript, *, untagged: bool) -> bool:
    known = all(
        (word.mark is None or word.mark in MARKS) and (word.case is None or word.case in CASES)
        for word in transcript.words
    )
    return known and untagged == (set(transcript.marks) == {None})


@pytest.mark.parametrize("name", corpora.CORPORA)
def test_corpus_gives_tagged_words_in_every_split_and_track(made: Path, name: str) -> None:
    corpus = corpora.named(name)
    for track in corpus.tracks:
        seen: list[str] = []
        for transcripts in read_all(made, name, track=track).values():
            assert transcripts
            for transcript in transcripts:
                assert len(transcript)
                assert tagged_as_promised(transcript, untagged=(name, track) in UNTAGGED)
            seen += [transcript.source for transcript in transcripts]
        assert all(seen)
        assert len(seen) == len(set(seen))


@needs_data
@pytest.mark.parametrize("name", corpora.CORPORA)
def test_corpus_opens_in_every_split_and_track(name: str) -> None:
    corpus = corpora.named(name)
    sources: dict[str, set[str]] = {track: set() for track in corpus.tracks}
    for split in corpus.splits:
        for track in corpus.tracks:
            first = next(corpora.read(name, split, root=DATA, track=track))
            assert first.source not in sources[track]
            sources[track].add(first.source)
            assert len(first)
            assert tagged_as_promised(first, untagged=(name, track) in UNTAGGED)
            timed = corpus.timed and track not in ("microsoft", "rev_espnet")
            assert any(word.start is not None for word in first.words) == timed


@pytest.mark.parametrize("name", corpora.CORPORA)
def test_corpus_describes_itself(name: str) -> None:
    corpus = corpora.named(name)
    assert corpus.name == name
    assert corpus.summary
    assert corpus.licence
    assert corpus.words
    assert corpus.tracks[0] == "ref"
    assert not corpus.noncommercial or "public domain" not in corpus.licence


@pytest.mark.parametrize("name", corpora.CORPORA)
def test_corpus_absent_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"no such file|no transcripts") as caught:
        next(corpora.read(name, corpora.named(name).splits[0], root=tmp_path))
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("name", [*SPOKEN, *BOOKS, "icsi", "earnings22", "debater", "esic", "ljspeech", "gum"])
def test_corpus_is_split_by_tenths(made: Path, name: str) -> None:
    sizes = {split: len(transcripts) for split, transcripts in read_all(made, name).items()}
    assert sizes == {"test": 2, "dev": 2, "train": DOCUMENTS - 4}


def test_shippable_leaves_out_iq2_and_what_is_for_testing() -> None:
    assert {name for name in corpora.CORPORA if not corpora.named(name).shippable} == {"iq2", "earnings21"}


def test_noncommercial_names_the_restricted_corpora() -> None:
    restricted = {name for name in corpora.CORPORA if corpora.named(name).noncommercial}
    assert restricted == {"iwslt", "iq2", "scotus", "debater", "conll2000"}


def test_unknown_corpus_lists_the_known() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean 'icsi'.*known:.*changelog.*scotus"):
        corpora.read("icsy", "train")


def test_unknown_split_lists_the_known() -> None:
    with pytest.raises(UnknownNameError, match=r"split of iwslt 'tran'.*known: dev, dev2012, extra, test,.*train"):
        corpora.read("iwslt", "tran")


def test_unknown_track_lists_the_known() -> None:
    with pytest.raises(UnknownNameError, match=r"track of debater 'asrr'.*known: asr, ref"):
        corpora.read("debater", "train", track="asrr")


def test_data_root_is_the_environment_variable_if_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERPUNCT_DATA", str(tmp_path))
    assert corpora.data_root() == tmp_path
    monkeypatch.setenv("INTERPUNCT_DATA", str(tmp_path / "absent"))
    with pytest.raises(InputError, match="absent; set INTERPUNCT_DATA"):
        corpora.data_root()


def test_data_root_is_beside_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shared" / "data").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    monkeypatch.delenv("INTERPUNCT_DATA", raising=False)
    monkeypatch.chdir(tmp_path / "here")
    assert corpora.data_root().resolve() == tmp_path / "shared" / "data"


def test_read_finds_the_data_folder_by_itself(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERPUNCT_DATA", str(made))
    assert [transcript.source for transcript in corpora.read("iwslt", "train")] == ["0", "1"]


def test_iwslt_joins_a_talks_paragraphs_without_its_title(made: Path) -> None:
    talk = next(corpora.read("iwslt", "train", root=made))
    assert [(word.text, word.mark) for word in talk.words] == [
        ("Well", "—"),
        ("yes", ","),
        ("it", ""),
        ("works", "."),
    ]


def test_iwslt_tagged_files_are_one_sequence(made: Path) -> None:
    (sequence,) = corpora.read("iwslt", "test2011", root=made)
    assert sequence.source == "test2011"
    assert sequence.marks == (",", "", ".")
    assert set(sequence.cases) == {None}


@needs_data
def test_iwslt_talks_are_in_one_split_only() -> None:
    names: list[str] = []
    for split in iwslt.CASED:
        with lzma.open(DATA / "iwslt" / f"{split}.jsonl.xz", "rt", encoding="utf-8") as file:
            names += [line[: line.index(",")] for line in file]
    assert all(name.startswith('{"id": "') for name in names)
    assert len(names) == len(set(names)) == 903 + 114 + 8 + 2298


@needs_data
@pytest.mark.parametrize(("split", "count"), [("test2011", 12626), ("test2011asr", 12822)])
def test_iwslt_tagged_files_have_all_their_words(split: str, count: int) -> None:
    (sequence,) = corpora.read("iwslt", split, root=DATA)
    assert len(sequence) == count


def test_iq2_is_split_by_debate_in_the_order_of_ids(made: Path) -> None:
    found = read_all(made, "iq2")
    names = {split: sorted(debate.source for debate in debates) for split, debates in found.items()}
    assert names["train"] == [f"debate {k:02}" for k in range(12)]
    assert names["dev"] == ["debate 12", "debate 13"]
    assert names["test"] == [f"debate {k:02}" for k in range(14, 20)]


def test_iq2_words_have_speakers(made: Path) -> None:
    debate = next(corpora.read("iq2", "test", root=made))
    assert [(word.text, word.mark, word.speaker) for word in debate.words] == [
        ("Is", "", "ANNA"), ("it", "", "ANNA"), ("so", "?", "ANNA"), ("It", "", "BEN"), ("is", ".", "BEN"),
    ]  # fmt: skip


def test_prose_reads_documents_without_headings(made: Path) -> None:
    documents = list(corpora.read("novels", "dev", root=made))
    assert [document.source for document in documents] == ["novels/1", "novels/11"]
    assert [word.text for word in documents[0].words] == ["Turn", "1", "begins", "and", "it", "ends"]
    assert documents[0].marks == ("", "", ",", "", "", ".")


def test_prose_counts_documents_over_many_blank_lines(tmp_path: Path) -> None:
    write_text(tmp_path / "spoken" / "scotus.txt.xz", "\n\nOne.\n\n\n \nTwo.\n\nThree.")
    found = {split: [t.source for t in ts] for split, ts in read_all(tmp_path, "scotus").items()}
    assert found == {"test": ["scotus/0"], "dev": ["scotus/1"], "train": ["scotus/2"]}


def test_prose_reads_no_further_than_it_must(tmp_path: Path) -> None:
    whole = lzma.compress(b"One.\n\nTwo.\n\n" + b"".join(b"Line %d goes on.\n" % k for k in range(20_000)))
    path = tmp_path / "spoken" / "scotus.txt.xz"
    path.parent.mkdir()
    path.write_bytes(whole[: len(whole) // 2])
    documents = corpora.read("scotus", "test", root=tmp_path)
    assert next(documents).source == "scotus/0"
    with pytest.raises(InputError, match=r"scotus\.txt\.xz:\d+: broken xz file"):
        list(corpora.read("scotus", "train", root=tmp_path))


def test_icsi_orders_segments_and_knows_what_is_not_known(made: Path) -> None:
    meeting = next(corpora.read("icsi", "train", root=made))
    assert [(word.text, word.mark, word.case, word.speaker) for word in meeting.words] == [
        ("Yes", ",", "sentence", "A"), ("we", "", "lower", "A"), ("do", ".", "lower", "A"),
        ("and", None, None, "B"), ("fseven", None, None, "B"), ("too", ".", None, "B"),
    ]  # fmt: skip
    assert [(word.start, word.end) for word in meeting.words][:2] == [(0.5, 0.9), (1.0, 1.2)]


def test_earnings22_timed_track_leaves_out_calls_with_few_times(made: Path) -> None:
    assert [call.source for call in corpora.read("earnings22", "test", root=made)] == ["call0", "call10"]
    assert [call.source for call in corpora.read("earnings22", "test", root=made, track="timed")] == ["call0"]


def test_earnings22_leaves_missing_times_missing_and_sounds_out(made: Path) -> None:
    known, missing = corpora.read("earnings22", "dev", root=made)
    assert [(word.text, word.start) for word in known.words] == [("Good", 0.25), ("day", 0.5), ("all", 1.0)]
    assert [word.start for word in missing.words] == [None, 0.5, None]
    assert [word.speaker for word in known.words] == ["0", "0", "1"]


def test_earnings21_reference_takes_marks_and_speakers_from_their_columns(made: Path) -> None:
    call = next(corpora.read("earnings21", "test", root=made))
    assert [(word.text, word.mark, word.case, word.speaker, word.start) for word in call.words] == [
        ("Mr.", "", "sentence", "0", 0.5),
        ("Gray", ",", "sentence", "0", None),
        ("well", "—", "lower", "1", 1.5),
    ]


def test_earnings21_recognisers_have_their_own_marks_or_none(made: Path) -> None:
    tagging = next(corpora.read("earnings21", "test", root=made, track="amazon"))
    bare = next(corpora.read("earnings21", "test", root=made, track="kaldi_librispeech"))
    assert (tagging.marks, tagging.cases) == ((".", ""), ("sentence", "sentence"))
    assert (bare.marks, bare.cases) == ((None, None), (None, None))
    assert [word.text for word in bare.words] == ["GRAY", "WELL"]


def test_debater_tracks_are_reference_and_recogniser(made: Path) -> None:
    reference = next(corpora.read("debater", "test", root=made))
    recognised = next(corpora.read("debater", "test", root=made, track="asr"))
    assert reference.source == recognised.source
    assert [(word.text, word.mark, word.end) for word in reference.words] == [
        ("We", "", 0.75),
        ("should", ".", None),
    ]
    assert recognised.marks == (None, None)


def test_debater_teaches_no_lower_case_since_its_names_have_it(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERPUNCT_DATA", str(made))
    taught = next(specs.read("debater:test"))
    assert (taught.marks, taught.cases) == (("", "."), ("sentence", None))
    assert all(case is not None for case in next(specs.read("iwslt:dev")).cases)


@pytest.mark.parametrize("name", AUDIO)
def test_audio_lies_beside_its_transcript(root: Path, name: str) -> None:
    transcript = next(corpora.read(name, "dev", root=root))
    assert AUDIO[name](root, transcript.source) == root / "audio" / name / f"{transcript.source}.opus"
    with pytest.raises(InputError, match=f"absent.opus: no audio for 'absent'; use .* of {name}"):
        AUDIO[name](root, "absent")


def test_times_are_those_of_a_file_with_the_same_words(tmp_path: Path) -> None:
    given = Transcript((Word("So", mark=","), Word("what", 7.0, 8.0, mark="?")), "talk")
    timed = Transcript((Word("So", 0.5, 0.75), Word("what")), "elsewhere")
    path = tmp_path / "talk.json"
    assert with_times(given, path) == given
    formats.write(timed, path)
    found = with_times(given, path)
    assert found == Transcript((Word("So", 0.5, 0.75, mark=","), Word("what", mark="?")), "talk")
    for other in (given.words[:1], (*given.words[:1], Word("that")), (*given.words, Word("now"))):
        assert with_times(Transcript(other), path) == Transcript(other)


def test_ljspeech_row_without_a_tab_is_named(tmp_path: Path) -> None:
    write_text(tmp_path / "audio" / "ljspeech" / "transcripts.tsv", "LJ1\tOne.\nLJ2 Two.\n")
    with pytest.raises(InputError, match=r"transcripts\.tsv:2: no tab"):
        list(corpora.read("ljspeech", "test", root=tmp_path))


def test_syntax_transcripts_take_punctuation_for_marks(made: Path) -> None:
    document = next(corpora.read("gum", "test", root=made))
    assert document.source == "made_0"
    assert [(word.text, word.mark) for word in document.words] == [
        ("He", ""), ("did", ""), ("n't", ","), ("co-own", ""), ("#", ""), ("it", "."), ("Yes", "!"),
    ]  # fmt: skip
    sentences = list(corpora.read("conll2000", "train", root=made))
    assert [sentence.source for sentence in sentences] == [f"conll2000/train/{k}" for k in range(3)]
    assert sentences[0].marks == ("", ",", "", "", ".")


def test_syntax_tagged_gives_all_tokens_with_their_tags(made: Path) -> None:
    first, second = islice(syntax.tagged(made, "gum", "dev"), 2)
    assert first.words[:4] == ("He", "did", "n't", ",")
    assert first.pos[4:6] == ("JJ", "HYPH")
    assert first.chunks is None
    assert second.words == ("Yes", "!")
    assert len(list(syntax.tagged(made, "conll2000", "test"))) == 2


def test_syntax_spoken_begins_a_chunk_anew_where_its_head_is_gone(made: Path) -> None:
    spoken = next(syntax.tagged(made, "conll2000", "test")).spoken()
    assert spoken.words == ("rates", "fell", "mr.", "gray", "said")
    assert spoken.chunks == ("B-NP", "B-VP", "B-NP", "I-NP", "B-VP")


def test_syntax_tagged_refuses_other_names(made: Path) -> None:
    with pytest.raises(UnknownNameError, match="known: conll2000, gum"):
        syntax.tagged(made, "iwslt", "train")
    with pytest.raises(UnknownNameError, match="known: test, train"):
        syntax.tagged(made, "conll2000", "dev")


@pytest.mark.parametrize(
    ("second", "what"),
    [
        ("{", "not a document of this corpus"),
        ("[]", "not a document of this corpus"),
        ('{"id": "b"}', "KeyError: 'ref'"),
        ('{"id": "b", "ref": [["so", 2.0]]}', "not a document of this corpus"),
        ('{"id": "b", "ref": [["so", "2", "3"]]}', "start '2' is no number"),
        ('{"id": "b", "ref": [["so", 2.0, 1.0]]}', "end 1.0 is before start 2.0"),
        ('{"id": "b", "ref": [["so", NaN, 1.0]]}', "start nan is not a time"),
    ],
)
def test_broken_document_is_named_by_path_and_line(tmp_path: Path, second: str, what: str) -> None:
    write_text(tmp_path / "timed" / "debater.jsonl.xz", '{"id": "a", "ref": [["so", 1.0, 2.0]]}\n' + second + "\n")
    assert len(list(corpora.read("debater", "test", root=tmp_path))) == 1
    with pytest.raises(InputError) as caught:
        list(corpora.read("debater", "dev", root=tmp_path))
    assert "debater.jsonl.xz:2: " in str(caught.value)
    assert what in str(caught.value)


@needs_data
def test_icsi_has_words_without_inner_marks_and_words_with_them() -> None:
    meeting = next(corpora.read("icsi", "test", root=DATA))
    known = sum(mark is not None for mark in meeting.marks)
    assert 0 < known < len(meeting)
    assert all((word.case is None) or (word.mark is not None) for word in meeting.words)
