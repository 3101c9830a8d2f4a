"""The demo's words: what a person reads must be what was measured."""

from __future__ import annotations

import io
import math
import os
import resource
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from functools import cache
from html import unescape
from pathlib import Path
from urllib.error import URLError

import pytest
from rich.console import Console

from slackwater_cli.simulation.demo import SCENES, _spread, _table, called
from slackwater_simulator.reports.page import render
from slackwater_simulator.reports.story import change, standstill, told
from slackwater_simulator.results.metrics import measure
from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import parse
from slackwater_simulator.workload.generators.catalogue import cluster_of, generate


@cache
def nine() -> Outcome:
    """Nine o'clock under the stock scheduler."""
    name = "gen:hour?case=nine"
    return run(generate(name), parse(cluster_of(name)), "kube", world="kubernetes")


def test_what_comes_next_can_be_typed_as_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After `make demo` the program is on no path; where it is, its name is enough."""
    program = tmp_path / "slackwater"
    program.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(program), "demo"])
    monkeypatch.setenv("PATH", "/nowhere")
    assert called() == str(program)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert called() == "slackwater"
    monkeypatch.setattr(sys, "argv", ["-c", "demo"])
    assert called() == "slackwater"


def test_a_standstill_is_called_never() -> None:
    """A manager sees "never" and "0 of 180", not a NaN."""
    out = io.StringIO()
    Console(file=out, width=120).print(_table(SCENES["nine"], {"kube": measure(nine())}))
    assert "never" in out.getvalue()
    assert "0 of 180" in out.getvalue()
    assert "nan" not in out.getvalue()


def test_the_standstill_is_explained() -> None:
    """By the number of drivers that hold every core."""
    outcome = nine()
    lines = standstill({"kube": outcome, "slackwater": outcome})
    assert len(lines) == 1
    assert lines[0].startswith("At nine the stock scheduler started 160 drivers, which hold every core")


def test_gains_and_losses_are_both_told() -> None:
    """Whoever is ahead, in the words people use; nothing where there is nothing to compare."""
    assert change([900.0, 450.0]) == ("2.0 times as fast", True)
    assert change([100.0, 90.0]) == ("10% sooner", True)
    assert change([100.0, 110.0]) == ("10% later", False)
    assert change([math.inf, 10.0]) is None


def test_further_hours_are_told_whoever_is_ahead() -> None:
    """An hour that went worse is not left out."""
    hours = [{"kube": 100.0, "slackwater": 90.0}, {"kube": 100.0, "slackwater": 110.0}]
    assert _spread(3, hours) == ["Seeds 3 to 4: all work is done 10% sooner, 10% later."]
    assert _spread(0, hours[:1]) == []


def test_the_page_opens_with_the_story_in_the_words_of_the_terminal() -> None:
    """Nine o'clock first, then the hour; the numbers of the terminal, in minutes; wait and makespan are explained."""
    stuck = nine()
    plays = {"nine": {"kube": stuck, "slackwater": stuck}, "hour": {"kube": stuck, "slackwater": stuck}}
    story = told(SCENES, plays, ["Seeds 0 to 2: all work is done 7% sooner."])
    text = unescape(render(list(plays["hour"].values()), story))
    out = io.StringIO()
    Console(file=out, width=120).print(_table(SCENES["nine"], {"kube": measure(stuck)}))
    labels = [line.split("  ")[0].strip() for line in out.getvalue().splitlines()[2:] if line.strip()]
    assert len(labels) == 7
    order = ["Same apps, same nodes", "At nine the stock", SCENES["nine"], SCENES["hour"], "Comparison</h2>"]
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    assert all(label in text for label in labels)
    assert "Makespan: from the first submission until all work is done" in text
    assert "Seeds 0 to 2" in text
    assert "δ" not in text


def _page(address: str) -> str:
    try:
        with urllib.request.urlopen(address, timeout=2) as reply:
            return str(reply.read().decode())
    except (URLError, ConnectionError):
        return ""


def test_a_port_that_is_taken_is_told_before_anything_is_played(tmp_path: Path) -> None:
    """In one sentence, with what to do; no address is named that somebody else serves."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        program = [sys.executable, "-c", "from slackwater_cli.main import run; run()"]
        command = [*program, "demo", "--report", str(tmp_path), "--serve", "--port", port]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        f"port: 127.0.0.1:{port} cannot be listened on (Address already in use); "
        "end what listens there, or give another --port\n"
    )


@pytest.mark.bench
@pytest.mark.timeout(300)
def test_the_whole_demo_takes_less_than_a_minute_of_cpu_and_can_be_watched(tmp_path: Path) -> None:
    """Table, report, then the dashboard with the race, until interrupted."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = [sys.executable, "-c", "from slackwater_cli.main import run; run()"]
    command = [*program, "demo", "--report", str(tmp_path), "--serve", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"COLUMNS": "120"}) as demo:
        limit = time.monotonic() + 240
        while not (text := _page(f"http://127.0.0.1:{port}/")) and time.monotonic() < limit:
            time.sleep(0.5)
        demo.send_signal(signal.SIGINT)
        said, _ = demo.communicate(timeout=30)
    assert "requested cores are idle" in text
    assert "The same work, the same moment" in text
    assert "180 of 180" in said
    assert (tmp_path / "index.html").exists()
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"\ndemo: {spent.ru_utime + spent.ru_stime:.0f} s of CPU", end=" ")  # noqa: T201 - the figure, with pytest -s
    assert spent.ru_utime + spent.ru_stime < 60
