"""Long and almost right: texts, lists and maps at which a careless reader tries each way to divide them. Seeded."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

UNITS = (
    "1", "0", "9", "-", ".", "_", "a", "x", " ", ",", "@", ":", "/", "=", "\n", "\t", "e", "E1", "+", "%", "é",
    "-1", "1-", "1.", ".1", "a-", "-a", "a.", ".-", "-.", "a.b/", "1,", ",1", ", 1", "1, ", "s0,", ",s0", "x ", " x",
    "1e", "1m", "m1", "1Gi", "Gi", "1h", "1h1m", "P1D", "100/", "/100", "::", "://", "s://", "u:p@", "../", "%2e",
    "(", ")", "()", "((", "{", "}", "{}", "[", "[[", "]", '"', '\\"', '{"a":', '"a",', "\\", "\\\\", "{{", "}}", "$(",
    "${", 'a="b",', 'a=~"b" ', " or ", "or ", "and ", "a or", "#\n", "cpu=1,", "a=b ", "job-1-", "-1-1-x", "a1b2c3d4",
    "bcdfg-", "deadbeef", "-29000000", "2026-01-01T", "00:", "Z", "\ud7ff", "\u0130", "\u00df",
)  # fmt: skip
STARTS = ("", "a", "1", "s://")
ENDS = ("", "!", "x", "-", ",", "\n", "m", "Z", '"', "@", " ")
LENGTHS = (63, 253, 1_000, 10_000, 100_000)  # a label, a name; annotations of an object hold 256 kB
ENTRIES = (100, 2_000, 20_000)
MOST = 200_000  # letters and values that one object is enlarged by: etcd takes 1.5 MiB


def text(rng: Random) -> str:
    """One or two units again and again, with a beginning and an end of their own."""
    return _again(rng, rng.choice(UNITS) + (rng.choice(UNITS) if rng.random() < 0.3 else ""), rng.choice(LENGTHS))


def _again(rng: Random, unit: str, length: int) -> str:
    start, end = ("job", "x") if rng.random() < 0.6 else (rng.choice(STARTS), rng.choice(ENDS))
    return start + unit * max(1, (length - len(start) - 1) // len(unit)) + end


def in_one_place(rng: Random, bodies: Sequence[dict[str, Any]], turn: int, keys: Sequence[str] = ()) -> None:
    """Each of the objects gets another text there: every unit, as short as a label or a name, and now and then long.

    One that is of another form, and has no such place, stays as it is.
    """
    places = _places(bodies[0], keys)
    place = *steps, last = places[turn % len(places)]
    for number, body in enumerate(bodies, rng.randrange(len(UNITS))):
        if place not in _places(body, keys):
            continue
        value: Any = body
        for step in steps:
            value = value[step]
        value[last] = _again(rng, UNITS[number % len(UNITS)], rng.choice((*LENGTHS[:2] * 5, *LENGTHS[2:])))


def _places(body: dict[str, Any], keys: Sequence[str]) -> list[tuple[Any, ...]]:
    """Where the object has a value that is no list and no map, and these labels and annotations."""
    return [*_leaves(body), *(("metadata", where, key) for where in ("labels", "annotations") for key in keys)]


def _leaves(value: Any) -> Iterator[tuple[Any, ...]]:
    for key in value if isinstance(value, dict) else range(len(value)):
        if isinstance(value[key], dict | list):
            yield from ((key, *rest) for rest in _leaves(value[key]))
        else:
            yield (key,)


def enlarged(rng: Random, body: dict[str, Any], keys: tuple[str, ...] = ()) -> dict[str, Any]:
    """A copy in which one value is a long text, one list or map is long, or one of these labels or annotations is."""
    changed = copy.deepcopy(body)
    meta = changed.get("metadata")
    if keys and isinstance(meta, dict) and rng.random() < 0.4:
        where = meta.setdefault(rng.choice(("labels", "annotations")), {})
        if isinstance(where, dict):
            where[rng.choice(keys)] = text(rng)
            return changed
    _enlarge(rng, changed)
    return changed


def _enlarge(rng: Random, value: Any) -> None:
    """One place somewhere below a map or list."""
    while True:
        if isinstance(value, dict | list) and value and rng.random() < 0.15:
            return _filled(rng, value)
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return None
        key = rng.choice(keys)
        if isinstance(value[key], dict | list) and value[key]:
            value = value[key]
        else:
            value[key] = text(rng)
            return None


def _filled(rng: Random, value: Any) -> None:
    """Many entries like those that stand there, the same again or each with a name of its own."""
    if isinstance(value, dict):
        key, first = next(iter(value.items()))
        number = min(rng.choice(ENTRIES), MOST // (len(str(first)) + len(str(key)) + 8))
        value.update((f"{key}-{index}", copy.deepcopy(first)) for index in range(number))
        return
    entries, own = list(value), rng.random() < 0.5
    for index in range(min(rng.choice(ENTRIES), MOST // (len(str(entries)) + 8)) * len(entries)):
        entry = copy.deepcopy(entries[index % len(entries)])
        value.append(_renamed(entry, index) if own else entry)


def _renamed(entry: Any, index: int) -> Any:
    """The entry with its number behind each text at its top."""
    if isinstance(entry, dict):
        return {key: _renamed(each, index) if isinstance(each, str) else each for key, each in entry.items()}
    return f"{entry}-{index}" if isinstance(entry, str) else entry
