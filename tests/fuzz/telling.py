"""The rest of the operator on the same course: owners and sizes are looked up, apps, Events, reasons and status told.

Apps of every framework, with owners and objects that are mutated, and what an earlier leader wrote of them. Nothing may
raise, nor be caught by a net that is there for our own mistakes; and whatever is written, an API server must take.
"""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from slackwater_cluster.api.session import Answer
from slackwater_cluster.customresources import TrackedAppSpec, TrackedAppStatus
from slackwater_cluster.frameworks import Framework, builtin
from slackwater_cluster.objects import wire
from slackwater_cluster.objects.records import CustomRecord, NodeRecord, PodRecord
from slackwater_cluster.watch import trim
from support.builders import mutants
from support.builders.mutants import Chance
from support.fakes.cluster import World, node
from support.fakes.loop import look_up, release_loop
from support.logs import errors_logged

APPS = 12
ROWS = [row for row in builtin().frameworks if row.owners]
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LONGEST_MESSAGE = 1024
# What our own nets say where something was caught that nothing an object holds should cause.
NETS = ("failed", "app not told", "not written", "status not written", "eviction")
BEYOND_TENANTS = ("owner set aside",)  # an object that is not what its kind is: told to the pod's owner, and counted


class TellingWorld(World):
    """A cluster whose owners and frameworks' objects are mutated, and which looks at what is written."""

    def __init__(self, rng: Chance) -> None:
        super().__init__()
        self.rng, self.wrong = rng, ""
        self.bodies: dict[str, Any] = {}  # by name

    async def get(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        seconds: float | None = None,
        most: int | None = None,
    ) -> Answer:
        """Groups and kinds as they are, objects mutated."""
        del params, seconds, most
        await asyncio.sleep(0)
        if path == "/apis":
            return self._said({"groups": [_group(each) for each in sorted({_of(row)[0] for row in ROWS} - {""})]})
        if path.endswith(("limitranges", "resourcequotas")):
            return self._said({"metadata": {}, "items": [mutants.mutated(self.rng, _limit()) for _ in range(3)]})
        if path.count("/") == 3:
            kinds = sorted({_of(row)[1] for row in ROWS})
            listed = [{"kind": kind, "name": f"{kind.lower()}s", "namespaced": True} for kind in kinds]
            return self._said({"resources": listed})
        body = self.bodies.get(path.rpartition("/")[2])
        return Answer(404, b"{}") if body is None else self._said(mutants.mutated(self.rng, body))

    def _said(self, body: Any) -> Answer:
        try:
            return Answer(200, msgspec.json.encode(body))
        except (TypeError, ValueError, msgspec.EncodeError):  # no JSON of an API server has it
            return Answer(404, b"{}")

    async def write(self, method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        """Whatever an API server would refuse is a finding."""
        self.wrong = self.wrong or _refusal(method, path, body)
        answer = await super().write(method, path, body, content_type=content_type)
        if "/trackedapps/" in path and path.endswith("/status"):
            self.wrong = self.wrong or _unfit(path, self.statuses[path])
        return answer


def course(rng: Chance, nodes: Sequence[NodeRecord], pods: Sequence[PodRecord], customs: Sequence[Any]) -> str:
    """Tell of all of them; returns what went wrong, "" where nothing did."""
    world = TellingWorld(rng)
    world.configure("SlackPolicy", "default", mode=rng.choice(("enforce", "enforce", "score", "observe")))
    for name in ("team", "other"):
        world.namespace(name)
    world.add_nodes(node("healthy", cpu=64, memory=256), *nodes)
    made = release_loop(world)
    for kind, record in [each for each in customs if NAME.fullmatch(each[1].name) and len(each[1].name) < 254]:
        world.cache.governing.set(kind, [record])
        made.reporter.set(kind, [record])
    world.cache.govern()
    world.put(*pods, *_apps(rng, world))
    made.tracker.set(_tracked(rng))
    with errors_logged() as logs:
        made.tracker.restore(world.cache)
        for _ in range(3):
            asyncio.run(_step(made))
            world.schedule()
            world.now += rng.choice((1.0, 6.0, 70.0))
        made.announcer.forget(set())
        world.delete(*list(world.pods.values())[: len(world.pods) // 2])
        asyncio.run(_step(made))
    caught = [each for each in logs if each["event"] in NETS]
    counted = [
        each for metric in made.metrics.errors.collect() for each in metric.samples if each.name.endswith("total")
    ]
    if caught or any(each.value for each in counted):
        return f"counted: {[(each.labels, each.value) for each in counted]}, logged: {caught[:1]}"
    for each in world.cache.quarantine.take():
        if each.part.value in ("pod", "app"):
            return f"{each.part.value} {each.pod.name} was set aside: {each.problem}"
    return world.wrong


async def _step(made: Any) -> None:
    await look_up(made)
    await made.turn()
    await made.releaser.writes.drain()
    await made.maintain()
    for lines in (made.announcer, made.tracker, made.labeller, made.reporter, made.relief, made.gates):
        await lines.lines.settle(5.0)


def _apps(rng: Chance, world: TellingWorld) -> list[PodRecord]:
    """Apps of frameworks whose owners state how large they will be."""
    found = []
    for number in range(APPS):
        row = rng.choice(ROWS)
        group, kind = _of(row)
        name, uid = f"{row.name}-{number}", f"{kind}-{number}"
        world.bodies[name] = {"metadata": {"name": name, "uid": uid}, **_object(row)}
        owner = {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind, "name": name, "uid": uid}
        labels = dict.fromkeys(row.app, name) | {term.key: term.values[0] for term in row.when if term.values}
        for index, terms in enumerate((row.drivers, row.tasks)):
            body = mutants.pod(rng, 1000 + 10 * number + index)
            body["metadata"] |= {"namespace": "team", "ownerReferences": [owner | {"controller": True}]}
            chosen = {terms[0].key: (terms[0].values or ("x",))[0]} if terms else {}
            body["metadata"]["labels"] = labels | chosen
            found += _records([mutants.mutated(rng, body) if rng.random() < 0.5 else body])
    return found


def _records(bodies: Sequence[Any]) -> list[PodRecord]:
    made = []
    for body in bodies:
        try:
            made.append(trim.pod(msgspec.convert(json.loads(msgspec.json.encode(body)), wire.Pod, strict=False)))
        except Exception:  # noqa: BLE001 - `course.py` looks at what cannot be read
            continue
    return made


def _object(row: Framework) -> dict[str, Any]:
    """A body in which all that a row's size rule asks for is said."""
    body: dict[str, Any] = {}
    if row.size is None:
        return body
    groups: Any = body
    if row.size.each:
        groups = {}
        _put(body, row.size.each, [groups, copy.deepcopy(groups)])
    container = {"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    for field, value in (
        ("count", 3), ("times", 2), ("most", 5), ("driver", "head"), ("pod", {"containers": [container]}), ("cpu", 2),
        ("request", "500m"), ("memory", "1g"), ("overhead", "400m"), ("factor", "0.2"), ("language", "Python"),
    ):  # fmt: skip
        if path := getattr(row.size, field):
            _put(groups, path, value)
    return body


def _put(body: dict[str, Any], path: str, value: Any) -> None:
    *steps, last = path.split(".")
    for step in steps:
        body = body.setdefault(step, {})
        if not isinstance(body, dict):
            return
    body.setdefault(last, value)


def _of(row: Framework) -> tuple[str, str]:
    rule = row.owners[0]
    return rule.group or "example.com", rule.kind


def _group(name: str) -> dict[str, Any]:
    return {"name": name, "versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}}


def _limit() -> dict[str, Any]:
    """A LimitRange and a quota in one: each reader takes what is its."""
    limit = {"type": "Container", "min": {"cpu": "100m"}, "maxLimitRequestRatio": {"cpu": "2"}}
    spec = {"limits": [limit], "hard": {"requests.cpu": "10", "pods": "5"}}
    return {"metadata": {"name": "l", "namespace": "team"}, "spec": spec}


def _tracked(rng: Chance) -> list[CustomRecord]:
    """What a leader before this one wrote, or somebody else in its place."""
    found = []
    for number in range(APPS):
        status = {
            "phase": "Waiting", "category": "large", "assembled": "2026-01-01T00:00:00Z", "position": 3,
            "learned": {"series": f"a{number % 4}", "tasks": 4, "request": {"cpu": "1", "memory": "1Gi"}},
            "start": {"lowSeconds": 1.0, "middleSeconds": 2.0, "highSeconds": 3.0}, "pods": {"held": 1},
            "conditions": [{"type": "Admitted", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        }  # fmt: skip
        meta = {"name": f"a{number}", "namespace": "team", "uid": f"t{number}", "resourceVersion": "1"}
        body: dict[str, Any] = {"metadata": meta, "spec": {"app": f"a{number}", "name": f"a{number}"}, "status": status}
        changed = {"metadata": meta, **{key: mutants.mutated(rng, dict(body[key])) for key in ("spec", "status")}}
        try:
            text = json.loads(msgspec.json.encode(changed))
            TrackedAppSpec.model_validate(text["spec"])
            TrackedAppStatus.model_validate(text["status"])
            found.append(trim.custom(msgspec.convert(text, wire.Custom)))
        except Exception:  # noqa: BLE001 - no JSON, or refused by its definition: no watch delivers it
            continue
    return found


def _refusal(method: str, path: str, body: Any) -> str:
    """Why an API server would not take a write."""
    try:
        text = msgspec.json.encode(body)
    except (TypeError, ValueError, msgspec.EncodeError) as problem:
        return f"{method} {path}: {problem}"
    if not re.fullmatch(r"(/[A-Za-z0-9._~%:-]+)+", path) or "/.." in path:
        return f"{method} {path}: no address"
    if path.endswith("/events") and len(body["message"].encode()) > LONGEST_MESSAGE:
        return f"{method} {path}: a message of {len(body['message'])}"
    if method == "POST" and path.endswith("/trackedapps") and not NAME.fullmatch(body["metadata"]["name"]):
        return f"{method} {path}: {body['metadata']['name']!r} is no name"
    return "" if len(text) < 2**20 else f"{method} {path}: {len(text)} bytes"


def _unfit(path: str, status: Mapping[str, Any]) -> str:
    """Why the definition refuses a status as it is merged."""
    try:
        TrackedAppStatus.model_validate(status)
    except ValueError as problem:
        return f"{path}: {problem}"
    return ""
