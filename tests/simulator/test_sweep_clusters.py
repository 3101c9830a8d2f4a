"""Sweeps on a Dask and on a Ray cluster of two workers; they run where slackwater[dask,ray] is installed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from slackwater_simulator.sweepbackends import spread
from slackwater_simulator.sweeps import cells, play_all, read

pytestmark = pytest.mark.grid
SWEEP = "from slackwater_cli.main import run; run()"
LONG = "workload: gen:hour?apps=30\ncluster: 10x16c64Gi\npolicy: [kube, slackwater]\nseeds: 4\n"
TEXT = "workload: gen:haste?case={case}\npolicy: [fifo]\nseeds: 2\ngrid: {case: [a, b]}\n"


@pytest.fixture(params=["dask", "ray"])
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a backend whose cluster of two workers runs on this machine."""
    yield from {"dask": _dask, "ray": _ray}[request.param]()


def _dask() -> Iterator[str]:
    distributed: Any = pytest.importorskip("distributed", reason="needs dask[distributed]")
    import dask  # type: ignore[import-not-found]  # noqa: PLC0415 - an extra

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, dask.config.set(scheduler_address=cluster.scheduler_address):
        yield "dask"


def _ray() -> Iterator[str]:
    ray: Any = pytest.importorskip("ray", reason="needs ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        yield "ray"
    finally:
        ray.shutdown()


def dying(folder: Path) -> Callable[[int], int]:
    """A function whose worker is killed in the middle of its third call, the first time."""

    def square(number: int) -> int:
        mark = folder / "killed"
        if number == 2 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number

    return square


@pytest.mark.timeout(240)
def test_rows_are_the_same_as_on_one_machine(backend: str, tmp_path: Path) -> None:
    """To the last digit, in the order of the grid."""
    path = tmp_path / "sweep.yaml"
    path.write_text(TEXT)
    todo = cells(read(path))
    assert list(play_all(todo, backend=backend)) == list(play_all(todo, jobs=1, backend="threading"))


@pytest.mark.timeout(240)
def test_a_run_whose_worker_is_killed_is_played_again(backend: str, tmp_path: Path) -> None:
    """Results come in order, none is lost, none stands twice."""
    assert list(spread(dying(tmp_path), list(range(6)), backend=backend)) == [0, 1, 4, 9, 16, 25]
    assert (tmp_path / "killed").exists()


@pytest.mark.timeout(290)
def test_the_command_gives_the_same_bytes_although_a_worker_is_killed(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`slackwater sweep` on a running cluster of two workers, one of them killed while it plays."""
    (tmp_path / "sweep.yaml").write_text(LONG)
    monkeypatch.setenv(*_address(backend))
    command = [sys.executable, "-c", SWEEP, "sweep", str(tmp_path / "sweep.yaml"), "-o", "csv", "--backend"]
    with subprocess.Popen([*command, backend], stdout=subprocess.PIPE) as sweep:
        _killed_while_it_plays(backend, sweep)
        spread_out, _ = sweep.communicate()
    alone = subprocess.run([*command, "threading", "-j1"], capture_output=True, check=True).stdout
    assert sweep.returncode == 0
    assert len(alone.splitlines()) == 1 + 8
    assert spread_out == alone


def _address(backend: str) -> tuple[str, str]:
    """The variable that names the running cluster, and its value."""
    if backend == "ray":
        import ray  # type: ignore[import-not-found]  # noqa: PLC0415 - an extra

        return "RAY_ADDRESS", ray.get_runtime_context().gcs_address
    import dask  # noqa: PLC0415 - an extra

    return "DASK_SCHEDULER_ADDRESS", dask.config.get("scheduler_address")


def _killed_while_it_plays(backend: str, sweep: subprocess.Popen[bytes]) -> None:
    """The first worker that has used two seconds of the processor since the sweep began is killed."""
    before = {worker.pid: sum(worker.cpu_times()[:2]) for worker in _workers(backend)}
    while sweep.poll() is None:
        for worker in _workers(backend):
            if sum(worker.cpu_times()[:2]) - before.get(worker.pid, 0.0) > 2:
                worker.kill()
                return
        time.sleep(0.1)
    pytest.fail("the sweep ended before a worker played")


def _workers(backend: str) -> list[psutil.Process]:
    """The processes that play: Dask's are spawned by its nannies; Ray calls its own by what they do."""
    found = psutil.Process().children(recursive=True)
    if backend == "ray":
        return [each for each in found if each.cmdline()[:1] and each.cmdline()[0].startswith("ray::")]
    return [each for each in found if "--multiprocessing-fork" in each.cmdline() or "spawn_main" in str(each.cmdline())]
