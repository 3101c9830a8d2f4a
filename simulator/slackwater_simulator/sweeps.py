"""Parameter grids: one YAML file, many runs, spread over processes, or over a Dask or Ray cluster.

workload: gen:dress?small={small}   # a grid name in braces is filled in, here and in `cluster`
cluster: 5x20
policy: [fcfs, small-first-backfill]   # with options of its own: capacity?calculator=dominant
seeds: 5                            # 0 to 4, or a list
world: auto
set: {node_heartbeat: 1}            # settings of world or policy, for every run
grid:
  small: [0.1, 0.2, 0.4]
  node_delay: [0, 40]               # a grid name without braces is a setting
metrics: [makespan_s, p95_wait_s]   # columns of the table; left out, the usual ones
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from slackwater.errors import InvalidInput, UnknownName
from slackwater.validation import once, refusal
from slackwater_simulator.policies.registry import variant
from slackwater_simulator.reports.rows import METRICS, Row, row
from slackwater_simulator.simulation import choose, run, seed_numbers
from slackwater_simulator.sweepbackends import spread
from slackwater_simulator.workload.cluster import parse
from slackwater_simulator.workload.loading import default_cluster, load
from slackwater_simulator.workload.yamlfile import document

Value = bool | int | float | str
# What the file says elsewhere, for all runs.
RESERVED = ("workload", "cluster", "policy", "seed", "seeds", "world", "progress")
# Where that is another field, or none.
FIELDS = {"seed": "write seeds as a field of the file", "progress": "leave it out"}


class Sweep(BaseModel):
    """The file."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    workload: str
    cluster: str | None = None
    policy: list[str] = Field(min_length=1)
    seeds: Annotated[int, Field(ge=1)] | Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] = 1
    world: str = "auto"
    settings: dict[str, Any] = Field(default_factory=dict, alias="set")
    grid: dict[str, Annotated[list[Value], Field(min_length=1)]] = Field(default_factory=dict)
    metrics: list[str] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SweepRun:
    """One run of the sweep."""

    point: tuple[tuple[str, Value], ...]  # the grid names and their values here
    workload: str
    cluster: str
    policy: str
    world: str
    seed: int
    rivals: tuple[str, ...]  # all policies of the sweep: they are played in one world
    settings: tuple[tuple[str, Any], ...]


def read(path: Path) -> Sweep:
    """The file, or an error that names the field."""
    try:
        return Sweep.model_validate(document(path, "sweep", "give a YAML file with workload, policy and a grid"))
    except ValidationError as error:
        found = error.errors()
        detail, (where, wrong) = found[0], refusal(found)
        single = detail["type"] == "list_type" and isinstance(detail["input"], Value)
        remedy = f"write {where}: [{detail['input']}]" if single else f"the fields are {', '.join(_fields())}"
        raise InvalidInput(f"{path.name}, {where or 'the file'}", wrong, remedy) from error


def _fields() -> Iterator[str]:
    """The fields of the file, as they are written."""
    return (field.alias or name for name, field in Sweep.model_fields.items())


def cells(sweep: Sweep) -> list[SweepRun]:
    """Every combination of the grid, with every policy and seed."""
    for name in sweep.policy:
        variant(name)
    for name in sweep.metrics:
        if name not in METRICS:
            raise UnknownName("metrics", name, METRICS)
    once("policy", sweep.policy)
    for name, values in sweep.grid.items():
        once(f"grid, {name}", values)
    seeds = seed_numbers(sweep.seeds)
    return [
        _cell(sweep, point, policy, seed) for point in _points(sweep.grid) for policy in sweep.policy for seed in seeds
    ]


def _points(grid: Mapping[str, Sequence[Value]]) -> Iterator[tuple[tuple[str, Value], ...]]:
    for values in product(*grid.values()):
        yield tuple(zip(grid, values, strict=True))


def _cell(sweep: Sweep, point: tuple[tuple[str, Value], ...], policy: str, seed: int) -> SweepRun:
    workload = _filled(sweep.workload, point)
    cluster = _filled(sweep.cluster, point) if sweep.cluster else default_cluster(workload)
    written = sweep.workload + (sweep.cluster or "")
    free = {name: value for name, value in point if f"{{{name}}}" not in written}
    settings, rivals = sweep.settings | free, tuple(sweep.policy)
    for name in RESERVED:
        if name in settings:
            remedy = FIELDS.get(name, "write it as a field of the file")
            filled = f", or as {{{name}}} in workload or cluster" if name in free else ""
            raise InvalidInput(f"sweep, {name}", "is no setting of world or policy", remedy + filled)
    return SweepRun(point, workload, cluster, policy, sweep.world, seed, rivals, tuple(settings.items()))


def _filled(text: str, point: tuple[tuple[str, Value], ...]) -> str:
    for name, value in point:
        text = text.replace(f"{{{name}}}", str(value))
    return text


def play(cell: SweepRun) -> Row:
    """Run one cell; the row begins with where in the grid it stands; `grid.` stands before a name that a column has."""
    workload = load(cell.workload, seed=cell.seed)
    world = choose(workload, cell.rivals) if cell.world == "auto" else cell.world
    outcome = run(workload, parse(cell.cluster), cell.policy, seed=cell.seed, world=world, **dict(cell.settings))
    made = row(outcome)
    return {f"grid.{name}" if name in made else name: value for name, value in cell.point} | made


def play_all(todo: Sequence[SweepRun], *, jobs: int = -1, backend: str = "loky") -> Iterator[Row]:
    """Rows in the order of the cells, as they become ready. `jobs` −1 uses all cores."""
    return spread(play, todo, jobs=jobs, backend=backend)


@dataclass(frozen=True, slots=True)
class Summary:
    """One point and policy over all seeds: means and standard deviations of the chosen metrics."""

    point: tuple[tuple[str, Value], ...]
    policy: str
    runs: int
    mean: Mapping[str, float]
    deviation: Mapping[str, float]
    deadlocks: int


def summarise(todo: Sequence[SweepRun], rows: Sequence[Row], metrics: Sequence[str]) -> list[Summary]:
    """Rows grouped by point and policy, in the order of the cells."""
    groups: dict[tuple[tuple[tuple[str, Value], ...], str], list[Row]] = {}
    for cell, made in zip(todo, rows, strict=True):
        groups.setdefault((cell.point, cell.policy), []).append(made)
    return [_summary(point, policy, made, metrics) for (point, policy), made in groups.items()]


def _summary(point: tuple[tuple[str, Value], ...], policy: str, made: list[Row], metrics: Sequence[str]) -> Summary:
    columns = {name: np.array([_number(row[name]) for row in made]) for name in metrics}
    known = {name: values[~np.isnan(values)] for name, values in columns.items()}
    return Summary(
        point,
        policy,
        len(made),
        {name: float(values.mean()) if len(values) else float("nan") for name, values in known.items()},
        {name: float(values.std(ddof=1)) if len(values) > 1 else 0.0 for name, values in known.items()},
        sum(bool(row["deadlock"]) for row in made),
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")
