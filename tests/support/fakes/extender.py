"""An extender in a test: real parts over given nodes and pods, a clock that stands until it is moved, no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import orjson
from flask.testing import FlaskClient

from slackwater.ledger.types import Sample
from slackwater_cluster.objects import wire as shapes
from slackwater_cluster.objects.records import CustomRecord, NodeRecord, PodRecord
from slackwater_cluster.watch import trim
from slackwater_extender.components import Components, assemble
from slackwater_extender.http.app import create
from slackwater_extender.scheduling.verbs import NEEDED
from slackwater_extender.settings import Settings
from support.builders import objects
from support.builders.measuring import measure

Object = dict[str, Any]
START = 1_767_225_600.0  # 2026-01-01T00:00:00Z, when the builders' pods were created


@dataclass
class Clock:
    """A clock that only tests move."""

    now: float = 1000.0
    behind: float = 0.0  # by how much the wall clock was set back

    def monotonic(self) -> float:
        """Seconds since some start."""
        return self.now

    def wall(self) -> float:
        """Unix seconds."""
        return START + self.now - 1000.0 - self.behind


def pod_record(thing: Object) -> PodRecord:
    """A pod as the watch delivers it."""
    return trim.pod(msgspec.convert(thing, shapes.Pod, strict=False))


def node_record(thing: Object) -> NodeRecord:
    """A node as the watch delivers it."""
    return trim.node(msgspec.convert(thing, shapes.Node, strict=False))


def custom(name: str, spec: Object, status: Object | None = None, namespace: str = "") -> CustomRecord:
    """A custom resource as the watch delivers it."""
    return CustomRecord(name=name, uid=name, namespace=namespace, spec=spec, status=status or {})


@dataclass
class World:
    """Parts and the moves a test makes."""

    parts: Components
    clock: Clock
    client: FlaskClient
    beats: int = 0
    pods: dict[str, Object] = field(default_factory=dict)

    def nodes(self, *things: Object) -> None:
        """The watch shows nodes."""
        self.parts.cache.set_nodes([node_record(each) for each in things])

    def show(self, *things: Object) -> None:
        """The watch shows pods."""
        self.parts.cache.set_pods([pod_record(each) for each in things])

    def gone(self, *things: Object) -> None:
        """The watch tells that pods are gone."""
        self.parts.cache.drop_pods([pod_record(each) for each in things])

    def policy(self, name: str = "default", **spec: Any) -> None:
        """A SlackPolicy appears or changes."""
        self.parts.cache.governance.set("SlackPolicy", [custom(name, spec)])
        self.parts.cache.set_terms()

    def namespace(self, name: str, *, managed: bool = True, policy: str = "") -> None:
        """A namespace appears or changes."""
        wire = msgspec.convert(objects.namespace(name, managed=managed, policy=policy), shapes.Bare)
        self.parts.cache.governance.set_namespaces([trim.namespace(wire)])
        self.parts.cache.reconsider([name])

    def sample(self, use: Mapping[str, Sequence[float]], pods: Mapping[str, Sequence[float]] | None = None) -> None:
        """A round of measurement: use by node, and by uid of pod."""
        readings = {name: Sample(self.clock.wall(), tuple(each)) for name, each in use.items()}
        measured = {uid: tuple(each) for uid, each in (pods or {}).items()}
        measure(self.parts.cache.ledger, self.clock.now, readings, measured)

    def ask(self, verb: str, thing: Object, names: Sequence[str]) -> Any:
        """The scheduler's question with names only."""
        body = orjson.dumps({"Pod": thing, "Nodes": None, "NodeNames": list(names)})
        reply = self.client.post(f"/{verb}", data=body, content_type="application/json")
        assert reply.status_code == 200, reply.data
        return orjson.loads(reply.data)

    def filter(self, thing: Object, *names: str) -> Any:
        """Ask /filter."""
        return self.ask("filter", thing, names)

    def prioritize(self, thing: Object, *names: str) -> dict[str, int]:
        """Ask /prioritize; scores by host."""
        return {each["Host"]: each["Score"] for each in self.ask("prioritize", thing, names)}

    def post(self, path: str, body: Any) -> Any:
        """POST JSON."""
        reply = self.client.post(path, data=orjson.dumps(body), content_type="application/json")
        assert reply.status_code == 200, reply.data
        return orjson.loads(reply.data)

    def get(self, path: str, status: int = 200) -> Any:
        """GET JSON."""
        reply = self.client.get(path)
        assert reply.status_code == status, reply.data
        return orjson.loads(reply.data)

    def charged(self, node: str) -> set[str]:
        """The uids the ledger holds on a node."""
        return {claim.uid for claim in self.parts.cache.ledger.claims() if claim.node == node}


def world(
    *nodes: Object, mode: str = "enforce", settings: Mapping[str, Any] | None = None, ready: bool = True
) -> World:
    """A world in which the namespace `batch` is managed; its nodes have no samples yet."""
    clock = Clock()
    parts = assemble(Settings(**(settings or {})), clock=clock.monotonic, wall=clock.wall)
    made = World(parts, clock, create(parts).test_client())
    made.namespace("batch")
    made.policy(mode=mode)
    made.nodes(*nodes)
    if ready:
        parts.cache.synced.update(NEEDED)
    return made
