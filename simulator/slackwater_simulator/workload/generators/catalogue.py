"""Generators by name, with parameters as in a web address: `gen:dress?small=0.2&gap=3`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import get_type_hints
from urllib.parse import parse_qsl

from slackwater.errors import BadNumber, InvalidInput, UnknownName
from slackwater.validation import once
from slackwater_simulator.workload.generators import admission, borg, dress, estimation, haste, hour, network
from slackwater_simulator.workload.readers.check import problem
from slackwater_simulator.workload.workload import Workload

PREFIX = "gen:"
Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Generator:
    """A workload and the cluster it was made for."""

    make: Callable[..., Workload]
    cluster: str
    about: str


# No count of jobs and no seed needs more; a longer number would take all memory.
MOST = 10**9
GENERATORS = {
    "estimation": Generator(
        estimation.generate, estimation.CLUSTER, "000: short containers that use little of what they ask for"
    ),
    "haste": Generator(haste.generate, haste.CLUSTER, "001: MapReduce jobs of unlike shapes (case=a, b, c)"),
    "admission": Generator(
        admission.generate, admission.CLUSTER, "002: drivers that can fill the cluster (amc, tc, case=toy)"
    ),
    "network": Generator(network.generate, network.CLUSTER, "003: task graphs with data on their edges"),
    "dress": Generator(
        dress.generate, dress.CLUSTER, "004: small jobs among large ones (case=spark, mapreduce, figure1; small)"
    ),
    "hour": Generator(
        hour.generate, hour.CLUSTER, "a contended hour of a shared cluster (case=hour, nine; apps, shape, noise)"
    ),
    "borg": Generator(
        borg.generate, borg.CLUSTER, "a day of tasks with Borg's ratios of use to request (tasks, shape, noise)"
    ),
}


def generate(text: str, *, seed: int = 0) -> Workload:
    """The workload behind `gen:NAME?parameter=value&…`."""
    name, given = _parse(text)
    make = GENERATORS[name].make
    # A seed in the text wins, so that a line can be repeated exactly.
    chosen = {"seed": seed} | _converted(name, make, given)
    try:
        made = make(**chosen)
    except (ArithmeticError, ValueError) as error:
        # Ranges are each generator's own; what numpy refuses is a parameter out of its range.
        raise InvalidInput("workload", f"{text[:200]} gives no workload ({error})", "write other parameters") from error
    wrong = next((found for job in made.jobs if (found := problem(job, len(made.kinds)))), None)
    if wrong is not None:
        raise InvalidInput(
            "workload", f"{text[:200]} gives {wrong[0]}", f"{wrong[1]} is needed: write other parameters"
        )
    return made


def cluster_of(text: str) -> str:
    """The cluster that a generator's paper used."""
    name, given = _parse(text)
    if name == "dress" and given.get("case") == "figure1":
        return dress.FIGURE_CLUSTER
    if name == "admission" and given.get("case") == "toy":
        return "1x4"
    return GENERATORS[name].cluster


def _parse(text: str) -> tuple[str, dict[str, str]]:
    name, _, query = text.removeprefix(PREFIX).partition("?")
    if name not in GENERATORS:
        raise UnknownName("workload", name, (PREFIX + known for known in GENERATORS))
    try:
        given = parse_qsl(query, strict_parsing=True) if query else []
    except ValueError as error:
        raise InvalidInput(
            "workload", f"{query!r} is not a list of parameters", "write name=value&name=value"
        ) from error
    once(f"{PREFIX}{name}", (parameter for parameter, _ in given))
    return name, dict(given)


def _converted(name: str, make: Callable[..., Workload], given: dict[str, str]) -> dict[str, Value]:
    known = inspect.signature(make).parameters
    types = get_type_hints(make)
    for parameter in given:
        if parameter not in known:
            raise UnknownName(f"{PREFIX}{name}", parameter, known)
    return {
        parameter: _value(f"{PREFIX}{name}?{parameter}", text, types[parameter]) for parameter, text in given.items()
    }


def _value(field: str, text: str, kind: type[Value]) -> Value:
    word = "a whole number" if kind is int else "a finite number"
    try:
        value = kind(text)
    except ValueError as error:
        raise InvalidInput(field, f"{text[:40]!r} is not {word}", f"write {word}") from error
    if isinstance(value, float) and not math.isfinite(value):
        raise BadNumber(field, value)
    if isinstance(value, int) and not 0 <= value <= MOST:
        raise BadNumber(field, text[:40], f"write a whole number from 0 to {MOST:,}")
    return value
