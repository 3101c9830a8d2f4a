"""Values for every field of a custom resource, made from its own definition: a new field is walked by itself."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

from slackwater_cluster.customresources import definition, kind_named

Path = tuple[str, ...]
Schema = Mapping[str, Any]

# What a string may be: a namespace, label or queue of the cluster that is walked, strangers, and texts with a form.
WORDS = ("team-a", "group", "default", "nowhere", "", "1%", "True", "2026-01-01T00:00:00Z")
NONSENSE: tuple[Any, ...] = ("perhaps", 7.5, True, -1, [], ["x"], {}, {"x": {}}, "nan", "1" * 400)
QUANTITIES = (0, 6, "500m", "4Gi", "1e3")
NO_QUANTITIES: tuple[Any, ...] = ("lots", "-1", -1, "", "1" * 40, {}, "1e300")


class Value(NamedTuple):
    """One value of one field. `meant`: whether the definition allows it."""

    path: Path
    value: Any
    meant: bool

    def __str__(self) -> str:
        shown = str(self.value)
        return f"{'.'.join(self.path)} = {shown if len(shown) < 60 else shown[:60] + '…'}"

    def into(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body with this value in its place."""
        changed = copy.deepcopy(dict(body))
        where = changed
        for step in self.path[:-1]:
            if not isinstance(where.get(step), dict):  # as an earlier value of the whole left it
                where[step] = {}
            where = where[step]
        where[self.path[-1]] = copy.deepcopy(self.value)
        return changed


def schema(kind: str, part: str) -> Schema:
    """The schema of spec or status of a kind."""
    version = definition(kind_named(kind))["spec"]["versions"][0]
    found: Schema = version["schema"]["openAPIV3Schema"]["properties"][part]
    return found


def values(kind: str, part: str = "spec") -> list[Value]:
    """Every field of a kind with the ends of what is allowed, something between, and what is not allowed."""
    return [found for path, each in fields(schema(kind, part)) for found in _of(path, each)]


def pairs(kind: str) -> list[tuple[Value, Value]]:
    """Neighbouring numbers of a spec, one as small and one as large as each of them may be alone."""
    groups: dict[Path, list[tuple[Value, Value]]] = {}
    for path, each in fields(schema(kind, "spec")):
        if each.get("type") in ("integer", "number"):
            low, *_, high = _numbers(each)
            groups.setdefault(path[:-1], []).append((Value(path, low, True), Value(path, high, True)))
    found = []
    for group in groups.values():
        for one, other in combinations(group, 2):
            found += [(one[0], other[1]), (one[1], other[0])]
    return found


def fields(node: Schema, path: Path = ()) -> Iterator[tuple[Path, Schema]]:
    """Every field below a schema, objects before what they hold."""
    for name, child in node.get("properties", {}).items():
        yield (*path, name), child
        yield from fields(child, (*path, name))


def _of(path: Path, node: Schema) -> Iterator[Value]:
    for value in _good(node):
        yield Value(path, value, True)
    for value in _bad(node):
        yield Value(path, value, False)


def _good(node: Schema) -> list[Any]:
    """Values that the schema allows."""
    if node.get("x-kubernetes-int-or-string"):
        return list(QUANTITIES)
    if "enum" in node:
        return list(node["enum"])
    makers: dict[str, Callable[[Schema], list[Any]]] = {
        "boolean": lambda _: [True, False],
        "integer": _numbers,
        "number": _numbers,
        "string": _strings,
        "array": _arrays,
        "object": _objects,
    }
    return makers[node["type"]](node)


def _bad(node: Schema) -> list[Any]:
    """Values that it refuses, all kinds of them."""
    if node.get("x-kubernetes-int-or-string"):
        return list(NO_QUANTITIES)
    kind = node["type"]
    wrong = [value for value in NONSENSE if not _is(value, kind)]
    if kind in ("integer", "number"):
        wrong += [node[end] + step * 1000 for end, step in (("minimum", -1), ("maximum", 1)) if end in node]
    if kind == "string":
        wrong += ["no such word"] if "enum" in node or "pattern" in node else []
        wrong += ["x" * (node["maxLength"] + 1)] if "maxLength" in node else []
        wrong += [""] if node.get("minLength") else []
    if kind == "array":
        wrong += [[value] for value in _bad(node["items"])[:3]]
    if kind == "object" and isinstance(node.get("additionalProperties"), dict):
        wrong += [{"cpu": value} for value in _bad(node["additionalProperties"])]
    return wrong


def _numbers(node: Schema) -> list[Any]:
    """The least, one between and the most."""
    whole = node["type"] == "integer"
    low, high = node.get("minimum", 0), node.get("maximum", 10**9)
    tiny = 1 if whole else min(1e-6, (high - low) / 4)
    least = low + tiny if node.get("exclusiveMinimum") else low
    most = high - tiny if node.get("exclusiveMaximum") else high
    middle = (least + most) // 2 if whole else (least + most) / 2
    return [least, middle, most]


def _strings(node: Schema) -> list[Any]:
    allowed = [word for word in WORDS if re.search(node.get("pattern", ""), word) and _length(node, word)]
    assert allowed, f"no word of WORDS fits {node}: add one"
    long = "x" * node.get("maxLength", 500)
    return [*allowed, *([long] if re.search(node.get("pattern", ""), long) else [])]


def _length(node: Schema, word: str) -> bool:
    return bool(node.get("minLength", 0) <= len(word) <= node.get("maxLength", 10**9))


def _arrays(node: Schema) -> list[Any]:
    few = _good(node["items"])
    least = few[:1] if node.get("minItems") else []
    return [least, few[:1], few[: node.get("maxItems", 20)], [few[0]] * node.get("maxItems", 20)]


def _objects(node: Schema) -> list[Any]:
    if "properties" in node:
        needed = {name: _good(node["properties"][name])[0] for name in node.get("required", ())}
        every = {name: _good(child)[0] for name, child in node["properties"].items()}
        return [needed, every]
    each = _good(node["additionalProperties"])
    named = [{word: value} for word in ("cpu", "team-a", "group") for value in each]
    return [{}, *named, {f"example.com/k{number}": each[0] for number in range(node.get("maxProperties", 16))}]


def _is(value: Any, kind: str) -> bool:
    """Whether a value is of a JSON type."""
    kinds: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool}
    if kind in kinds:
        return isinstance(value, kinds[kind])
    return isinstance(value, int | float) and not isinstance(value, bool)
