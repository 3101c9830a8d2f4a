"""The command itself: version, help, clean errors, interruption."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from slackwater import __version__
from slackwater_cluster.extras import EXTRAS, command, lab, remedy
from support.lab.session import until

PROGRAM = (sys.executable, "-c", "from slackwater_cli.main import run; run()")


def slackwater(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program as a user would."""
    return subprocess.run(
        [*PROGRAM, *arguments], capture_output=True, text=True, timeout=60, env=os.environ | environment, check=False
    )


def without(library: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program, where a library is not installed."""
    code = f"import sys; sys.modules[{library!r}] = None; {PROGRAM[2]}"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def worked(pid: int) -> float:
    """CPU seconds of a program and its workers so far."""
    program = psutil.Process(pid)
    return sum(each.cpu_times().user for each in (program, *program.children(recursive=True)))


def test_version() -> None:
    """Name and number."""
    assert slackwater("--version").stdout == f"slackwater {__version__}\n"


def test_help_lists_the_commands() -> None:
    """Each command is a file of its own."""
    shown = slackwater("--help")
    assert shown.returncode == 0
    assert "simulate" in shown.stdout
    assert "sweep" in shown.stdout
    assert shown.stdout.index("Start here") < shown.stdout.index("as it was") < shown.stdout.index("Your cluster now")


def test_help_imports_nothing_heavy() -> None:
    """`--help` is quick because simulator and its libraries are imported when a command runs."""
    heavy = {"numpy", "pyarrow", "joblib", "kubernetes", "asyncio", "yaml"}
    code = f"import sys, slackwater_cli.main; print(*(sys.modules.keys() & {heavy}))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert shown.stdout == "\n"


def test_refusal_is_one_line_and_exit_code_2() -> None:
    """No traceback for what a user can mend."""
    refused = slackwater("simulate", "gen:tetris")
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert refused.stderr.count("\n") == 1
    assert "'tetris' is not known; use one of: gen:admission" in refused.stderr


def test_square_brackets_in_an_error_are_not_markup(tmp_path: Path) -> None:
    """A path such as jobs[1].tsv is shown as it is."""
    refused = slackwater("simulate", str(tmp_path / "jobs[1].tsv"), "--cluster", "1x1")
    assert "jobs[1].tsv" in refused.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("line", [("simulate", "gen:haste?case=a", "-p", "fifo"), ("simulate", "--list")])
def test_what_an_encoding_lacks_is_replaced(encoding: str, line: tuple[str, ...]) -> None:
    """Where there is no UTF-8, a table has question marks instead of some characters."""
    done = subprocess.run(
        [*PROGRAM, *line], capture_output=True, timeout=60, env=os.environ | {"PYTHONIOENCODING": encoding}, check=True
    )
    assert b"?" in done.stdout
    assert done.stderr == b""


def test_wrong_option_is_exit_code_2() -> None:
    """As for any program."""
    assert slackwater("simulate", "--colour").returncode == 2


@pytest.mark.parametrize("line", ["traces", "traces -o json", "--version"])
def test_output_that_cannot_be_written_is_one_sentence(line: str) -> None:
    """A full disk is no mistake of ours: neither a traceback nor a word about an exception that was ignored."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run([*PROGRAM, *line.split()], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "reading or writing failed: No space left on device\n")


@pytest.mark.parametrize(("line", "code"), [("traces", 0), ("--version", 0), ("simulate gen:tetris", 2)])
def test_a_closed_output_is_no_trouble(line: str, code: int) -> None:
    """After `>&-` there is nothing to write to; what is refused is told as ever."""
    command = f'"{sys.executable}" -c "{PROGRAM[2]}" {line} >&-'
    done = subprocess.run(["/bin/sh", "-c", command], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (code, 1 if code else 0)


@pytest.mark.parametrize("error", ["TimeoutError()", "OSError(98, 'Address already in use')"])
def test_an_error_that_is_none_of_output_keeps_its_traceback(error: str) -> None:
    """It is a mistake of ours, and nothing was read or written."""
    code = f"import slackwater_cli.main as m\ndef fail(): raise {error}\nm.app = fail\nm.run()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "reading or writing failed" not in done.stderr


def test_missing_library_says_which_extra_to_install(tmp_path: Path) -> None:
    """Parquet needs pyarrow, which a bare installation lacks."""
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1" + bytes(20))
    missing = without("pyarrow", "simulate", str(path), "--cluster", "1x1")
    assert missing.returncode == 2
    assert missing.stderr == f"pyarrow is not installed; {command('sim')}\n"


ABSENT = [
    ("assess", "--trace", "absent.csv.gz"),
    ("what-if", "absent.jsonl"),
    ("simulate", "absent.swf", "--cluster", "1x1"),
    ("sweep", "absent.yaml"),
    ("risk", "absent.csv", "--report", "page.html"),
    ("replay", "absent.jsonl"),
    ("when", "absent.yaml"),
]


@pytest.mark.parametrize("line", ABSENT, ids=lambda line: line[0])
def test_a_file_that_is_missing_is_told_before_a_part_that_is(line: tuple[str, ...], tmp_path: Path) -> None:
    """A bare installation has none of the extras; who mistypes a name shall not install one to learn it."""
    absent = {module: None for modules in EXTRAS.values() for module in modules}
    code = f"import sys; sys.modules.update({absent}); {PROGRAM[2]}"
    done = subprocess.run(
        [sys.executable, "-c", code, *line], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
    )
    assert done.returncode == 2
    assert "cannot be read (No such file" in done.stderr
    assert "not installed" not in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_a_backend_that_is_missing_is_installed_like_any_other_part(backend: str, tmp_path: Path) -> None:
    """Into the environment of the program, with the versions of the tree."""
    asked = tmp_path / "sweep.yaml"
    asked.write_text("workload: gen:hour?apps=2\npolicy: [kube]\n", encoding="utf-8")
    missing = without(backend, "sweep", str(asked), "--backend", backend)
    assert missing.returncode == 2
    assert missing.stderr.endswith(f"{backend} is not installed; {command(backend)}\n")


@pytest.mark.parametrize(("extra", "module"), [(extra, modules[0]) for extra, modules in EXTRAS.items()])
def test_every_extra_has_a_remedy(extra: str, module: str) -> None:
    """Submodules count as their package."""
    assert remedy(f"{module}.inner") == command(extra)


def test_a_clone_is_extended_and_not_replaced_by_a_package() -> None:
    """From any folder, by the interpreter that lacks the part, with the versions of the tree."""
    root = Path(__file__).parents[2]
    assert command("sim") == f"run: {sys.executable} -m pip install -c {root}/constraints.txt -e '{root}[sim]'"
    assert command("sim", cloned=False) == "run: pip install 'slackwater[sim]'"


@pytest.mark.parametrize("lacks", ["slackwater_lab", "aiohttp"])
def test_the_lab_needs_what_the_tests_need(lacks: str) -> None:
    """Whatever of it is missing: the one command that makes all of it."""
    missing = without(lacks, "lab", "status")
    assert missing.returncode == 2
    assert missing.stderr.startswith(lacks)
    assert missing.stderr.endswith(f" is not installed, and the lab needs it; {lab()}\n")
    assert lab().endswith(" install")
    assert "clone" in lab(cloned=False)


def test_unknown_module_is_a_bug_not_a_missing_extra() -> None:
    """A traceback is right for a mistake of ours."""
    assert remedy("slackwater.typo") is None


@pytest.mark.parametrize(("program", "lacks"), [("extender", "prometheus_client"), ("operator", "kopf")])
def test_a_program_of_the_cluster_says_which_extra_it_needs(program: str, lacks: str) -> None:
    """The base package has its console script, and not what it needs: a sentence, no traceback."""
    code = f"import sys; sys.modules[{lacks!r}] = None; from slackwater_{program}.main import run; run()"
    started = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert started.returncode == 1
    expected = f"slackwater-{program}: {lacks} is not installed; {command(program)}\n"
    assert started.stderr == expected


@pytest.mark.parametrize("line", [("reproduce", "004"), ("risk", "SERIES")], ids=lambda line: line[0])
def test_a_report_that_cannot_be_drawn_is_refused_before_the_play(tmp_path: Path, line: tuple[str, str]) -> None:
    """Nobody waits minutes for the sentence that matplotlib is missing."""
    series = tmp_path / "cpu.csv"
    series.write_text("\n".join(",".join(["10"] * 288) for _ in range(10)), encoding="utf-8")
    asked = [str(series) if word == "SERIES" else word for word in line]
    refused = without("matplotlib", *asked, "--report", str(tmp_path / "out"))
    assert refused.returncode == 2
    assert refused.stderr == f"matplotlib is not installed; {command('sim')}\n"


def test_interruption_is_exit_code_130(tmp_path: Path) -> None:
    """Ctrl-C leaves no traceback. The program hangs on a pipe that nobody fills."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([*PROGRAM, "risk", str(pipe)], stderr=subprocess.PIPE, text=True) as running:
        end = os.open(pipe, os.O_WRONLY)  # returns when the program has opened its side
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=30)
        os.close(end)
    assert running.returncode == 130
    assert "Traceback" not in errors


@pytest.mark.parametrize("line", [("reproduce", "004"), ("risk", "gen:hour")], ids=lambda line: line[0])
def test_interruption_of_a_long_play_is_quiet(line: tuple[str, str]) -> None:
    """A terminal tells the workers too, and none of them shows where it was."""
    command = [*PROGRAM, *line]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as running:
        until(lambda: worked(running.pid) > 4.0, seconds=120)
        os.killpg(running.pid, signal.SIGINT)
        said, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert said == ""
