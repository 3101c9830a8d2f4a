"""Our own trace format as JSON Lines: a header object, then one object per job (version 1, see `schema`)."""

from __future__ import annotations

import gzip
from pathlib import Path

import orjson
from pydantic import TypeAdapter, ValidationError

from slackwater.errors import InvalidInput
from slackwater.validation import refusal
from slackwater_simulator.workload.readers.check import problem
from slackwater_simulator.workload.readers.schema import VERSION, Header, JobEntry, header_of, job_entry, with_header
from slackwater_simulator.workload.readers.source import Faults, load_text, numbered
from slackwater_simulator.workload.workload import Job, Workload

HEADER = TypeAdapter(Header)
JOB = TypeAdapter(JobEntry)


def read(path: Path, *, seed: int = 0, skip_bad: bool = False) -> Workload:  # noqa: ARG001 - readers share a signature
    """The workload of a JSON Lines trace. A broken header cannot be skipped."""
    faults = Faults(path, skip_bad)
    lines = numbered(load_text(path))
    number, first = next(lines, (1, ""))
    header = parse_header(path, number, first)
    jobs: list[Job] = []
    for number, line in lines:
        try:
            job = JOB.validate_json(line).build()
        except ValidationError as error:
            faults.bad(number, first_problem(error), "a job object of slackwater-trace version 1")
            continue
        wrong = problem(job, len(header.kinds))
        if wrong:
            faults.bad(number, *wrong)
        else:
            jobs.append(job)
    return with_header(header, jobs, faults.skipped, faults.quoted)


def parse_header(path: Path, line: int, text: str | bytes) -> Header:
    """The header, or an error that says which format or version was expected."""
    try:
        header = HEADER.validate_json(text)
    except ValidationError as error:
        remedy = 'expected a header such as {"format": "slackwater-trace", "version": 1}'
        raise InvalidInput(f"{path.name}, line {line}", first_problem(error), remedy) from error
    if header.version > VERSION:
        problem = f"this is version {header.version} of the trace format, and this release reads up to {VERSION}"
        raise InvalidInput(path.name, problem, "upgrade slackwater, or write the trace again with an older one")
    return header


def first_problem(error: ValidationError) -> str:
    """Field and message of the first thing pydantic refused."""
    where, wrong = refusal(error.errors())
    return f"{where}: {wrong}" if where else wrong


def write(workload: Workload, path: Path) -> None:
    """Write a trace; a name ending in .gz is gzipped. The same workload always gives the same bytes."""
    lines = [orjson.dumps(header_of(workload).model_dump())]
    lines.extend(orjson.dumps(job_entry(job)) for job in workload.jobs)
    content = b"\n".join(lines) + b"\n"
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
