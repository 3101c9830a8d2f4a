"""How large everything is that our programs hold: each container by class and field, found by walking the objects."""

from __future__ import annotations

import gc
import os
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

import msgspec
import numpy as np

from slackwater.resources import Resources

OURS = ("slackwater", "prometheus_client")
CONTAINERS = (dict, list, set, frozenset, deque)
ARRAY = "[]"
LEAVES = (
    str,
    bytes,
    int,
    float,
    bool,
    type(None),
    type,
    ModuleType,
    FunctionType,
    MethodType,
    msgspec.Struct,
    Resources,
)


def sizes(*roots: object, beside: Iterable[object] = ()) -> Counter[str]:
    """Entries of all containers below the roots, summed by `Class.field`; what is `beside` is not walked into."""
    found: Counter[str] = Counter()
    seen = {id(each) for each in beside}
    waiting: list[tuple[object, str]] = [(root, type(root).__name__) for root in roots]
    while waiting:
        thing, where = waiting.pop()
        if isinstance(thing, LEAVES) or id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, np.ndarray):
            found[f"{where}{ARRAY}"] += thing.shape[0] if thing.ndim else 0
        elif isinstance(thing, CONTAINERS):
            found[where] += len(thing)
            inner = thing.values() if isinstance(thing, dict) else thing
            waiting += [(each, where) for each in inner if not isinstance(each, LEAVES)]
        elif type(thing).__module__.startswith(OURS):
            waiting += [(value, f"{type(thing).__name__}.{name}") for name, value in _fields(thing)]
    return found


def _fields(thing: object) -> Iterable[tuple[str, Any]]:
    yield from getattr(thing, "__dict__", {}).items()
    for kind in type(thing).__mro__:
        for name in kind.__dict__.get("__slots__", ()):
            if hasattr(thing, name):
                yield name, getattr(thing, name)


# Containers that fill up to a stated bound: names that tenants choose are remembered, and the oldest make room.
# Both programs have some of them.
BOUNDED = {
    "RecentAnswers._younger": 2 * 1_000,
    "RecentAnswers._older": 2 * 1_000,
    "PodIndex._parents": 2 * 1_000,
    "UsageHistory._lessons": 10_000,
    "RunHistory._past": 10_000,
    "ClusterCache._gone": 8_192,
    "Peaks._ids": 20_000,
    "Peaks._rings[]": 2**15,
    "Peaks._seen[]": 2**15,
    "bytes learned": 800_000,
    "DecisionLog._ring": 5_000,
    "Decision.declared": 2 * 5_000,
    "Decision.room": 2 * 5_000,
}


def grown(first: Mapping[str, int], last: Mapping[str, int], factor: float = 1.25, slack: int = 50) -> list[str]:
    """Containers that are larger than by so much, and not merely on the way to a bound of their own.

    Arrays are made twice as long when one more does not fit.
    """
    return [
        f"{name} grew from {first.get(name, 0)} to {size}"
        for name, size in sorted(last.items())
        if size > max((2 if name.endswith(ARRAY) else 1) * factor * first.get(name, 0) + slack, BOUNDED.get(name, 0))
    ]


def largest(looks: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The largest that each container was in any of the looks: of one hour a few pods more or less decide."""
    found: dict[str, int] = {}
    for look in looks:
        for name, size in look.items():
            found[name] = max(found.get(name, 0), size)
    return found


def memory() -> float:
    """MiB that this process has in memory."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
