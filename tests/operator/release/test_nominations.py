"""Who is nominated and who is not, and releases that did not become a bind: moved, parked, taken back."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_cluster.api.session import Answer
from slackwater_operator.cache.podstate import PodState
from support.fakes.cluster import enforcing, node
from support.fakes.loop import Away, running
from support.fakes.memoryapi import GIB


def test_tasks_are_released_by_their_gate_alone_where_the_filter_knows_their_node() -> None:
    """Room for two on each node: one write for each pod, and each goes to the node that the extender placed it on."""
    world = enforcing(node("a", cpu=2), node("b", cpu=2))
    for number in range(4):
        world.create(f"task-{number}", app="etl")
    assert world.operator().step() == 4
    assert len(world.writes) == 4
    assert not any(pod.nominated or pod.gates for pod in world.pods.values())
    placed = dict(world.entered)
    world.schedule()
    assert {pod.uid: pod.node for pod in world.pods.values()} == placed


@pytest.mark.parametrize("what", ["driver", "gang", "selector", "parked", "lowered", "without the extender"])
def test_what_must_keep_its_node_is_nominated(what: str) -> None:
    """An extender that is started anew would let it search, and without an answer the scheduler would choose alone.

    It would choose by native requests: for a pod whose requests were lowered those are less than it may come to use.
    """
    world = enforcing(node("a", pool="batch"))
    role = names.DRIVER if what == "driver" else names.TASK
    gang = {names.GANG: "true"} if what == "gang" else {}
    world.create("pod", app="etl", role=role, annotations=gang)
    if what == "selector":
        world.configure("AdmissionQueue", "batch", namespaces=["team"], nodeSelector={"pool": "batch"})
    operator = world.operator(grace=0)
    if what == "parked":
        (pod,) = world.pods.values()
        world.change(pod.uid, gates=(), annotations={**pod.annotations, names.PARKED: "2026-01-01T00:00:00+00:00"})
    if what == "lowered":
        (pod,) = world.pods.values()
        world.change(pod.uid, native=Resources(cpu=0.5, memory=GIB))
    if what == "without the extender":
        operator.releaser.places = operator.upkeep.places = Away()
        operator.step()
    operator.step()
    assert [pod.nominated for pod in world.pods.values()] == ["a"]


def test_lowered_tasks_need_no_nomination_where_the_scheduler_waits_for_an_answer() -> None:
    """The chart says so to the operator where the extender is not ignorable."""
    world = enforcing(node("a"))
    pod = world.create("task", app="etl")
    world.change(pod.uid, native=Resources(cpu=0.5, memory=GIB))
    world.operator(steer_lowered=True).step()
    assert (world.released, world.pods[pod.uid].nominated, len(world.writes)) == ([pod.uid], "", 1)


def test_held_pods_are_nominated_and_released() -> None:
    """In a cluster whose scheduler looks at some nodes only: a node named and the gate lifted, two writes each."""
    world = enforcing(node("a"))
    for number in range(2):
        world.create(f"task-{number}", app="etl")
    assert world.operator(steer_nodes=0).step() == 2
    assert all(pod.nominated == "a" and not pod.gates for pod in world.pods.values())
    assert len(world.writes) == 4
    world.schedule()
    assert running(world) == ["task-0", "task-1"]


def test_where_node_and_order_do_not_matter_one_write_does() -> None:
    """A queue that does not nominate: the gate only, charged at the extender all the same, and no more than fits."""
    world = enforcing(node("a", cpu=8))
    world.configure("AdmissionQueue", "default", release={"nominate": False})
    for number in range(3):
        world.create(f"task-{number}", cpu=4, app="etl")
    operator = world.operator()
    assert operator.step() == 2
    assert len(world.writes) == 2
    assert not any(pod.nominated for pod in world.pods.values())
    assert sorted(world.reserved) == sorted(world.released)
    assert operator.step() == 0  # they are reserved until they are bound
    world.schedule()
    assert operator.step() == 0
    assert running(world) == ["task-0", "task-1"]
    assert operator.said("etl").reason == "no-room"


def test_who_came_through_the_open_gate_and_finds_no_node_is_held_after_all() -> None:
    """It would keep room from others that nobody gave it; parked, it waits in our order like everybody."""
    world = enforcing(node("a", cpu=8))
    large = world.create("large", cpu=16, app="first", gates=())
    waits = world.create("waits", cpu=6, app="first", gates=())
    other = world.create("other", cpu=4, app="second", namespace="plain", gates=(), scheduler="default-scheduler")
    world.change(other.uid, node="a")
    operator = world.operator()
    for _ in range(8):
        operator.step()
        world.schedule()
    assert [world.pods[pod.uid].parked for pod in (large, waits)] == [True, True]
    world.finish(other.uid)
    for _ in range(4):
        operator.step()
        world.schedule()
    assert running(world) == ["waits"]


def test_a_parked_pod_keeps_no_nomination_that_the_watch_has_not_shown_yet() -> None:
    """World 2221278: the watch lagged, and the pod kept its node from others while it was parked."""
    world = enforcing(node("a", cpu=2))
    before = world.create("etl-driver", app="etl", role="driver")
    operator = world.operator()
    operator.step()
    assert world.pods[before.uid].nominated == "a"
    asyncio.run(operator.upkeep.writer.park(before, "2026-01-01T00:00:00+00:00", "a"))
    assert world.pods[before.uid].parked
    assert world.pods[before.uid].nominated == ""


def test_parked_pod_gives_its_share_to_others_and_comes_back() -> None:
    """Released but unschedulable (volcano's stated limit): after the timeout others get the share; later it returns."""
    world = enforcing(node("a", cpu=8))
    stuck = world.create("stuck", cpu=8, app="first")
    operator = world.operator()
    operator.step()
    # Somebody else's pod takes the node before our scheduler binds.
    intruder = world.create("intruder", cpu=1, app="other", namespace="plain", gates=())
    world.change(intruder.uid, node="a", scheduler="default-scheduler")
    for _ in range(70):
        world.schedule()
        operator.step()
    assert world.pods[stuck.uid].parked
    assert world.pods[stuck.uid].nominated == ""
    world.create("small", cpu=2, app="second")
    operator.step()
    world.schedule()
    assert "small" in running(world)
    world.finish(*(pod.uid for pod in world.pods.values() if pod.node))
    for _ in range(5):
        operator.step()
        world.schedule()
    assert "stuck" in running(world)


def test_who_lost_its_node_and_fits_nowhere_else_keeps_no_room_from_others() -> None:
    """Somebody else's pod took a part of its node: what is left goes to others at once, not after the timeout."""
    world = enforcing(node("a", cpu=8))
    stuck = world.create("stuck", cpu=8, app="first")
    operator = world.operator()
    operator.step()
    intruder = world.create("intruder", cpu=1, namespace="plain", gates=(), scheduler="default-scheduler", node="a")
    world.create("small", cpu=2, app="second")
    for _ in range(8):
        world.schedule()
        operator.step()
    assert world.pods[stuck.uid].parked
    assert running(world) == ["intruder", "small"]
    world.finish(intruder.uid, *(pod.uid for pod in world.pods.values() if pod.name == "small"))
    operator.step()  # it does not pause: everybody knows what kept it out
    world.schedule()
    assert running(world) == ["stuck"]


def test_who_lost_its_node_is_back_in_line_when_another_one_opens() -> None:
    """World 2220725: the scheduler's Unschedulable was waited out, and a pod of lower priority took the other node."""
    world = enforcing(node("a", cpu=8))
    world.create("first", cpu=8, app="first", priority=100)
    operator = world.operator()
    operator.step()
    world.create("thief", cpu=1, namespace="plain", gates=(), scheduler="default-scheduler", node="a")
    world.create("second", cpu=8, app="second")
    for _ in range(3):
        world.schedule()
        operator.step()
    world.add_nodes(node("b", cpu=8))
    for _ in range(2):
        operator.step()
        world.schedule()
    assert running(world) == ["first", "thief"]


@pytest.mark.parametrize(
    "change", [{"taints": (("node.kubernetes.io/memory-pressure", "", "NoSchedule"),)}, {"cordoned": True}]
)
def test_who_is_held_again_because_its_node_closed_does_not_pause(change: dict[str, Any]) -> None:
    """Everybody can see what kept it out: it goes as soon as the node is open."""
    world = enforcing(node("a", cpu=8))
    pod = world.create("stuck", cpu=4, app="first")
    operator = world.operator()
    operator.step()
    world.add_nodes(replace(world.nodes["a"], **change))
    world.change(pod.uid, unscheduled="Unschedulable")
    for _ in range(70):
        operator.step()
    assert world.pods[pod.uid].parked
    assert len(world.cache.paused) == 0
    world.add_nodes(replace(world.nodes["a"], taints=(), cordoned=False))
    operator.step()
    world.schedule()
    assert running(world) == ["stuck"]


def test_who_is_refused_on_a_node_with_room_goes_on_to_search() -> None:
    """It is not room that is missing: it keeps its share until the timeout, and pauses after that."""
    world = enforcing(node("a", cpu=8))
    pod = world.create("stuck", cpu=4, app="first")
    operator = world.operator()
    operator.step()
    world.change(pod.uid, unscheduled="Unschedulable")
    for _ in range(12):
        operator.step()
    assert not world.pods[pod.uid].parked


def test_each_is_asked_about_its_own_node() -> None:
    """Two that are refused at once on nodes with room both go on to search, and keep no node while they do."""
    world = enforcing(node("a", cpu=1, memory=64), node("b", cpu=8, memory=4))
    pods = [world.create("much-memory", memory=32, app="one"), world.create("many-cores", cpu=6, app="two")]
    operator = world.operator()
    operator.step()
    for pod in pods:
        world.change(pod.uid, unscheduled="Unschedulable")
    for _ in range(8):
        operator.step()
    assert not any(world.pods[pod.uid].parked for pod in pods)
    assert set(world.reserved) == {pod.uid for pod in pods}


def test_a_pod_that_the_extender_does_not_know_is_not_parked() -> None:
    """It was bound a moment ago, and the operator's own watch is behind; the next look will tell."""
    world = enforcing(node("a", cpu=4))
    pod = world.create("ahead", cpu=2, app="first")
    operator = world.operator()
    operator.step()
    world.change(pod.uid, unscheduled="Unschedulable")
    operator.step()
    world.pods[pod.uid] = replace(world.pods[pod.uid], node="a")  # the watch has not told
    for _ in range(4):
        asyncio.run(operator.upkeep.run())
        world.now += 5.0
    assert not world.pods[pod.uid].parked


def test_two_pods_that_may_not_preempt_do_not_block_each_other() -> None:
    """Both nominated to a node with room for one: the operator moves one nomination, and both run in the end."""
    world = enforcing(node("a", cpu=4), node("b", cpu=4))
    first = world.create("first", cpu=3, app="one")
    second = world.create("second", cpu=3, app="two")
    for pod in (first, second):
        world.change(pod.uid, gates=(), nominated="a")
    # Node b is closed at first, so that both really wait for a.
    closed = world.nodes.pop("b")
    world.schedule()
    assert running(world) == []
    world.nodes["b"] = closed
    operator = world.operator()
    for _ in range(8):
        operator.step()
        world.schedule()
    assert running(world) == ["first", "second"]


def test_a_refused_pod_goes_when_room_returns() -> None:
    """Its node was taken and no other has room: it is held again. Some seconds after room is there, it goes."""
    world = enforcing(node("a", cpu=2))
    pod = world.create("t", cpu=2, app="etl")
    operator = world.operator()
    operator.step()
    other = world.create("thief", cpu=2, namespace="kube-system", gates=(), scheduler="default-scheduler")
    world.change(other.uid, node="a", phase="Running")
    for _ in range(8):
        world.schedule()
        operator.step()
    assert world.pods[pod.uid].nominated == ""
    world.finish(other.uid)
    for _ in range(6):
        operator.step()
        world.schedule()
    assert world.pods[pod.uid].node == "a"


def test_a_refused_pod_is_named_another_node_as_soon_as_the_extender_tells_of_room() -> None:
    """It need not wait until it has been Unschedulable for long."""
    world = enforcing(node("a", cpu=2))
    pod = world.create("t", cpu=2, app="etl")
    operator = world.operator()
    operator.step()
    thief = world.create("thief", cpu=2, namespace="kube-system", gates=(), scheduler="default-scheduler")
    world.change(thief.uid, node="a", phase="Running")
    world.schedule()
    world.add_nodes(node("b", cpu=2))
    world.woken = [pod.uid]
    operator.step()
    assert world.pods[pod.uid].nominated == "b"


def test_a_stuck_pod_is_not_moved_to_nodes_of_other_queues() -> None:
    """Somebody took the nodes of its queue: it is held again, not sent where it may not go, nor left to search."""
    world = enforcing(node("own-1", cpu=4, pool="q"), node("own-2", cpu=4, pool="q"), node("other", cpu=16))
    world.configure("AdmissionQueue", "q", namespaces=["team"], nodeSelector={"pool": "q"})
    pod = world.create("task", cpu=3, app="etl")
    operator = world.operator()
    operator.step(0)
    for own in ("own-1", "own-2"):
        world.create(f"on-{own}", cpu=4, namespace="else", gates=(), scheduler="default-scheduler", node=own)
    world.change(pod.uid, unscheduled="Unschedulable")
    for _ in range(20):
        operator.step()
        assert world.pods[pod.uid].nominated != "other"
    assert world.pods[pod.uid].parked
    moves = [wish for call in world.place_calls for wish in call.wishes if wish.avoid]
    assert {wish.nodes for wish in moves} == {("own-1", "own-2")}


def test_the_nodes_of_a_queue_are_looked_up_once_for_all_its_pods() -> None:
    """Released or moved: with thousands of nodes a list for each pod would keep everybody waiting."""
    world = enforcing(node("own", cpu=4, pool="q"), node("other", cpu=16))
    world.configure("AdmissionQueue", "q", namespaces=["team"], nodeSelector={"pool": "q"})
    pods = [world.create(f"task-{number}", app="etl") for number in range(2)]
    operator = world.operator()
    operator.step(0)
    world.create("on-own", cpu=4, namespace="else", gates=(), scheduler="default-scheduler", node="own")
    for pod in pods:
        world.change(pod.uid, unscheduled="Unschedulable")
    for _ in range(20):
        operator.step()
    released, *later = (call.wishes for call in world.place_calls)
    moved = [wishes for wishes in later if wishes[0].avoid]  # others ask about the pod's own node
    batches = [released, *moved]
    assert moved
    assert all(first.nodes == ("own",) and first.nodes is second.nodes for first, second in batches)


def test_who_cannot_be_parked_keeps_the_window_from_nobody() -> None:
    """Another admission policy refuses the mark: the pods wait outside the window, and parking is tried again later."""
    world = enforcing(node("a", cpu=16))
    world.cache.window = 2
    bad = [world.create(f"bad-{number}", app=f"bad-{number}") for number in range(2)]
    operator, write, refused = world.operator(), world.write, list[str]()

    async def strict(method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        if names.PARKED in (body.get("metadata", {}).get("annotations") or {}):
            refused.append(path)
            return Answer(403, b'{"message": "denied"}')
        return await write(method, path, body, content_type=content_type)

    world.write = strict  # type: ignore[method-assign]
    operator.step()
    for pod in bad:
        world.change(pod.uid, unscheduled="Unschedulable")
    good = [world.create(f"good-{number}", app=f"good-{number}") for number in range(4)]
    for _ in range(600):
        operator.step()
        for pod in good:
            if not world.pods[pod.uid].gates and not world.pods[pod.uid].node:
                world.change(pod.uid, node="a")
    assert all(world.pods[pod.uid].node for pod in good)
    assert {world.cache.state_of(world.pods[pod.uid]) for pod in bad} == {PodState.STRANDED}
    assert 4 <= len(refused) <= 20, "tried again, and ever more seldom"
    assert not any(world.cache.in_flight.get(pod.uid).node for pod in bad), "no room is asked for them"  # type: ignore[union-attr]
    assert operator.said("bad-0").reason == "not-bound"
    world.write = write  # type: ignore[method-assign]
    for _ in range(700):
        operator.step()
        if all(world.pods[pod.uid].parked for pod in bad):
            break
    assert not world.cache.in_flight, "parked as soon as nobody refuses it"
