"""Pods of one tenant that nobody can help keep nothing from another: room, window, writes and words."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from slackwater.cycle.appverdicts import WaitReason
from slackwater.errors import Unavailable
from slackwater_cluster import names
from slackwater_cluster.api.session import Answer
from slackwater_cluster.objects.records import CustomRecord, NamespaceRecord
from slackwater_operator.cache.refusals import Vain
from slackwater_operator.clients.extenderclient import Placement, PlacementWish
from slackwater_operator.clients.ratelimit import TokenBucket
from support.fakes.cluster import Operator, node
from support.fakes.loop import release_loop
from support.fakes.twotenants import BROKEN, TwoTenants, arrive, play, turns, two_tenants


@pytest.mark.parametrize(("pods", "cores"), [(100, 100), (250, 1000)], ids=["all the room", "all the window"])
@pytest.mark.parametrize("apps", [1, 20])
def test_pods_that_the_scheduler_never_binds_let_others_go(pods: int, cores: int, apps: int) -> None:
    """A Job whose pods name a volume that does not exist came first; stock would run the others at once."""
    world = two_tenants(cores)
    arrive(world, pods, 50, apps)
    play(world, world.operator(), 40)
    assert world.running("team") == 50


def test_when_their_pauses_end_together_one_of_them_is_tried_and_not_all() -> None:
    """They were all let go in one moment: after each pause they would take the window again in one moment."""
    world = two_tenants(1000)
    arrive(world, 250, 0)
    operator = world.operator()
    play(world, operator, 20)
    most = 0
    for _ in range(60):
        play(world, operator, 1)
        most = max(most, len(world.cache.in_flight))
    assert 1 <= most <= 2


@pytest.mark.parametrize("selector", [{}, {"pool": "batch"}], ids=["any node", "the queue's own node"])
def test_on_one_node_as_well(selector: dict[str, str]) -> None:
    """There is no other node to try: the scheduler refuses the same one again and again."""
    world = TwoTenants()
    world.configure("AdmissionQueue", "all", namespaces=["team", BROKEN], nodeSelector=selector)
    world.configure("SlackPolicy", "default", mode="enforce")
    for name in ("team", BROKEN):
        world.namespace(name)
    world.add_nodes(node("only", cpu=8, pool="batch"))
    arrive(world, 8, 4)
    play(world, world.operator(), 60)
    assert world.running("team") == 4


def test_it_is_said_why_a_pod_that_came_to_no_node_waits() -> None:
    """The scheduler refused three nodes with room; what it says of the pod is one command away."""
    world = two_tenants(100)
    world.create("b", namespace=BROKEN, app="b0")
    operator = world.operator()
    said: dict[WaitReason, str] = {}
    for _ in range(25):
        play(world, operator, 1)
        assert operator.releaser.result is not None
        verdict = operator.releaser.result.round.verdicts[f"{BROKEN}/b0"]
        said[verdict.reason] = verdict.sentence
    assert "kubectl describe pod" in said[WaitReason.NOT_BOUND]


def test_many_apps_that_never_run_stand_behind_the_others_once_each_was_tried() -> None:
    """60 Jobs of one pod each, and a window of 30: each has its turn, and then those that came meanwhile."""
    world = two_tenants(1000)
    world.cache.window = 30
    arrive(world, 60, 20, apps=60)
    play(world, world.operator(), 45)
    assert world.running("team") == 20


def longest_wait(world: TwoTenants, operator: Operator, seconds: int) -> float:
    """Of one new pod of the other tenant each third second: how long the longest waited for its node."""
    waiting, longest = dict[str, float](), 0.0
    for second in range(seconds):
        if second % 3 == 0 and second < seconds - 30:
            waiting[world.create(f"g{world.now:.0f}", app=f"g{world.now:.0f}").uid] = world.now
        play(world, operator, 1)
        bound = [uid for uid in waiting if world.pods[uid].node]
        longest = max([longest, *(world.now - waiting.pop(uid) for uid in bound)])
    assert not waiting
    return longest


def whole(members: int) -> dict[str, str]:
    """What says that so many pods are a gang."""
    return {names.GANG: "true"} if members > 1 else {}


def crowd(role: str = "task") -> tuple[TwoTenants, Operator]:
    """36 broken apps of one pod, and a window of 8: each was tried once, and their pauses end."""
    world = two_tenants(1000)
    world.cache.window = 8
    for number in range(36):
        world.create(f"b{number}", namespace=BROKEN, app=f"b{number}", role=role)
    operator = world.operator()
    play(world, operator, 100)
    return world, operator


@pytest.mark.parametrize("role", ["task", "driver"])
def test_many_apps_that_never_run_leave_others_half_of_the_window(role: str) -> None:
    """They are tried again and again, and others go at once."""
    assert longest_wait(*crowd(role), 90) <= 2


@pytest.mark.parametrize("members", [1, 6])
def test_what_is_tried_again_does_not_wait_for_many_apps_of_somebody_else(members: int) -> None:
    """Its release came to nothing before; a gang of more than half of the window waits until those are held again."""
    world, operator = crowd()
    pods = [world.create(f"t{number}", app="job", labels=whole(members)) for number in range(members)]
    for pod in pods:
        world.cache.pause(pod.uid, world.now, Vain.UNBOUND)
    play(world, operator, 8 if members == 1 else 30)
    assert world.running("team") == members


def test_after_an_outage_of_the_scheduler_the_whole_window_is_used() -> None:
    """Everything was tried in vain, and nobody else waits."""
    world = two_tenants(1000)
    world.cache.window = 8
    for number in range(40):
        pod = world.create(f"t{number}", app=f"t{number}")
        world.cache.pause(pod.uid, world.now, Vain.UNBOUND)
    world.now += 5
    play(world, world.operator(), 5)
    assert world.running("team") == 40


def test_a_broken_pod_does_not_keep_its_likes() -> None:
    """One index of a Job has no volume; as many of the others go as run already, and one: 1, then 2, 4, 8."""
    world = two_tenants(400)
    first = world.create("t0", app="job")
    for _ in range(8):
        world.cache.pause(first.uid, world.now, Vain.UNBOUND)
    for number in range(1, 32):
        world.create(f"t{number}", app="job")
    play(world, world.operator(), 8)
    assert world.running("team") == 31


def test_a_driver_that_pauses_claims_nothing() -> None:
    """Of higher priority and released in vain: neither budget nor room is kept for it meanwhile."""
    world = two_tenants(40)
    sizes = {names.TASKS: "1", names.TASK_CPU: "2"}
    world.create("b", namespace=BROKEN, app="b", cpu=3, role="driver", priority=100, annotations=sizes)
    operator = world.operator()
    play(world, operator, 20)
    for number in range(8):
        world.create(f"d{number}", cpu=2, role="driver", app=f"d{number}", annotations=sizes)
    play(world, operator, 3)
    assert world.running("team") == 8


def test_one_write_that_fails_does_not_keep_the_likes_of_its_pod() -> None:
    """The other 99 go in the same second, and the app keeps its place in line."""
    world = two_tenants(1000)
    pods = [world.create(f"t{number}", app="job") for number in range(100)]
    world.broken = lambda path: path.endswith("/t7")
    operator = world.operator()
    play(world, operator, 2)
    assert world.running("team") == 99
    world.broken = lambda _: False
    play(world, operator, 5)
    assert world.pods[pods[7].uid].node


def test_a_pod_that_goes_while_its_release_is_written_pauses_no_more() -> None:
    """The watch tells of its end before the API server answers that it does not exist."""
    world = two_tenants(100)
    pod = world.create("t", app="job")
    world.delete(pod)
    world.cache.pause(pod.uid, world.now, Vain.UNWRITTEN)
    assert len(world.cache.paused) == 0


def test_an_extender_that_places_nothing_is_away_for_those_who_come_later_too() -> None:
    """A round in which nobody waits does not make it well."""
    world = HalfAway()
    world.configure("SlackPolicy", "default", mode="enforce")
    world.namespace("team")
    world.add_nodes(node("a", cpu=16))
    world.create("first", app="a")
    operator = world.operator()
    play(world, operator, 70)
    world.create("second", app="b")
    play(world, operator, 3)
    assert world.running("team") == 2


def test_a_pod_that_is_bound_at_last_starts_afresh() -> None:
    """Its volume came: what went before counts for nothing."""
    world = two_tenants(100)
    pod = world.create("t", app="job")
    world.cache.pause(pod.uid, world.now, Vain.UNBOUND)
    play(world, world.operator(), 8)
    assert world.running("team") == 1
    assert world.cache.paused.times(pod.uid) == 0


@pytest.mark.parametrize("status", [404, 409, 422, 429, 500])
def test_releases_that_are_not_written_let_others_go(status: int) -> None:
    """Whatever the API server answers: a webhook of that namespace is down, or a pod is too large for etcd."""
    world = two_tenants(120, status)
    arrive(world, 300, 20)
    play(world, world.operator(), 30)
    assert world.running("team") == 20
    assert len(world.refused) < 3_000


def test_opted_out_pods_that_cannot_be_let_go_do_not_keep_the_others() -> None:
    """Their namespaces are managed no more; the writes of the first 150 are refused."""
    world = two_tenants(100, 422)
    for number in range(150):
        world.create(f"b{number}", namespace=BROKEN, app="bad", cpu=20)
    for number in range(20):
        world.create(f"t{number}", app="good", cpu=20)
    for name in ("team", BROKEN):
        world.cache.set_namespaces([NamespaceRecord(name=name)], world.now)
    world.now += 10
    play(world, world.operator(), 20)
    assert not [pod for pod in world.pods.values() if pod.namespace == "team" and pod.gates]


class HalfAway(TwoTenants):
    """Its extender tells rooms, and finds no nodes."""

    async def place(self, wishes: Sequence[PlacementWish], *, cold: bool = False, alpha: float = 0.0) -> Placement:
        """Every batch fails."""
        if wishes:
            raise Unavailable("timed out")
        return await super().place(wishes, cold=cold, alpha=alpha)


def test_an_extender_that_tells_rooms_and_places_nothing_is_away() -> None:
    """The grace time ends, although rooms are told in every round; until then it is said why nothing goes."""
    world = HalfAway()
    world.configure("SlackPolicy", "default", mode="enforce")
    world.namespace("team")
    world.add_nodes(node("a", cpu=16))
    world.create("t", app="etl")
    operator = world.operator()
    play(world, operator, 30)
    assert operator.releaser.result is not None
    assert "the extender does not answer" in operator.releaser.result.holding
    assert world.running("team") == 0
    play(world, operator, 60)
    assert world.running("team") == 1


def test_a_namespace_that_is_being_deleted_does_not_use_up_the_writes() -> None:
    """Its pods have finalizers, and no TrackedApp can be made there; those of other namespaces are written."""
    world = two_tenants(40, 403)
    for number in range(60):
        world.create(f"d{number}", namespace=BROKEN, app=f"d{number}", deleted=world.now)
    loop = release_loop(world)
    loop.tracker.bucket = TokenBucket(10, 20, world.clock)
    turns(world, loop, 3)
    world.create("new", app="new", cpu=80)
    turns(world, loop, 30)
    assert any("namespaces/team/trackedapps" in path for _, path, _ in world.posted)


@pytest.mark.parametrize(("status", "many"), [(500, 1), (403, 60), (422, 60)])
def test_pods_whose_reason_cannot_be_written_do_not_keep_those_of_others(status: int, many: int) -> None:
    """They stand first in the list, and the API server fails, or another policy refuses the annotation."""
    world = two_tenants(40, status)
    for number in range(many):
        world.create(f"b{number}", namespace=BROKEN, app="b", cpu=8)
    pods = [world.create(f"g{number}", app=f"g{number}", cpu=8) for number in range(5)]
    loop = release_loop(world)
    loop.labeller.bucket = TokenBucket(10, 10, world.clock)
    turns(world, loop, 40)
    assert all(names.REASON in world.pods[pod.uid].annotations for pod in pods)


def test_an_object_that_is_deleted_while_its_status_is_written_is_not_kept() -> None:
    """The answer comes after the watch told of the end."""
    world = two_tenants(40)
    loop = release_loop(world)
    loop.reporter.set("AdmissionQueue", [CustomRecord(name="night", generation=1)])
    write, late = world.write, list[str]()

    async def deleting(method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        if "admissionqueues/night" not in path:
            return await write(method, path, body, content_type=content_type)
        late.append(path)
        loop.reporter.drop("AdmissionQueue", [CustomRecord(name="night")])
        return Answer(200, b'{"metadata": {"name": "night"}}')

    world.write = deleting  # type: ignore[method-assign]
    turns(world, loop, 60)
    assert len(late) <= 1


def test_nominations_that_cannot_be_taken_back_hold_up_no_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were taken back one after the other before each round: with ten seconds each, nobody was released."""
    world, answered = two_tenants(1000), asyncio.Event()
    world.configure("AdmissionQueue", BROKEN, namespaces=[BROKEN], annotations={names.PAUSE: "true"})
    world.configure("AdmissionQueue", "team", namespaces=["team"])
    loop, write = release_loop(world, steer_nodes=0), world.write

    async def hanging(method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        if f"/namespaces/{BROKEN}/" in path and path.endswith("/status"):
            await answered.wait()
            return Answer(500, b'{"message": "failed calling webhook"}')
        return await write(method, path, body, content_type=content_type)

    async def two_rounds() -> None:
        await loop.turn()
        world.now += 1
        await loop.turn()
        assert not answered.is_set()
        answered.set()
        await loop.releaser.writes.drain()

    monkeypatch.setattr(world, "write", hanging)
    arrive(world, 20, 1, apps=20)
    for uid, pod in world.pods.items():
        if pod.namespace == BROKEN:
            world.cache.nominated_in_vain[uid] = world.now
    asyncio.run(asyncio.wait_for(two_rounds(), 10))
    assert [pod.namespace for pod in world.pods.values() if not pod.gates] == ["team"]
