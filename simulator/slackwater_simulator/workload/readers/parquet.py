"""Our own trace format as Parquet: one row per stage, per-task numbers in list columns, the header in the metadata.

A job without stages is one row whose stage is null. Job and driver columns repeat on every row of a job; the file's
dictionary encoding makes that cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # ships no types
from numpy.typing import NDArray

from slackwater.errors import InvalidInput
from slackwater_simulator.workload.readers.check import UNREADABLE, distinct, problem
from slackwater_simulator.workload.readers.jsonl import parse_header
from slackwater_simulator.workload.readers.schema import header_of, with_header
from slackwater_simulator.workload.readers.source import Faults
from slackwater_simulator.workload.workload import Driver, Job, Stage, Usage, Workload

KEY = b"slackwater"
NUMBER, TEXT, FLAG, COUNT = pa.float64(), pa.string(), pa.bool_(), pa.int32()
NUMBERS, TEXTS = pa.list_(NUMBER), pa.list_(TEXT)
USAGE = (
    ("cpu", NUMBERS),
    ("memory", NUMBERS),
    ("at", NUMBERS),
    ("cpu_shape", NUMBERS),
    ("memory_shape", NUMBERS),
    ("noise", NUMBER),
)
JOB = (
    ("id", TEXT),
    ("submit", NUMBER),
    ("user", TEXT),
    ("queue", TEXT),
    ("name", TEXT),
    ("priority", COUNT),
    ("gang", FLAG),
    ("iterations", COUNT),
    ("strict", FLAG),
    ("estimate", NUMBER),
)
DRIVER = (("request", NUMBERS), ("startup", NUMBER))
STAGE = (
    ("name", TEXT),
    ("request", NUMBERS),
    ("durations", NUMBERS),
    ("parents", TEXTS),
    ("start_after", NUMBER),
    ("ramp", FLAG),
    ("delay", NUMBER),
    ("shuffle", NUMBER),
    ("transfer", NUMBER),
    ("transfers", NUMBERS),
    ("hosts", pa.list_(TEXTS)),
    ("reduce", FLAG),
    ("iteration", COUNT),
)
# Columns with one number per task: kept as numpy slices, never as Python lists.
ARRAYS = ("stage_durations", "stage_cpu", "stage_memory", "driver_cpu", "driver_memory")
# What a damaged file may raise while it is decoded.
BROKEN = (pa.ArrowException, UnicodeDecodeError, ValueError)
Row = dict[str, Any]


def _schema() -> pa.Schema:
    groups = (("job", JOB), ("driver", DRIVER + USAGE), ("stage", STAGE + USAGE))
    return pa.schema([(f"{group}_{name}", kind) for group, fields in groups for name, kind in fields])


def write(workload: Workload, path: Path) -> None:
    """Write a trace as Parquet (zstd)."""
    schema = _schema().with_metadata({KEY: header_of(workload).model_dump_json().encode()})
    rows = [row for job in distinct(workload).jobs for row in _rows(job)]
    columns = [pa.array([row.get(field.name) for row in rows], field.type) for field in schema]
    pq.write_table(pa.table(columns, schema=schema), path, compression="zstd")


def _rows(job: Job) -> Iterator[Row]:
    base = _fields("job", job, JOB)
    if job.driver is not None:
        base |= _fields("driver", job.driver, DRIVER) | _usage_fields("driver", job.driver.usage)
    for stage in job.stages:
        yield base | _fields("stage", stage, STAGE) | _usage_fields("stage", stage.usage)
    if not job.stages:
        yield base


def _fields(group: str, thing: object, fields: tuple[tuple[str, pa.DataType], ...]) -> Row:
    return {f"{group}_{name}": getattr(thing, name) for name, _ in fields}


def _usage_fields(group: str, usage: Usage | None) -> Row:
    return {} if usage is None else _fields(group, usage, USAGE)


def read(path: Path, *, seed: int = 0, skip_bad: bool = False) -> Workload:  # noqa: ARG001 - readers share a signature
    """The workload of a Parquet trace."""
    table = _table(path)
    header = parse_header(path, 1, (table.schema.metadata or {}).get(KEY, b"{}"))
    faults = Faults(path, skip_bad, unit="row")
    jobs: list[Job] = []
    for _, group in groupby(enumerate(_read_rows(path, table), start=1), key=lambda pair: pair[1]["job_id"]):
        members = list(group)
        try:
            job = _job([row for _, row in members])
        except UNREADABLE as error:
            faults.bad(members[0][0], f"a job whose fields cannot be read ({error!r})", "the columns of version 1")
            continue
        wrong = problem(job, len(header.kinds))
        if wrong:
            faults.bad(members[0][0], *wrong)
        else:
            jobs.append(job)
    return with_header(header, jobs, faults.skipped, faults.quoted)


def _damaged(path: Path, error: Exception) -> InvalidInput:
    return InvalidInput(path.name, f"not a readable Parquet file ({error})", "write the trace again")


def _table(path: Path) -> pa.Table:
    try:
        table = pq.read_table(path)
        missing = [name for name in _schema().names if name not in table.column_names]
        if not missing:
            return table.cast(_schema().with_metadata(table.schema.metadata))
    except (OSError, *BROKEN) as error:
        raise _damaged(path, error) from error
    raise InvalidInput(path.name, f"no column {missing[0]!r}", "expected the columns of slackwater-trace version 1")


def _read_rows(path: Path, table: pa.Table) -> Iterator[Row]:
    """Rows as mappings from column to value; per-task columns are slices of one flat array."""
    try:
        columns = {name: _getter(table.column(name), name in ARRAYS) for name in table.column_names}
    except BROKEN as error:
        raise _damaged(path, error) from error
    for index in range(table.num_rows):
        yield {name: get(index) for name, get in columns.items()}


def _getter(column: pa.ChunkedArray, array: bool) -> Callable[[int], Any]:
    if not array:
        plain: list[Any] = column.to_pylist()
        return plain.__getitem__
    chunk = column.combine_chunks()
    offsets, known = chunk.offsets.to_pylist(), chunk.is_valid().to_pylist()
    flat: NDArray[np.float64] = chunk.values.to_numpy(zero_copy_only=False)
    return lambda index: flat[offsets[index] : offsets[index + 1]] if known[index] else None


def _job(rows: list[Row]) -> Job:
    first = rows[0]
    stages = tuple(_stage(row) for row in rows if row["stage_name"] is not None)
    return Job(**_plain(first, "job", JOB), stages=stages, driver=_driver(first))


def _plain(row: Row, group: str, fields: tuple[tuple[str, pa.DataType], ...]) -> Row:
    """Fields of a group as keyword arguments; lists become tuples, and what is null keeps its default."""
    values = ((name, row[f"{group}_{name}"]) for name, _ in fields)
    return {name: _frozen(value) for name, value in values if value is not None}


def _frozen(value: object) -> object:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def _driver(row: Row) -> Driver | None:
    if row["driver_request"] is None:
        return None
    return Driver(**_plain(row, "driver", DRIVER), usage=_usage(row, "driver"))


def _stage(row: Row) -> Stage:
    return Stage(**_plain(row, "stage", STAGE), usage=_usage(row, "stage"))


def _usage(row: Row, group: str) -> Usage | None:
    return None if row[f"{group}_cpu"] is None else Usage(**_plain(row, group, USAGE))
