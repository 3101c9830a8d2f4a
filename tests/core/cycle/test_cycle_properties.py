"""What holds for every round, whatever the cluster looks like."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.cycle.audit.claims import Claim, holds
from slackwater.cycle.cycle import Round, decide
from slackwater.cycle.noderooms import NodeRooms
from slackwater.cycle.snapshot import App, Order, PodGroup, Pool, Queue, Snapshot
from slackwater.pools.pools import Category
from slackwater.resources import Resources, total
from slackwater.roles import Role
from slackwater.validation import TOLERANCE
from support.builders.nodes import node_table
from support.examples import examples

sizes = st.builds(
    lambda cpu, memory: Resources(cpu=cpu, memory=memory),
    st.sampled_from([0.5, 1.0, 2.0, 4.0]),
    st.sampled_from([1.0, 2.0, 8.0]),
)


@st.composite
def apps(draw: st.DrawFn, number: int) -> App:
    """An app in some state of its life."""
    name = f"app{number:02}"
    started = draw(st.booleans())
    has_driver = draw(st.booleans())
    groups = []
    if has_driver:
        held = 0 if started else 1
        uids = tuple(f"{name}/driver/{n}" for n in range(held))
        groups.append(PodGroup(f"{name}/driver", Role.DRIVER, draw(sizes), held=uids, running=1 if started else 0))
    if started or not has_driver:
        for stage in range(draw(st.integers(0 if has_driver else 1, 2))):
            count = draw(st.integers(0, 6))
            groups.append(
                PodGroup(
                    f"{name}/{stage}",
                    Role.TASK,
                    draw(sizes),
                    held=tuple(f"{name}/{stage}/{n}" for n in range(count)),
                    released=draw(st.integers(0, 2)) if started else 0,
                    running=draw(st.integers(0, 3)) if started else 0,
                    finished=draw(st.integers(0, 3)) if started else 0,
                    stage=str(stage),
                    level=stage,
                    waiting=stage > 0,
                )
            )
    return App(
        name,
        draw(st.sampled_from(["a", "b", "c"])),
        float(draw(st.integers(0, 5))),
        tuple(groups),
        priority=draw(st.sampled_from([0, 0, 10])),
        started=started,
        demand=draw(st.none() | st.floats(1, 40)),
        task_request=draw(sizes),
        has_driver=has_driver,
        gang=draw(st.booleans()) if not has_driver else False,
        strict=draw(st.booleans()),
        stages=draw(st.sampled_from([0, 0, 5])),
        stage=draw(st.integers(1, 5)),
        paused=draw(st.sampled_from([False, False, False, True])),
        driver_bound=draw(st.sampled_from([None, -300.0, 90.0])) if started and has_driver else None,
        served=draw(st.sampled_from([None, -400.0, 50.0, 95.0])) if started else None,
    )


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """A whole cluster."""
    capacity = Resources(cpu=draw(st.floats(0, 64)), memory=draw(st.floats(0, 128)))
    free = capacity * draw(st.floats(0, 1))
    tot = draw(st.floats(0, 80))
    queue = Queue(
        "default",
        capacity,
        maximum=draw(st.none() | st.just(capacity * 2)),
        free=free,
        total=capacity,
        order=draw(st.sampled_from(Order)),
        weights={"a": 2.0},
        pool=draw(st.sampled_from(["", "default"])),
    )
    pool = Pool(
        "default",
        Resources(cpu=1, memory=2),
        tot=tot,
        nominal=tot,
        delta=draw(st.floats(0, 1)),
        releases={kind: draw(st.floats(0, 10)) for kind in Category},
        outlook=((10.0, 5.0), (20.0, 50.0)),
    )
    members = tuple(draw(apps(number)) for number in range(draw(st.integers(0, 8))))
    return Snapshot(100.0, (queue,), members, (pool,), window=draw(st.integers(0, 20)))


def placed(outcome: Round) -> list[Resources]:
    """Requests of everything released onto nodes that exist."""
    return [release.group.request for release in outcome.releases if not release.growth]


@given(snapshots())
def test_releases_fit_into_what_is_free(snapshot: Snapshot) -> None:
    """Never more than the queue's room in any kind."""
    assert total(placed(decide(snapshot))).fits(snapshot.queues[0].free)


@given(snapshots())
def test_releases_stay_inside_the_window(snapshot: Snapshot) -> None:
    """Except a gang larger than the window, which goes alone and only when nothing else is on its way."""
    outcome = decide(snapshot)
    flight = sum(group.released for app in snapshot.apps for group in app.groups)
    members = [release for release in outcome.releases if not release.growth]
    gangs = {app.id for app in snapshot.apps if app.gang}
    if members and members[0].app in gangs and flight == 0:
        first = [release for release in members if release.app == members[0].app]
        assert len(members) <= max(snapshot.window, len(first))
    else:
        assert len(members) <= max(0, snapshot.window - flight)


@given(snapshots())
def test_no_pod_is_released_twice_and_only_held_ones_are(snapshot: Snapshot) -> None:
    """Each release names one held pod of the snapshot."""
    uids = [release.uid for release in decide(snapshot).releases]
    held = {uid for app in snapshot.apps for group in app.groups for uid in group.held}
    assert len(uids) == len(set(uids))
    assert set(uids) <= held


@settings(max_examples=examples(300))
@given(snapshots(), st.booleans(), st.booleans())
def test_nothing_is_held_for_nobody(snapshot: Snapshot, divided: bool, narrow: bool) -> None:
    """The rule: what has room on a node and no better claim against it is released; by sums, and node by node."""
    seen = on_nodes(snapshot) if divided else snapshot
    seen = seen if narrow else replace(seen, window=1000)
    kept = [hold for hold in holds(seen, decide(seen)) if hold.claim is Claim.NOBODY]
    assert kept == []


@st.composite
def ended_groups(draw: st.DrawFn, name: str) -> tuple[PodGroup, ...]:
    """Groups of pods of an app that have all ended, and are kept to be read."""
    roles = draw(st.lists(st.sampled_from([Role.DRIVER, Role.TASK]), max_size=3))
    return tuple(
        PodGroup(f"{name}/ended/{number}", role, draw(sizes) * 8, finished=draw(st.integers(1, 3)), constraints="gone")
        for number, role in enumerate(roles)
    )


@given(snapshots(), st.booleans(), st.data())
def test_what_has_ended_before_an_app_starts_says_nothing_of_it(
    snapshot: Snapshot, divided: bool, data: st.DataObject
) -> None:
    """A driver is tried again: it goes where and when it would if the pods of its last try had been deleted."""
    seen = on_nodes(snapshot) if divided else snapshot
    fresh = [app for app in seen.apps if not app.started and app.has_driver]
    tried = {app.id: replace(app, groups=(*data.draw(ended_groups(app.id)), *app.groups)) for app in fresh}
    again = replace(seen, apps=tuple(tried.get(app.id, app) for app in seen.apps))
    assert _outcome(decide(again)) == _outcome(decide(seen))


def _outcome(outcome: Round) -> tuple[object, ...]:
    """Who starts, which pods go in which order, and what the others are told."""
    said = {app: verdict.sentence for app, verdict in outcome.verdicts.items()}
    return outcome.started, [(release.uid, release.avoid) for release in outcome.releases], said


@given(snapshots())
def test_releases_fit_their_nodes(snapshot: Snapshot) -> None:
    """Every release finds a node with room, one after the other."""
    seen = on_nodes(snapshot)
    rooms = NodeRooms(seen)
    for release in decide(seen).releases:
        if not release.growth:
            assert rooms.take(rooms.shapes(seen.queues[0], [release.group])[0]) >= 0


def on_nodes(snapshot: Snapshot) -> Snapshot:
    """The same with its room on three nodes of different size, one of which tasks cannot reach."""
    free, capacity = snapshot.queues[0].free, snapshot.queues[0].capacity
    parts = [0.5, 0.3, 0.2]
    room = [[free["cpu"] * part, free["memory"] * part] for part in parts]
    total_ = [[capacity["cpu"] * part, capacity["memory"] * part] for part in parts]
    reach = {"": np.array([True, False, True]), "gone": np.zeros(3, np.bool_)}
    return replace(snapshot, nodes=node_table(room, total=total_, native=[[1e9, 1e9]] * 3), reach=reach)


@given(snapshots())
def test_delta_stays_inside_its_bounds(snapshot: Snapshot) -> None:
    """[1/Tot, 1 − 1/Tot] where two slots exist."""
    for adjustment in decide(snapshot).adjustments.values():
        tot = snapshot.pools[0].tot
        if tot >= 2:
            assert 1 / tot - TOLERANCE <= adjustment.delta <= 1 - 1 / tot + TOLERANCE


@given(snapshots())
def test_every_app_gets_a_verdict_whose_sentence_can_be_read(snapshot: Snapshot) -> None:
    """No app without a word, no sentence without its numbers."""
    verdicts = decide(snapshot).verdicts
    assert set(verdicts) == {app.id for app in snapshot.apps}
    assert all(verdict.sentence for verdict in verdicts.values())


@given(snapshots(), st.booleans(), st.randoms())
def test_the_order_of_listing_does_not_matter(snapshot: Snapshot, divided: bool, rng: random.Random) -> None:
    """Equal inputs in another order give the same round, and the audit names the same claimants."""
    seen = on_nodes(snapshot) if divided else snapshot
    shuffled = list(seen.apps)
    rng.shuffle(shuffled)
    other = replace(seen, apps=tuple(shuffled))
    assert decide(other) == decide(seen)
    assert holds(other, decide(other)) == holds(seen, decide(seen))


@given(
    st.integers(1, 4), st.integers(1, 4), st.integers(1, 100), st.integers(1, 30), st.lists(st.booleans(), max_size=30)
)
def test_drivers_always_leave_each_other_room_for_a_task(
    driver: int, task: int, capacity: int, waiting: int, ends: list[bool]
) -> None:
    """Homogeneous case: round after round, running drivers and one task each fit into the capacity."""
    request, worker = Resources(cpu=driver), Resources(cpu=task)
    running: set[str] = set()
    left = [f"app{number:02}" for number in range(waiting)]
    for end in [*ends, False]:
        if end and running:
            running.remove(min(running))
        queue = Queue("default", Resources(cpu=capacity), free=Resources(cpu=capacity), total=Resources(cpu=capacity))
        members = [_driver_app(name, request, worker, started=True) for name in sorted(running)]
        members += [_driver_app(name, request, worker, started=False) for name in left]
        for name in decide(Snapshot(0.0, (queue,), tuple(members))).started:
            running.add(name)
            left.remove(name)
        assert len(running) * (driver + task) <= capacity
        assert running or not left or driver + task > capacity


def _driver_app(name: str, driver: Resources, task: Resources, *, started: bool) -> App:
    held = () if started else (f"{name}/driver",)
    group = PodGroup(f"{name}/driver", Role.DRIVER, driver, held=held, running=1 if started else 0)
    return App(name, "team", 0.0, (group,), started=started, task_request=task, has_driver=True)
