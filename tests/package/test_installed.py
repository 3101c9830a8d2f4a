"""A newcomer's commands, from the wheel alone: an empty environment, no source tree, no dev tools, no cluster."""

from __future__ import annotations

import json
import re
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from slackwater import __version__
from support.builders.weeks import TOOLS, openmetrics, prometheus, week
from support.fakes.httpcluster import served, usual
from support.lab.emptyenvironment import Installed

pytestmark = pytest.mark.package

LARGEST = 320  # megabytes of the base install, byte code included; two fifths are the Kubernetes client
HEAVY = {"duckdb", "matplotlib", "pandas", "pyarrow", "ray", "distributed", "kopf"}
TOOLS_OF_OURS = {"pytest", "mypy", "ruff", "hypothesis", "playwright", "build", "twine", "slackwater-lab"}
PROGRAMS = ("slackwater", "kubectl-slackwater", "slackwater-extender", "slackwater-operator", "slackwater-monitor")


def megabytes(folder: Path) -> float:
    """What the files of a folder hold."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()) / 1e6


def test_the_base_is_small_and_brings_neither_arrow_nor_dev_tools(
    installed: Installed, tell: Callable[[str], None]
) -> None:
    """Parquet, sweeps on clusters and the operator are extras."""
    listed = json.loads(installed.types("pip", "list", "--format", "json", "--disable-pip-version-check").stdout)
    names = {each["name"].lower() for each in listed}
    assert "slackwater" in names
    assert names & (HEAVY | TOOLS_OF_OURS) == set()
    size = megabytes(installed.folder)
    tell(f"base install: {len(names)} packages, {size:.0f} MB, {installed.seconds:.0f} s by pip")
    assert size <= LARGEST


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_answers_for_help(installed: Installed, program: str) -> None:
    """Also those whose extra is not installed."""
    shown = installed.types(program, "--help")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.partition("\n\n")[2].splitlines()  # argparse breaks no word of its usage
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("program", ["operator", "extender"])
def test_a_program_of_the_cluster_says_which_extra_it_needs(installed: Installed, program: str) -> None:
    """One sentence that can be copied, no traceback."""
    said = installed.types(f"slackwater-{program}").stderr
    assert said.endswith(f"is not installed; run: pip install 'slackwater[{program}]'\n"), said
    assert said.count("\n") == 1


def test_the_version_is_that_of_the_tree(installed: Installed) -> None:
    """One number for everything."""
    assert installed.types("slackwater", "--version").stdout == f"slackwater {__version__}\n"


def test_the_demo_plays_writes_its_page_and_serves_it(installed: Installed, tell: Callable[[str], None]) -> None:
    """The short form: one hour instead of three. The dashboard answers, and Ctrl-C ends it."""
    port, began = free(), time.monotonic()
    with installed.start(["slackwater", "demo", "--hours", "1", "--serve", "--port", str(port)]) as demo:
        try:
            page = answer(f"http://127.0.0.1:{port}/", lambda: demo.poll() is None)
            tell(f"demo --hours 1: {time.monotonic() - began:.0f} s until its dashboard answers")
        finally:
            demo.send_signal(signal.SIGINT)
            out, errors = demo.communicate(timeout=30)
    assert "Slackwater" in page, errors
    assert "180 of 180" in out
    assert "Traceback" not in errors
    assert "nine" in (installed.home / "report" / "index.html").read_text(encoding="utf-8").lower()


def free() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def answer(address: str, alive: Callable[[], bool]) -> str:
    """A page of a server that is starting; empty where it ended instead."""
    until = time.monotonic() + 150
    while time.monotonic() < until and alive():
        try:
            return httpx2.get(address, timeout=10).text
        except httpx2.TransportError:
            time.sleep(0.2)
    return ""


def test_a_workload_is_simulated(installed: Installed) -> None:
    """A made-up one, small; every job finishes under both schedulers."""
    line = ("simulate", "gen:hour?apps=10", "-p", "kube", "-p", "slackwater", "-o", "json")
    found = json.loads(installed.types("slackwater", *line).stdout)
    assert {each["policy"]: each["finished"] for each in found} == {"kube": 10, "slackwater": 10}


def test_a_parquet_trace_names_its_extra(installed: Installed) -> None:
    """Arrow is not in the base."""
    (installed.home / "trace.parquet").write_bytes(b"PAR1" + bytes(20))
    refused = installed.types("slackwater", "simulate", "trace.parquet", "--cluster", "1x1")
    assert (refused.returncode, refused.stderr) == (
        2,
        "pyarrow is not installed; run: pip install 'slackwater[sim]'\n",
    )


@pytest.mark.parametrize("line", ["assess", "explain batch/pi", "top", "apps", "check", "queues"])
def test_without_a_cluster_a_command_says_what_to_give(installed: Installed, line: str) -> None:
    """One sentence on standard error and exit code 2 (1 for what shows many things at once), no traceback."""
    refused = installed.types("slackwater", *line.split())
    assert refused.returncode in (1, 2)
    assert re.search(r"give --kubeconfig|add --prometheus", refused.stderr + refused.stdout)
    assert "Traceback" not in refused.stderr


def test_a_cluster_is_assessed_from_its_prometheus(installed: Installed, tmp_path: Path) -> None:
    """A real Prometheus with a day of a made-up cluster."""
    if not TOOLS:
        pytest.skip("prometheus and promtool are not installed")
    with prometheus(tmp_path, openmetrics(week(days=1))) as address:
        line = ("assess", "--prometheus", address, "--since", "1d", "--until", "2026-01-12T00:00:00Z")
        shown = installed.types("slackwater", *line, "--report", "assessment")
    assert shown.returncode == 0, shown.stderr
    assert "best places to start" in shown.stdout
    assert (installed.home / "assessment" / "index.html").exists()


def test_a_waiting_pod_is_explained(installed: Installed, tmp_path: Path) -> None:
    """Through the API server's proxy, from nothing but a kubeconfig; exit code 3 because it waits."""
    with served(usual()) as cluster:
        config = str(cluster.kubeconfig(tmp_path))
        shown = installed.types("slackwater", "explain", "team-a/etl-0", KUBECONFIG=config)
        assert installed.types("slackwater", "apps", KUBECONFIG=config).returncode == 0
    assert shown.returncode == 3, shown.stdout + shown.stderr


def test_the_simulator_is_a_library(installed: Installed) -> None:
    """Runs without pandas; who wants data frames is told the extra."""
    code = "import slackwater_simulator as sim; print(len(sim.run('gen:haste', policies=['fifo']).outcomes))"
    done = installed.types("python", "-c", code)
    assert done.stdout == "1\n", done.stderr
