"""Snapshots and decisions as plain values that JSON can hold, and back: what was decided can be decided again.

    {"@": "App", "id": …}     an object of the classes below; fields at their default are left out
    {"@": "amounts", …}       Resources
    {"@": "array", …}         a numpy array by rows
    {"@": "map", "items": …}  a mapping whose keys are not text
    {"@": "value", …}         a member of an enumeration

Numbers keep every digit, so equal snapshots give equal decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from slackwater.admission.capacity import NodeShares
from slackwater.cycle.appverdicts import Verdict
from slackwater.cycle.cycle import Round
from slackwater.cycle.snapshot import App, Order, PodGroup, Pool, Queue, Snapshot
from slackwater.errors import InvalidInput
from slackwater.nodetable import NodeTable
from slackwater.pools.pools import Category
from slackwater.resources import Resources
from slackwater.roles import Role

KNOWN: Mapping[str, type] = {
    each.__name__: each for each in (App, NodeShares, NodeTable, PodGroup, Pool, Queue, Snapshot, Category, Order, Role)
}


def record(snapshot: Snapshot, decided: Round) -> dict[str, Any]:
    """One round: what it saw and what it decided."""
    return {"snapshot": jsonable(snapshot), "decision": decision(decided)}


def recorded(line: Mapping[str, Any]) -> tuple[Snapshot, dict[str, Any]]:
    """The snapshot and the decision of a round as it was recorded."""
    if not isinstance(line, dict) or not line.keys() >= {"snapshot", "decision"}:
        raise _unreadable("it is no round")
    try:
        snapshot, decided = value(line["snapshot"]), line["decision"]
    except (KeyError, TypeError, AttributeError, ValueError, InvalidInput) as problem:
        words = f"it cannot be read, perhaps as it is of another version ({type(problem).__name__}: {problem})"
        raise _unreadable(words) from problem
    if not isinstance(snapshot, Snapshot) or not isinstance(decided, dict):
        raise _unreadable("it holds no snapshot and decision")
    return snapshot, decided


def decision(decided: Round) -> dict[str, Any]:
    """What a round comes to: who goes in which order, who starts, how the pools move, and what is said to whom."""
    return {
        "releases": [release.uid for release in decided.releases],
        "growth": [release.uid for release in decided.releases if release.growth],
        "started": list(decided.started),
        "categories": {app: kind.name for app, kind in sorted(decided.categories.items())},
        "borders": {pool: moved.delta for pool, moved in sorted(decided.adjustments.items())},
        "verdicts": {app: [said.reason.value, _numbers(said)] for app, said in sorted(decided.verdicts.items())},
    }


def _numbers(said: Verdict) -> dict[str, object]:
    """What a verdict's sentence is made of, as JSON gives it back."""
    return {name: each if isinstance(each, int | float) else str(each) for name, each in said.numbers.items()}


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """Where two decisions differ, in words."""
    found = ((key, *_compared(key, then.get(key), now[key])) for key in now)
    return tuple(f"{key}: {before!r} became {after!r}" for key, before, after in found if before != after)


def _compared(key: str, then: Any, now: Any) -> tuple[Any, Any]:
    """The two as they are compared: recordings of older versions hold words for numbers, and words may change."""
    if key != "verdicts" or not then or all(isinstance(numbers, dict) for _, numbers in then.values()):
        return then, now
    return {app: said[0] for app, said in then.items()}, {app: said[0] for app, said in now.items()}


def jsonable(thing: object) -> Any:
    """A value as JSON can hold it."""
    if isinstance(thing, Enum):
        return {"@": "value", "of": type(thing).__name__, "is": thing.value}
    if thing is None or isinstance(thing, str | int | float):
        return thing
    if isinstance(thing, np.ndarray):
        return {"@": "array", "type": thing.dtype.name, "shape": thing.shape, "rows": thing.tolist()}
    return _compound(thing)


def _compound(thing: object) -> Any:
    if isinstance(thing, Resources):
        return {"@": "amounts", **dict(sorted(thing.items()))}
    if isinstance(thing, Mapping):
        return _map(thing)
    if isinstance(thing, Sequence):
        return [jsonable(each) for each in thing]
    if not is_dataclass(thing) or type(thing).__name__ not in KNOWN:
        name = type(thing).__name__
        raise InvalidInput("recording", f"{name} is not known here", "add it to KNOWN in cycle.audit.recording")
    shown = [each for each in fields(thing) if each.repr and not _default(each, getattr(thing, each.name))]
    return {"@": type(thing).__name__, **{each.name: jsonable(getattr(thing, each.name)) for each in shown}}


def value(written: Any) -> Any:
    """The value that `jsonable` wrote; sequences come back as tuples."""
    if isinstance(written, list):
        return tuple(value(each) for each in written)
    if not isinstance(written, dict):
        return written
    rest = {name: each for name, each in written.items() if name != "@"}
    return _READERS.get(written.get("@", ""), _object)(rest, written.get("@", ""))


def _object(rest: Mapping[str, Any], kind: str) -> Any:
    read = {name: value(each) for name, each in rest.items()}
    return KNOWN[kind](**read) if kind else read


_READERS: Mapping[str, Callable[[Mapping[str, Any], str], Any]] = {
    "amounts": lambda rest, _: Resources(rest),
    "array": lambda rest, _: np.array(rest["rows"], dtype=rest["type"]).reshape(rest["shape"]),
    "map": lambda rest, _: {value(key): value(each) for key, each in rest["items"]},
    "value": lambda rest, _: KNOWN[rest["of"]](rest["is"]),
}


def _map(thing: Mapping[Any, Any]) -> dict[str, Any]:
    if all(type(key) is str for key in thing) and "@" not in thing:
        return {key: jsonable(each) for key, each in thing.items()}
    return {"@": "map", "items": [[jsonable(key), jsonable(each)] for key, each in thing.items()]}


def _default(each: Field[Any], found: object) -> bool:
    if isinstance(found, np.ndarray):
        return False
    if each.default is not MISSING:
        return type(found) is type(each.default) and bool(found == each.default)
    return each.default_factory is not MISSING and not found


def _unreadable(problem: str) -> InvalidInput:
    return InvalidInput("recording", problem, "give a file that the operator wrote with --record")
