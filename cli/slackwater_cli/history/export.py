"""`slackwater export`: a cluster's past as a workload trace, for `slackwater what-if` and `slackwater simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slackwater_cli.history import prometheus as asking
from slackwater_cli.optiongroups import grouped
from slackwater_cli.printing import tell
from slackwater_cli.progress import bars


@grouped
def command(
    file: Annotated[
        Path,
        typer.Argument(
            help="Where to write: NAME.jsonl.gz, NAME.jsonl or NAME.parquet, with its nodes and outcome beside it."
        ),
    ],
    *,
    past: asking.Past,
    server: asking.Server,
) -> None:
    """Write arrivals, stages, requests, durations and use of the period into FILE."""
    from slackwater_simulator.reports.page import prepare_file
    from slackwater_simulator.workload.readers.formats import stem, writer

    writer(file)  # a wrong name, or a library that is not there, is told before anything is asked
    prepare_file(file, "FILE")
    from slackwater_monitor.assessment.run import run
    from slackwater_monitor.export import export, write
    from slackwater_simulator.charts.amounts import count

    order, chosen = server.order(past), past.namespaces()
    with bars() as tick:
        found = run(order, tick("asking Prometheus"), tick("reading answers"))
    made = export(found, stem(file), chosen)
    paths = write(made, file)
    jobs = made.workload.jobs
    sizes = {"job": len(jobs), "task": sum(job.tasks for job in jobs), "node": len(made.nodes)}
    tell(", ".join(count(number, thing) for thing, number in sizes.items()), stderr=True)
    for note in (*made.workload.notes, *found.notes):
        tell(f"note: {note}", style="dim", stderr=True)
    for what, path in paths.items():
        tell(f"{what}: {path}", stderr=True)
