"""The thread that watches Kubernetes and writes what it sees into the cache.

Namespaces, policies, users' frameworks and nodes are listed before pods: then every pod is judged once, by what governs
it, and its record keeps the labels that recognition reads.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from slackwater.errors import SlackwaterError, Unavailable
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_cluster.api.session import Session
from slackwater_cluster.apps.ownerlookup import OwnerReader, Parents
from slackwater_cluster.objects import wire as shapes
from slackwater_cluster.objects.records import CustomRecord, NamespaceRecord, NodeRecord, OwnerRef, PodRecord
from slackwater_cluster.watch import garbage, trim
from slackwater_cluster.watch.offeredkinds import OfferedKinds
from slackwater_cluster.watch.reflector import Reflector
from slackwater_cluster.watch.sources import NAMESPACES, NODES, PODS, customs, frameworks
from slackwater_extender.cache.cache import ClusterCache
from slackwater_extender.cache.gatebypass import GUARDED
from slackwater_extender.cache.refusedpods import Unschedulable

log = structlog.get_logger(__name__)

FIRST = ("namespaces", "SlackPolicy", "frameworks", "nodes")
REVIEW_SECONDS = 3.0
LOOK_UP_SECONDS = 0.5


@dataclass
class Sink:
    """Base of the sinks: notes in the cache that a kind was listed completely."""

    cache: ClusterCache
    kind: str

    def synced(self) -> None:
        """Everything of this kind is known."""
        with self.cache.lock.background():
            self.cache.synced.add(self.kind)


@dataclass
class PodSink(Sink):
    """Pods into the ledger."""

    waiting: Unschedulable

    def changed(self, records: Sequence[PodRecord]) -> None:
        """Take in pods that are new or changed."""
        self.cache.set_pods(records)
        if len(self.waiting):
            for record in records:
                if record.node or record.done:
                    self.waiting.drop(record.uid)

    def vanished(self, records: Sequence[PodRecord]) -> None:
        """Drop pods that are gone."""
        self.cache.drop_pods(records)
        for record in records:
            self.waiting.drop(record.uid)

    def synced(self) -> None:
        """All pods are known."""
        super().synced()
        self.waiting.keep(self.cache.index.pods)
        garbage.set_apart()


@dataclass
class NodeSink(Sink):
    """Nodes into the ledger."""

    offered: OfferedKinds

    def changed(self, records: Sequence[NodeRecord]) -> None:
        """Take in nodes that are new or changed."""
        self.offered.set_nodes(records)
        self.cache.set_nodes(records)

    def vanished(self, records: Sequence[NodeRecord]) -> None:
        """Drop nodes that are gone."""
        self.cache.drop_nodes(records)


class NamespaceSink(Sink):
    """Namespaces into the policies; pods of one that changed sides are judged anew."""

    def changed(self, records: Sequence[NamespaceRecord]) -> None:
        """Take in namespaces that are new or changed."""
        with self.cache.lock.background():
            turned = self.cache.governance.set_namespaces(records)
        self.cache.reconsider(turned)

    def vanished(self, records: Sequence[NamespaceRecord]) -> None:
        """Drop namespaces that are gone."""
        with self.cache.lock.background():
            turned = self.cache.governance.drop_namespaces(records)
        self.cache.reconsider(turned)


@dataclass
class PolicySink(Sink):
    """SlackPolicies: modes act at once, other terms make a new ledger, other role labels let pods be judged anew."""

    reread: Callable[[], None]  # list pods anew, with the labels that recognition reads now

    def _follow(self) -> None:
        self.cache.set_terms()
        if self.cache.set_frameworks():
            self.reread()

    def changed(self, records: Sequence[CustomRecord]) -> None:
        """Take in policies that are new or changed."""
        with self.cache.lock.background():
            self.cache.governance.set(self.kind, records)
        for record in records:
            if problem := self.cache.governance.broken.get((self.kind, record.name)):
                log.warning("policy not understood", policy=record.name, problem=problem)
        self._follow()

    def vanished(self, records: Sequence[CustomRecord]) -> None:
        """Drop policies that are gone."""
        with self.cache.lock.background():
            self.cache.governance.drop(self.kind, records)
        self._follow()


@dataclass
class FrameworkSink(Sink):
    """ConfigMaps with rows for the framework table."""

    reread: Callable[[], None]

    def changed(self, records: Sequence[CustomRecord]) -> None:
        """Take in ConfigMaps of frameworks that are new or changed."""
        self.cache.frameworks.set({record.name: record.data for record in records})
        self._follow()

    def vanished(self, records: Sequence[CustomRecord]) -> None:
        """Drop ConfigMaps of frameworks that are gone."""
        self.cache.frameworks.drop(record.name for record in records)
        self._follow()

    def _follow(self) -> None:
        for problem in self.cache.frameworks.problems:
            log.error("framework left out", problem=str(problem))
        if self.cache.set_frameworks():
            self.reread()


class GuardSink(Sink):
    """Queues, pools and apps into the guard."""

    def changed(self, records: Sequence[CustomRecord]) -> None:
        """Take in queues, pools or TrackedApps that are new or changed."""
        with self.cache.lock.background():
            self.cache.guard.set(self.kind, records)

    def vanished(self, records: Sequence[CustomRecord]) -> None:
        """Drop queues, pools or TrackedApps that are gone."""
        with self.cache.lock.background():
            self.cache.guard.drop(self.kind, records)


@dataclass
class Watcher:
    """All reflectors in one thread with a loop of its own. `die` is called if any of them ends."""

    endpoint: Endpoint
    cache: ClusterCache
    waiting: Unschedulable
    die: Callable[[BaseException], None]
    reflectors: dict[str, Reflector[Any]] = field(default_factory=dict)

    def start(self) -> None:
        """Begin to watch."""
        garbage.expect_many()
        self._loop = asyncio.new_event_loop()
        self._session: Session | None = None
        self._stop, self._to_reread = asyncio.Event(), asyncio.Event()
        self._keep = trim.only(self.cache.index.keys)
        self._offered = OfferedKinds(self._to_reread.set)
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(timeout=5)

    def troubles(self) -> dict[str, str]:
        """What cannot be read now, by kind."""
        return {kind: each.health.trouble for kind, each in self.reflectors.items() if each.health.trouble}

    def review(self, token: str, audiences: Sequence[str] = ()) -> str | None:
        """Ask the API server whose token this is; called from request threads."""
        if self._session is None:
            raise Unavailable("the API server is not connected yet")
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token, **({"audiences": list(audiences)} if audiences else {})},
        }
        asked = self._session.write("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body)
        asking = asyncio.run_coroutine_threadsafe(asked, self._loop)
        try:
            answer = asking.result(timeout=REVIEW_SECONDS)
        except TimeoutError as late:
            asking.cancel()
            raise Unavailable(f"TokenReview: no answer within {REVIEW_SECONDS:g} s") from late
        if not answer.ok:
            raise Unavailable(f"TokenReview: {answer.message()}")
        status = answer.json().get("status", {})
        return str(status.get("user", {}).get("username", "")) if status.get("authenticated") else None

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._watch())
        except BaseException as problem:  # noqa: BLE001 - whatever ended the watch must end the program
            self.die(problem)
        finally:
            self._loop.close()

    async def _watch(self) -> None:
        async with Session(self.endpoint) as session:
            self._session = session
            self.reflectors.update(self._make(session))
            watching = asyncio.create_task(self._reflect(session))
            stopping = asyncio.create_task(self._stop.wait())
            done, _ = await asyncio.wait({watching, stopping}, return_when=asyncio.FIRST_COMPLETED)
            for task in (watching, stopping):
                task.cancel()
            await asyncio.gather(watching, stopping, return_exceptions=True)
            if watching in done:
                watching.result()

    def _make(self, session: Session) -> dict[str, Reflector[Any]]:
        cache = self.cache
        made: dict[str, Reflector[Any]] = {
            "namespaces": Reflector(session, NAMESPACES, NamespaceSink(cache, "namespaces")),
            "SlackPolicy": Reflector(session, customs("SlackPolicy"), PolicySink(cache, "SlackPolicy", self._reread)),
            "frameworks": Reflector(
                session, frameworks(cache.settings.own_namespace), FrameworkSink(cache, "frameworks", self._reread)
            ),
            "nodes": Reflector(session, NODES, NodeSink(cache, "nodes", self._offered)),
            "pods": Reflector(
                session, replace(PODS, trim=self._slim), PodSink(cache, "pods", self.waiting), anew=self._to_reread
            ),
        }
        for kind in GUARDED:
            made[kind] = Reflector(session, customs(kind), GuardSink(cache, kind))
        return made

    async def _reflect(self, session: Session) -> None:
        async with asyncio.TaskGroup() as group:
            for kind, each in self.reflectors.items():
                if kind != "pods":
                    group.create_task(each.run(), name=f"watch {kind}")
            while not all(self.reflectors[kind].health.synced for kind in FIRST):  # noqa: ASYNC110 - once, at start
                await asyncio.sleep(0.02)
            group.create_task(self.reflectors["pods"].run(), name="watch pods")
            group.create_task(self._look_up(OwnerReader(session)), name="look up owners")

    async def _look_up(self, owners: OwnerReader) -> None:
        """Look up owners that recognition asks about, as the operator does."""
        while True:
            await owners.run(self._unknown, self._learn)
            await asyncio.sleep(LOOK_UP_SECONDS)

    def _unknown(self) -> list[tuple[OwnerRef, str]]:
        wanted = self.cache.index.unknown()
        if "pods" not in self.cache.synced:  # a pod above them may stand further down the list
            wanted = [each for each in wanted if each[0].kind != "Pod"]
        return wanted

    def _learn(self, owner: OwnerRef, parents: Parents) -> None:
        self.cache.learn_owner(owner, () if isinstance(parents, Exception) else parents)

    def _reread(self) -> None:
        """Let pods be listed anew. Called in the thread of the watch."""
        self._keep = trim.only(self.cache.index.keys)
        self._to_reread.set()

    def _slim(self, wire: shapes.Pod) -> PodRecord:
        """A pod with those labels only that recognition reads: siblings then share them, which halves the memory."""
        return self._offered.trim(wire, self._keep)


def refusal(problem: BaseException) -> str:
    """One sentence about why the watch ended."""
    return str(problem) if isinstance(problem, SlackwaterError) else f"{type(problem).__name__}: {problem}"
