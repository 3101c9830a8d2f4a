"""Where the runs of a sweep are played: processes or threads here, or the workers of a Dask or Ray cluster.

A run is a pure function of its cell, so a run whose worker died is played again elsewhere and gives the same row.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, TypeVar, cast

from joblib import Parallel, delayed, parallel_config  # type: ignore[import-untyped]  # ships no types

from slackwater.errors import Unavailable, UnknownName
from slackwater.validation import processes

Cell = TypeVar("Cell")
Result = TypeVar("Result")

BACKENDS = ("loky", "threading", "dask", "ray")
RETRIES = 3  # times a run is played again whose worker died


def spread(
    function: Callable[[Cell], Result], cells: Sequence[Cell], *, jobs: int = -1, backend: str = "loky"
) -> Iterator[Result]:
    """Results in the order of the cells, as they become ready. `jobs` −1 uses all cores, or all of the cluster."""
    if backend not in BACKENDS:
        raise UnknownName("backend", backend, BACKENDS)
    processes("jobs", jobs)
    if backend == "dask":
        yield from _dask(function, cells, jobs)
    elif backend == "ray":
        yield from _ray(function, cells, jobs)
    else:
        with parallel_config(backend=backend, n_jobs=jobs):
            results = Parallel(return_as="generator")(delayed(function)(cell) for cell in cells)
            yield from cast("Iterator[Result]", results)


def _dask(function: Callable[[Cell], Result], cells: Sequence[Cell], jobs: int) -> Iterator[Result]:
    """Without an address this starts workers here; DASK_SCHEDULER_ADDRESS names a cluster."""
    distributed = _module("dask.distributed")
    address = import_module("dask").config.get("scheduler-address", None)
    local = {} if address else {"n_workers": jobs if jobs > 0 else None, "threads_per_worker": 1}
    with _client(distributed, address, local) as client:
        futures = client.map(function, cells, pure=False, retries=RETRIES)
        try:
            for future in futures:
                yield future.result()
        finally:
            client.cancel(futures)


def _client(distributed: Any, address: str | None, local: dict[str, Any]) -> Any:
    try:
        return distributed.Client(**local)
    except OSError as problem:
        raise Unavailable(f"no Dask scheduler answers at {address} ({problem})") from problem


def _ray(function: Callable[[Cell], Result], cells: Sequence[Cell], jobs: int) -> Iterator[Result]:
    """Without an address this starts Ray here; RAY_ADDRESS names a cluster."""
    ray = _module("ray")
    mine = not ray.is_initialized()
    if mine:
        try:
            ray.init(
                num_cpus=None if os.environ.get("RAY_ADDRESS") or jobs < 0 else jobs,
                log_to_driver=False,
                logging_level="ERROR",
            )
        except ConnectionError as problem:
            raise Unavailable(f"no Ray cluster answers ({problem}); RAY_ADDRESS names it") from problem
        except Exception as problem:  # Ray raises a bare one where its processes are not up within its 30 s
            raise Unavailable(
                f"Ray did not start on this machine ({problem}); try again when it is less busy"
            ) from problem
    try:
        remote = ray.remote(num_cpus=1, max_retries=RETRIES)(function)
        for reference in [remote.remote(cell) for cell in cells]:
            yield ray.get(reference)
    finally:
        if mine:
            ray.shutdown()


def _module(name: str) -> Any:
    """Dask and Ray are extras: whoever names one has it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        top = name.partition(".")[0]
        # Of this kind, so that the command says what to type here.
        raise ModuleNotFoundError(f"{top} is not installed; install slackwater[{top}]", name=top) from error
