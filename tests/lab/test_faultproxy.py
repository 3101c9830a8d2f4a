"""The proxy that makes trouble: each fault and each bad watch as a program behind it meets them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from random import Random

import aiohttp
import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_cluster.api.session import Session
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.watch.reflector import Reflector
from slackwater_cluster.watch.sources import PODS
from slackwater_lab.faults import requests
from slackwater_lab.faults.proxy import FaultProxy
from slackwater_lab.faults.rules import STATUS, Deliveries, Fault, Reading, Watch
from support.builders import objects
from support.fakes.apiserver import COMPRESSED, ApiServer

POD = "/api/v1/namespaces/team/pods/a"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@dataclass
class Behind:
    """An API server, and a session with the proxy before it."""

    server: ApiServer
    proxy: FaultProxy
    session: Session
    killed: list[str]


@pytest.fixture
async def behind() -> AsyncIterator[Behind]:
    """A program's place."""
    server, killed = ApiServer(), list[str]()
    async with server.running() as where:
        with FaultProxy(where, lambda: killed.append("program")) as proxy:
            async with Session(Endpoint(proxy.url, tls=False, headers=dict)) as session:
                yield Behind(server, proxy, session, killed)


@pytest.mark.parametrize("fault", list(STATUS), ids=str)
async def test_the_planned_write_is_refused_and_not_done(behind: Behind, fault: Fault) -> None:
    """The second write of its kind; those before and after it are done."""
    behind.proxy.arm(requests.GATE, 2, fault)
    said = [(await behind.session.write("PATCH", POD, {})).status for _ in range(3)]
    assert said == [200, STATUS[fault], 200]
    assert behind.server.asked[POD] == 2
    assert behind.proxy.disarm()[requests.GATE] == 3


@pytest.mark.parametrize(("fault", "done"), [(Fault.SILENT, 0), (Fault.LOST, 1), (Fault.KILLED, 1)], ids=str)
async def test_without_an_answer_nobody_knows_whether_it_was_done(behind: Behind, fault: Fault, done: int) -> None:
    """No answer, half of one, or an end of the program before it: the write was done or not."""
    behind.proxy.arm(requests.GATE, 1, fault)
    with pytest.raises(Unavailable):
        await behind.session.write("PATCH", POD, {"metadata": {}})
    assert behind.server.asked[POD] == done
    assert behind.killed == (["program"] if fault is Fault.KILLED else [])


async def test_in_a_round_every_second_write_of_a_kind_fails_in_turn(behind: Behind) -> None:
    """Other kinds are left alone."""
    behind.proxy.arm_round((requests.GATE,), (Fault.CONFLICT, Fault.BUSY))
    said = [(await behind.session.write("PATCH", POD, {})).status for _ in range(4)]
    assert said == [200, 429, 200, 409]
    assert (await behind.session.write("PATCH", f"{POD}/status", {})).ok


async def test_a_write_that_names_no_type_gets_none_on_its_way(behind: Behind) -> None:
    """The client library of the Lease names none and means JSON; another one would be refused with 415."""
    async with aiohttp.ClientSession() as plain:
        skipped = {"Content-Type"}
        async with plain.put(f"{behind.proxy.url}{POD}", data=b"{}", skip_auto_headers=skipped) as reply:
            assert reply.status == 200
    assert behind.server.types[-1] == ""


async def test_a_large_answer_is_readable_to_whoever_asks_for_no_compression(behind: Behind) -> None:
    """The proxy says nothing of its own about compression: what it passes on would be read as it comes."""
    for number in range(400):
        behind.server.put("/api/v1/pods", objects.pod(f"a-pod-with-a-long-name-{number}"))
    async with aiohttp.ClientSession(auto_decompress=False) as plain:
        skipped = {"Accept-Encoding"}
        async with plain.get(f"{behind.proxy.url}/api/v1/pods", skip_auto_headers=skipped) as reply:
            body = await reply.read()
    assert len(body) > COMPRESSED
    assert len(json.loads(body)["items"]) == 400


@pytest.mark.parametrize("how", list(Reading), ids=str)
async def test_whoever_reads_gets_answers_as_bad_as_wanted(
    behind: Behind, monkeypatch: pytest.MonkeyPatch, how: Reading
) -> None:
    """All of them, until they are good again; writes are left alone."""
    monkeypatch.setattr("slackwater_lab.faults.proxy.LATE_SECONDS", 0.2)
    behind.proxy.reading = how
    began = time.monotonic()
    if how is Reading.HALF:
        with pytest.raises(Unavailable):
            await behind.session.get("/api/v1/pods")
    else:
        reply = await behind.session.get("/api/v1/pods")
        assert reply.status == (503 if how is Reading.REFUSED else 200)
        assert isinstance(reply.json().get("items"), list) is (how in (Reading.GOOD, Reading.LATE))
    assert how is not Reading.LATE or time.monotonic() - began >= 0.2
    assert (await behind.session.write("PATCH", POD, {})).ok


async def test_half_a_list_is_no_list(behind: Behind) -> None:
    """Whoever reads it is told that the answer broke off."""
    behind.proxy.arm(requests.READ, 1, Fault.LOST)
    with pytest.raises(Unavailable):
        await behind.session.get("/api/v1/pods")
    assert (await behind.session.get("/api/v1/pods")).ok


@dataclass
class Told:
    """Who is told."""

    pods: dict[str, PodRecord] = field(default_factory=dict)
    lists: int = 0

    def changed(self, records: Sequence[PodRecord]) -> None:
        """These exist now."""
        self.pods.update({record.name: record for record in records})

    def vanished(self, records: Sequence[PodRecord]) -> None:
        """These do not."""
        for record in records:
            self.pods.pop(record.name, None)

    def synced(self) -> None:
        """A whole list was delivered."""
        self.lists += 1


@pytest.mark.parametrize("watch", list(Watch), ids=str)
async def test_a_reflector_behind_a_bad_watch_comes_to_the_truth(
    behind: Behind, monkeypatch: pytest.MonkeyPatch, watch: Watch
) -> None:
    """Late, doubled, shuffled or lost events: in the end it holds what is there."""
    monkeypatch.setattr("slackwater_lab.faults.proxy.STEP", 0.03)
    monkeypatch.setattr("slackwater_lab.faults.proxy.LOSSY_SECONDS", 0.2)
    told = Told()
    reflector = Reflector(behind.session, PODS, told, rng=Random(1), sleep=lambda _: asyncio.sleep(0.005))
    with behind.proxy.watching(watch, seed=1):
        task = asyncio.create_task(reflector.run())
        try:
            async with asyncio.timeout(20):
                while not behind.server.watchers(PODS.path):  # noqa: ASYNC110 - it happens in a server
                    await asyncio.sleep(0.005)
                made = [behind.server.put(PODS.path, objects.pod(f"p{number}")) for number in range(9)]
                for gone in made[::4]:
                    behind.server.remove(PODS.path, gone)
                wanted = {thing["metadata"]["name"] for thing in behind.server.objects[PODS.path].values()}
                while set(told.pods) != wanted or (watch is Watch.LOSSY and told.lists < 2):  # noqa: ASYNC110
                    await asyncio.sleep(0.005)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    assert watch is Watch.PROMPT or behind.proxy.told[f"watch: {watch}"] >= len(made)


@pytest.mark.parametrize("seed", range(5))
def test_events_of_one_object_keep_their_order(seed: int) -> None:
    """Those of different objects need not; none is lost."""
    deliveries = Deliveries[tuple[str, int]](Watch.SHUFFLED, Random(seed))
    heard: list[tuple[str, int]] = []
    for step in range(20):
        heard += deliveries.due(step)
        heard += deliveries.take(step, "ab"[step % 2], ("ab"[step % 2], step))
    heard += deliveries.rest()
    assert sorted(heard, key=lambda each: each[1]) == [("ab"[step % 2], step) for step in range(20)]
    for name in "ab":
        own = [step for about, step in heard if about == name]
        assert own == sorted(own)


def test_writes_are_known_by_what_they_are_for() -> None:
    """Writes of a release, status, event, lease, eviction, resize, learned sizes and the switch are counted apart."""
    custom = "/apis/slackwater.io/v1alpha1/namespaces/team/trackedapps/etl/status"
    lease = "/apis/coordination.k8s.io/v1/namespaces/slackwater-system/leases/slackwater-operator"
    learned = "/api/v1/namespaces/slackwater-system/configmaps/slackwater-learned"
    asked = [("PATCH", f"{POD}/status"), ("PATCH", POD), ("PATCH", custom), ("POST", "/api/v1/namespaces/team/events")]
    asked += [("PUT", lease), ("POST", f"{POD}/eviction"), ("PATCH", f"{POD}/resize"), ("PATCH", learned)]
    asked += [("PATCH", f"{RBAC}/clusterrolebindings/slackwater-holding")]
    found = [requests.kind(method, path, {}) for method, path in asked]
    assert found == list(requests.WRITES)
    assert requests.kind("GET", lease, {}) == requests.READ
    assert requests.kind("GET", "/api/v1/pods", {"watch": "1"}) == requests.WATCH
