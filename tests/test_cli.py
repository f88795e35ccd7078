from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import SAMPLES
from interpunct.cli import main

TALK = Path(__file__).parents[1] / "examples" / "talk.json"


class Result:
    """What a call of the command printed and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


class Command:
    """Runs the command in this process, as `interpunct ARGUMENTS`."""

    def __init__(self, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        self.capture = capfdbinary

    def __call__(self, *arguments: object) -> Result:
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        out, err = self.capture.readouterr()
        return Result(int(caught.value.code or 0), out.decode(), err.decode())


@pytest.fixture
def interpunct(capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    return Command(capfdbinary)


def test_restore_prints_text_to_stdout(interpunct: Command) -> None:
    got = interpunct("restore", TALK, "--to", "txt")
    assert (got.code, got.err) == (0, "")
    assert got.out.startswith("Good morning")
    assert "New York" in got.out
    assert got.out.count("\n") == 1


def test_restore_keeps_the_inputs_format_without_to(interpunct: Command) -> None:
    got = interpunct("restore", TALK)
    before, after = json.loads(TALK.read_text()), json.loads(got.out)
    assert [w["word"].lower().rstrip(".,?!:;") for w in after["result"]] == [w["word"] for w in before["result"]]
    assert [(w["start"], w["end"]) for w in after["result"]] == [(w["start"], w["end"]) for w in before["result"]]


def test_restore_lines_writes_a_sentence_a_line(interpunct: Command) -> None:
    lines = interpunct("restore", TALK, "--to", "plain", "--lines").out.splitlines()
    assert len(lines) > 4
    assert all(line[-1] in ".?!" for line in lines)


def test_restore_json_has_the_promised_shape(interpunct: Command) -> None:
    got = json.loads(interpunct("restore", TALK, "--to", "json").out)
    assert got["interpunct"] == 1
    assert got["model"].startswith("default ")
    assert got["source"] == "talk.json"
    first = got["words"][0]
    assert set(first) == {
        "text", "raw", "start", "end", "confidence", "mark", "mark_confidence", "case", "case_confidence",
    }  # fmt: skip
    assert (first["text"], first["raw"], first["case"]) == ("Good", "good", "sentence")
    sentence = got["sentences"][-1]
    assert sentence["last"] == len(got["words"]) - 1
    assert sentence["end"] == got["words"][-1]["end"]


def test_restore_reads_standard_input_as_plain_text() -> None:
    for arguments in (["restore"], ["restore", "-"]):
        done = subprocess.run(
            [sys.executable, "-m", "interpunct", *arguments], input=b"so how are you", capture_output=True, check=True
        )
        assert done.stdout == b"So how are you?\n"
        assert done.stderr == b""


def test_restore_says_what_standard_input_seems_to_be() -> None:
    cue = b"1\n00:00:00,000 --> 00:00:02,500\nhello everyone\n"
    for arguments, said in (
        ([], b"if it is srt, say --from srt\n"),
        (["--from", "srt"], b""),
        (["--from", "txt"], b""),
    ):
        call = [sys.executable, "-m", "interpunct", "restore", *arguments]
        done = subprocess.run(call, input=cue, capture_output=True, check=True)
        assert done.stderr.endswith(said)
        assert bool(done.stderr) == bool(said)


def test_restore_writes_a_file(interpunct: Command, tmp_path: Path) -> None:
    got = interpunct("restore", TALK, "--to", "srt", "-o", tmp_path / "out.srt")
    assert (got.code, got.out) == (0, "")
    assert (tmp_path / "out.srt").read_text().startswith("1\n00:00:00,320 --> ")


def test_restore_of_a_folder_writes_the_good_ones_and_names_the_bad(interpunct: Command, tmp_path: Path) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "a.txt").write_text("so how are you")
    (inside / "b.ctm").write_text("talk A 0.0 0.5 hello\ntalk A 0.5 -0.1 world\ntalk A 1.0 0.5 again\n")
    (inside / "c.txt").write_bytes(b"caf\xe9")
    (inside / "d.json").write_text('{"result": [{"word": "so", "start": 1')
    (inside / "e.txt").write_text("")
    got = interpunct("restore", inside, "-o", tmp_path / "out")
    assert got.code == 1
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.txt", "e.txt"]
    assert (tmp_path / "out" / "a.txt").read_text() == "So how are you?\n"
    errors = got.err.splitlines()
    assert len(errors) == 3
    assert errors[0].startswith(f"interpunct: error: {inside / 'b.ctm'}:2: ")
    assert "not UTF-8 at byte 3; use --encoding" in errors[1]
    assert errors[2].startswith(f"interpunct: error: {inside / 'd.json'}:1: ")


def test_restore_takes_globs_and_several_jobs(interpunct: Command, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.txt").write_text("so how are you")
    got = interpunct("restore", tmp_path / "*.txt", "-o", tmp_path / "out", "--jobs", 2, "--threads", 1)
    assert (got.code, got.err) == (0, "")
    assert [path.read_text() for path in sorted((tmp_path / "out").iterdir())] == ["So how are you?\n"] * 3


def test_restore_of_several_documents_prints_an_object_a_line(interpunct: Command) -> None:
    rows = interpunct("restore", SAMPLES / "ctm.ctm", "--to", "json").out.splitlines()
    assert len(rows) > 1
    assert all(json.loads(row)["interpunct"] == 1 for row in rows)


def test_restore_of_a_folder_of_nothing_goes_on_with_the_others(interpunct: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").write_text("so how are you")
    got = interpunct("restore", tmp_path / "empty", tmp_path / "a.txt")
    assert (got.code, got.out) == (1, "So how are you?\n")
    assert f"{tmp_path / 'empty'}: a folder, not a file" in got.err


def test_restore_of_several_documents_into_a_folder_of_subtitles(interpunct: Command, tmp_path: Path) -> None:
    got = interpunct("restore", SAMPLES / "ctm.ctm", "--to", "srt", "-o", f"{tmp_path}/out/")
    assert got.code == 0
    names = sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "out").rglob("*.srt"))
    assert names[:2] == ["out/ctm/1.srt", "out/ctm/2.srt"]
    alone = interpunct("restore", SAMPLES / "ctm.ctm", "--to", "srt")
    assert alone.code == 1
    assert "holds one document" in alone.err


def test_restore_chooses_the_format_of_the_outputs_extension(interpunct: Command, tmp_path: Path) -> None:
    interpunct("restore", TALK, "-o", tmp_path / "talk.vtt")
    assert (tmp_path / "talk.vtt").read_text().startswith("WEBVTT")
    interpunct("restore", TALK, "-o", tmp_path / "talk.json")
    assert "result" in json.loads((tmp_path / "talk.json").read_text())


def test_restore_of_a_folder_with_one_file_writes_a_folder(interpunct: Command, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("so how are you")
    interpunct("restore", tmp_path / "in", "-o", tmp_path / "out")
    assert (tmp_path / "out" / "a.txt").read_text() == "So how are you?\n"


def test_restore_refuses_several_inputs_for_a_file(interpunct: Command, tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("precious")
    got = interpunct("restore", TALK, SAMPLES / "vosk.json", "-o", tmp_path / "out.txt")
    assert got.code == 2
    assert (tmp_path / "out.txt").read_text() == "precious"


def test_restore_refuses_two_inputs_for_one_output(interpunct: Command, tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_text("hello")
    for more in ([], ["--to", "json"]):
        got = interpunct("restore", tmp_path / "x", tmp_path / "y", *more, "-o", tmp_path / "out")
        assert got.code == 2
        assert "would both be written" in got.err
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["restore", "nowhere.txt"], 1, "nowhere.txt: no such file"),
        (["restore", "--to", "strt"], 2, "'strt' is not one of"),
        (["restore", "--model", "defualt", TALK], 2, "did you mean 'default'"),
        (["restore", "--threshold", "comma", TALK], 2, "is not MARK=NUMBER"),
        (["restore", "--threshold", "%=0.5", TALK], 2, "no mark '%'"),
        (["restore", "--scale", "none=0", TALK], 2, "use a factor from 1e-06 to 1e+06"),
        (["restore", "--scale", "none=1e300", TALK], 2, "use a factor from 1e-06 to 1e+06"),
        (["restore", "--existing", "burn", TALK], 2, "'burn' is not one of"),
        (["restore", "--cue-line", "0", TALK], 2, "line_characters"),
        (["restore", TALK, "--to", "aws"], 2, "can be read but not written"),
        (["restore", TALK, "-o", "no/such/folder/x.json"], 1, "cannot be written"),
        (["convert", TALK, "-o", "x.xyz"], 2, "no format has the extension"),
        (["restore", TALK, "--encoding", "latin-99"], 2, "unknown encoding"),
        (["restore", TALK, "-o", ""], 2, "the output has no name"),
        (["restore", ""], 2, "an input has no name"),
        (["restore", TALK, TALK, "-o", "both.txt"], 2, "cannot go into one file"),
        (["restore", "x" * 300], 1, "cannot be read"),
        (["evaluate", "--reference", "nowhere", "--hypothesis", TALK], 2, "no such file"),
        (["evaluate", "--reference", TALK, "--hypothesis", TALK, "--metric", "f"], 2, "unknown metric"),
        (["frobnicate"], 2, "No such command"),
        (["train", "nowhere.toml", "-o", "x"], 2, "nowhere.toml: no such file"),
        (["export", "nowhere", "-o", "x"], 2, "no model.json"),
    ],
)
def test_a_wrong_call_is_one_clear_line(
    interpunct: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    got = interpunct(*arguments)
    assert got.code == code
    assert message in got.err
    assert got.err.startswith("interpunct: error: ")
    assert got.err.count("\n") == 1
    assert "Traceback" not in got.err
    assert got.out == ""


def test_debug_shows_where_an_error_came_from(interpunct: Command) -> None:
    assert "Traceback" in interpunct("--debug", "restore", "nowhere.txt").err


def test_convert_restores_nothing_and_keeps_cues(interpunct: Command, tmp_path: Path) -> None:
    got = interpunct("convert", SAMPLES / "srt.srt", "-o", tmp_path / "x.vtt")
    assert got.code == 0
    shown = [line[:12] for line in (tmp_path / "x.vtt").read_text().splitlines() if "-->" in line]
    assert shown == ["00:00:01.200", "00:00:03.900", "00:00:05.000", "00:00:06.500", "00:00:11.040"]
    got = interpunct("convert", SAMPLES / "srt.srt", "--to", "plain")
    assert got.out


def test_restore_leaves_already_marked_text_alone_when_told(interpunct: Command, tmp_path: Path) -> None:
    text = "Hello, WORLD! It's 4,754 -- or 3.5, i.e. nothing?! U.S. e-mail @me."
    (tmp_path / "x.txt").write_text(text)
    assert interpunct("restore", tmp_path / "x.txt", "--existing", "keep").out == text + "\n"


def test_restore_refuses_to_lose_a_result_to_another_of_its_name(interpunct: Command, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "a.md").write_text("two")
    got = interpunct("restore", tmp_path, "-o", tmp_path / "out")
    assert got.code == 2
    assert "would both be written" in got.err


def test_restore_writes_through_links_and_into_pipes(interpunct: Command, tmp_path: Path) -> None:
    (tmp_path / "target.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "target.txt")
    interpunct("convert", TALK, "--to", "txt", "-o", tmp_path / "link.txt")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "target.txt").read_text().startswith("good morning")
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=subprocess.PIPE)
    interpunct("convert", TALK, "--to", "txt", "-o", tmp_path / "pipe")
    out, _ = reader.communicate(timeout=20)
    assert out.startswith(b"good morning")
    assert (tmp_path / "pipe").is_fifo()


def test_a_failing_output_does_not_stop_the_others(interpunct: Command, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        (tmp_path / "in" / f"{name}.txt").write_text("hello")
    (tmp_path / "out" / "a.txt").mkdir(parents=True)
    got = interpunct("convert", tmp_path / "in", "-o", tmp_path / "out")
    assert got.code == 1
    assert got.err.count("\n") == 1
    assert "cannot be written" in got.err
    assert (tmp_path / "out" / "b.txt").read_text() == "hello\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "> /dev/full"])
def test_closed_or_full_streams_are_no_traceback(tmp_path: Path, closed: str) -> None:
    (tmp_path / "x.txt").write_text("hello")
    given = "" if closed == "<&-" else f"{tmp_path}/x.txt"
    command = f"{sys.executable} -m interpunct convert {given} {closed}"
    done = subprocess.run(command, shell=True, capture_output=True, check=False, env=os.environ)
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") <= 1
    assert done.returncode == (0 if closed == "2>&-" else 1)
    if closed == "2>&-":
        assert done.stdout == b"hello\n"


def test_restore_takes_a_cut_file_for_what_its_name_says(interpunct: Command, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text('{"res')
    got = interpunct("restore", tmp_path / "talk.json")
    assert got.code == 1
    assert "talk.json:1: broken JSON" in got.err


def test_evaluate_prints_the_promised_json(interpunct: Command, tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("So, how are you? I am fine.")
    (tmp_path / "h.txt").write_text("So how are you? I am fine.")
    got = interpunct("evaluate", "--reference", tmp_path / "r.txt", "--hypothesis", tmp_path / "h.txt", "--json")
    found = json.loads(got.out)
    assert found["metrics"]["prf"]["overall"]["correct"] == 2
    assert found["metrics"]["ser"] == pytest.approx(1 / 3)
    assert set(found["metrics"]["prf"]["comma"]) == {
        "precision", "recall", "f1", "correct", "predicted", "expected", "ci",
    }  # fmt: skip
    assert {"error", "missed", "inserted", "reference"} <= set(found["metrics"]["su_er"])
    assert "classes:4" in found["signature"]


def test_evaluate_prints_a_table_and_compares(interpunct: Command, tmp_path: Path) -> None:
    for name, text in (("r", "So, how are you? I am fine. "), ("h", "So how are you? I am fine. ")):
        (tmp_path / f"{name}.txt").write_text(text * 30)
    (tmp_path / "b.txt").write_text("so how are you i am fine " * 30)
    base = ["evaluate", "--reference", tmp_path / "r.txt", "--hypothesis", tmp_path / "h.txt"]
    table = interpunct(*base, "--baseline", tmp_path / "b.txt", "--metric", "prf", "--metric", "segmentation")
    assert table.code == 0
    assert "overall" in table.out
    assert "version:" in table.out
    found = json.loads(interpunct(*base, "--baseline", tmp_path / "b.txt", "--json").out)["metrics"]["significance"]
    assert found["delta"] == pytest.approx(0.8)
    assert found["p"] < 0.05
    for view in ("csv", "markdown", "latex"):
        assert "overall" in interpunct(*base, "--view", view).out


def test_evaluate_several_references_gives_wisebe(interpunct: Command, tmp_path: Path) -> None:
    (tmp_path / "r1.txt").write_text("yes we did\nit was late\n")
    (tmp_path / "r2.txt").write_text("Yes, we did; it was late.")
    (tmp_path / "h.txt").write_text("yes we did. it was. late")
    both = ["--reference", tmp_path / "r1.txt", "--reference", tmp_path / "r2.txt"]
    got = interpunct(
        "evaluate", *both, "--hypothesis", tmp_path / "h.txt", "--metric", "wisebe", "--window", 1, "--json"
    )
    found = json.loads(got.out)["metrics"]["wisebe"]
    assert found["agreement_ratio"] == 1.0
    assert found["f1_rw"] == pytest.approx(0.5)
    assert len(found["per_reference"]) == 2


def test_restore_takes_an_encoding(interpunct: Command, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes("caf\xe9".encode("latin-1"))
    assert interpunct("restore", tmp_path / "x.txt", "--encoding", "latin-1").out == "Café.\n"
    (tmp_path / "y.txt").write_bytes("café au lait".encode("utf-16"))
    assert interpunct("restore", tmp_path / "y.txt", "--no-marks", "--no-case").out == "café au lait\n"


@pytest.mark.parametrize("name", ["models", "formats", "corpora", "metrics"])
def test_tables_list_what_there_is(interpunct: Command, name: str) -> None:
    got = interpunct(name)
    assert got.code == 0
    assert {"models": "default", "formats": "textgrid", "corpora": "earnings21", "metrics": "wisebe"}[name] in got.out


@pytest.mark.parametrize("command", ["models", "evaluate --reference a.txt --reference b.txt --hypothesis a.txt"])
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_tables_in_a_pipe_are_utf8_whatever_the_locale(command: str, encoding: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("So — we left. Yes.")
    (tmp_path / "b.txt").write_text("So, we left. Yes.")
    program = [sys.executable, "-m", "interpunct", *command.split()]
    environment = os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert any(letter > "\x7f" for letter in done.stdout.decode("utf-8"))


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="this system has no /dev/stdout")
@pytest.mark.parametrize("output", ["/dev/stdout", "/dev/fd/1", "-"])
def test_restore_writes_into_an_open_file_and_not_over_it(output: str, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("hello")
    command = f"(echo before; {sys.executable} -m interpunct convert x.txt --to txt -o {output}; echo after) > log.txt"
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    assert (tmp_path / "log.txt").read_text() == "before\nhello\nafter\n"
    assert {path.name for path in tmp_path.iterdir()} == {"log.txt", "x.txt"}


def test_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("so how are you " * 20_000)
    command = f"{sys.executable} -m interpunct convert {tmp_path}/x.txt | head -c 10"
    done = subprocess.run(command, shell=True, capture_output=True, check=True, env=os.environ)
    assert done.stdout == b"so how are"
    assert b"Traceback" not in done.stderr


def test_restore_takes_a_million_words_on_one_line_without_choking(interpunct: Command, tmp_path: Path) -> None:
    """Reading, marking nothing and writing: the model's part of such a text is in the benchmarks."""
    (tmp_path / "x.txt").write_text("word " * 1_000_000)
    got = interpunct("convert", tmp_path / "x.txt", "-o", tmp_path / "y.txt")
    assert got.code == 0
    assert len((tmp_path / "y.txt").read_text().split()) == 1_000_000
