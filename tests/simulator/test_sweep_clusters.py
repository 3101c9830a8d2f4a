"""Sweeps on a Dask and on a Ray cluster of two workers; they run where slackwater[dask,ray] is installed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from slackwater_simulator.sweepbackends import spread
from slackwater_simulator.sweeps import cells, play_all, read

pytestmark = pytest.mark.grid
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
