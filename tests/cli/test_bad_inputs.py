"""Whatever is wrong with what was typed: one sentence that says what to do, exit code 2, and no traceback."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from slackwater_cli.main import REFUSED, run

SMALL = "gen:hour?apps=2"
NOWHERE = ("--prometheus", "http://127.0.0.1:1")
Refusal = Callable[..., str]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder of things that are not what a command wants."""
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir.jsonl").mkdir()
    for name in ("latin.yaml", "latin.csv", "latin.jsonl"):
        (tmp_path / name).write_bytes(b"\xff\xfe\x00bad")
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "bad.yaml").write_text("a: [1\n")
    (tmp_path / "tag.yaml").write_text("a: !!bool maybe\n")
    (tmp_path / "two.yaml").write_text("a: 1\n---\nb: 2\n")
    whole = gzip.compress(bytes(range(256)) * 100)
    (tmp_path / "cut.gz").write_bytes(whole[:10])
    (tmp_path / "cut.bin").write_bytes(whole[:10])  # told by its content, not by its name
    (tmp_path / "corrupt.gz").write_bytes(whole[:40] + b"\xff" * 30 + whole[70:])
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "deep.json").write_text("[" * 200_000)
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


@pytest.fixture
def refusal(files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refusal:
    """What the program says in that folder when it refuses; in this process: its start costs more than all else."""
    monkeypatch.chdir(files)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("KUBECONFIG", str(files / "none"))

    def typed(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["slackwater", *words])
        with pytest.raises(SystemExit) as end:
            run()
        said = capsys.readouterr().err
        assert end.value.code == REFUSED, said
        return said

    return typed


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["simulate", SMALL, "--cluster", "latin.yaml"], "cluster: 'latin.yaml' is not text in UTF-8"),
        (["simulate", SMALL, "--cluster", "two.yaml"], "holds 2 documents"),
        (["simulate", SMALL, "--cluster", "99999999999x16c64Gi"], "cluster: count: '99999999999' is above 1000000"),
        (["simulate", SMALL, "-p", "slackwater", "--report", "bad.yaml"], "'bad.yaml' cannot be made (File exists)"),
        (["simulate", SMALL, "-p", "slackwater", "--report", "/proc/no"], "'/proc/no' cannot be made"),
        (["simulate", SMALL, "--live", "--report", "page"], "leave --report out"),
        (["simulate", SMALL, "--live", "--cluster", "2x4"], "leave --cluster out"),
        (["simulate", SMALL, "-p", "slackwater", "-s", "heartbeat=abc"], "heartbeat: 'abc' is not usable"),
        (["sweep", "latin.yaml"], "sweep: 'latin.yaml' is not text in UTF-8"),
        (["sweep", "bad.yaml"], "is not YAML (line 2, column 1: expected ',' or ']', but got '<stream end>')"),
        (["replay", "cut.gz"], "cut.gz: the compressed data is damaged (Compressed file ended"),
        (["replay", "cut.bin"], "cut.bin: the compressed data is damaged"),
        (["replay", "bad.yaml"], "bad.yaml, line 1: it is no JSON (Expecting value: line 1 column 1"),
        (["replay", "list.json"], "list.json, line 1: it is no round; give a file that the operator wrote"),
        (["replay", "deep.json"], "deep.json, line 1: it is no JSON (too much stands inside of each other)"),
        (["replay", "dir"], "recording: 'dir' cannot be read (Is a directory)"),
        (["simulate", "cut.gz", "--cluster", "2x4"], "cut.gz: the gzip data is damaged (Compressed file ended"),
        (["simulate", "corrupt.gz", "--cluster", "2x4"], "corrupt.gz: the gzip data is damaged (Error -3"),
        (["what-if", "corrupt.gz", "--cluster", "2x4"], "corrupt.gz: the gzip data is damaged (Error -3"),
        (["assess", "--trace", "corrupt.gz"], "corrupt.gz: the gzip data is damaged (Error -3"),
        (["assess", "--trace", "absent.swf"], "--trace: 'absent.swf' cannot be read (No such file"),
        (["assess", "--trace", "dir"], "--trace: 'dir' cannot be read (Is a directory)"),
        (["simulate", "https://example.com/x.swf"], "is an address, and no file; download it first"),
        (["simulate", "pipe", "--cluster", "2x4"], "'pipe' can be read only once; write it into a file first"),
        (["simulate", "LCG-2005.swf.gz"], "this public trace comes by: slackwater traces fetch lcg-2005"),
        (["traces", "fetch", "fb-2009", "--to", "bad.yaml"], "--to: folder 'bad.yaml' cannot be made (File exists)"),
        (["export", "bad.yaml/week.jsonl", *NOWHERE], "FILE: folder 'bad.yaml' cannot be made (File exists)"),
        (["export", "dir.jsonl", *NOWHERE], "FILE: file 'dir.jsonl' cannot be written"),
        (["assess", *NOWHERE], "127.0.0.1:1: it cannot be reached (Connection refused); check host and port"),
        (["assess", "--since", "yesterday"], "--since: 'yesterday' is not a time span; write for example 90m"),
        (["assess", "--label", "pod"], "--label: 'pod' names no label"),
        (["when", "empty.jsonl"], "FILE: it holds no app whose size is written there"),
        (["simulate", SMALL, "-p", "kub"], "policy: 'kub' is not known (did you mean kube?); use one of: admission"),
        (["simulate", SMALL, "--seed", "x"], "'--seed': 'x' is not a whole number"),
        (["simulate", SMALL, "-o", "xml"], "'xml' is not one of 'table', 'wide'"),
        (["reproduce", "001", "--jobs", "0"], "jobs: 0 processes play nothing"),
        (["replay", "empty.jsonl"], "empty.jsonl: it holds no round"),
        (["when", "latin.yaml"], "FILE: 'latin.yaml' is not text in UTF-8"),
        (["when", "bad.yaml"], "is not YAML (line 2, column 1"),
        (["explain", "team/pod", "--kubeconfig", "bad.yaml"], "no usable Kubernetes configuration (line 2, column 1"),
        (
            ["explain", "team/pod", "--kubeconfig", "tag.yaml"],
            "configuration (a value is not what its tag or its form says)",
        ),
        (["demo", "--serve", "--port", "999999"], "'999999' is above 65535"),
        (["demo", "--report", "bad.yaml"], "'bad.yaml' cannot be made (File exists)"),
        (["reproduce", "004", "--report", "bad.yaml"], "'bad.yaml' cannot be made (File exists)"),
        (["risk", "gen:borg", "--report", "bad.yaml/page.html"], "'bad.yaml' cannot be made (File exists)"),
        (["risk", "gen:borg", "--report", "dir"], "--report: file 'dir' cannot be written; name a file"),
        (["risk", "absent.csv"], "series: 'absent.csv' cannot be read"),
    ],
    ids=lambda value: "-".join(value).replace("/", "_") if isinstance(value, list) else "",
)
def test_a_bad_input_is_refused_in_one_sentence(refusal: Refusal, words: list[str], sentence: str) -> None:
    """Before anything is played for it."""
    said = refusal(*words)
    assert sentence in said
    assert "Traceback" not in said
    assert sum(sentence in line for line in said.splitlines()) == 1, "the sentence is one line"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_without_rights_is_refused_before_the_play(refusal: Refusal, files: Path) -> None:
    """The page of a report could not be written into it."""
    (files / "dir").chmod(0o555)
    assert "nothing can be written into folder 'dir'" in refusal("simulate", SMALL, "--report", "dir")
