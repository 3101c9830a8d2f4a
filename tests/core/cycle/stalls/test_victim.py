"""Whom a stall costs: who has done least, and what is remembered of the app whose driver had to go."""

from __future__ import annotations

from dataclasses import replace

from slackwater.admission.stall import RunningPod
from slackwater.cycle.appverdicts import Verdict, WaitReason
from slackwater.cycle.snapshot import App, Snapshot
from slackwater.cycle.stalls.detection import Stall
from slackwater.cycle.stalls.victim import BoundPod, Eviction, choose
from slackwater.roles import Role
from support.builders.nodes import node_table
from support.builders.snapshots import cpu, group, queue, running_app, snapshot


def stalled(*apps: App) -> tuple[Stall, Snapshot]:
    """These apps stand still on one full node of 4 cores."""
    table = node_table([[0.0]], total=[[4.0]], kinds=("cpu",))
    return Stall("default", 60.0, 1, apps, ""), snapshot(*apps, on=queue(4.0, free=0.0), nodes=table)


def bound(uid: str, app: str, role: Role = Role.TASK, *, started: float = 0.0, stage: str = "") -> BoundPod:
    """A pod of one core that a controller brings back."""
    return BoundPod(RunningPod(uid, started, controlled=True), app, role, stage, cpu(1))


def test_the_youngest_driver_goes_and_the_others_go_before_it() -> None:
    """Apps that were refused do not wait for what it leaves."""
    apps = [running_app(name, held=1) for name in ("older", "younger", "refused")]
    stall, seen = stalled(*apps)
    verdicts = {"refused": Verdict("refused", WaitReason.INFEASIBLE)}
    drivers = [bound("1", "older", Role.DRIVER), bound("2", "younger", Role.DRIVER, started=5.0)]
    found = choose(stall, seen, verdicts, drivers)
    assert found is not None
    assert (found.uid, found.ahead) == ("2", ("younger", ("older",)))


def test_who_waits_in_vain_for_a_machine_goes_before_the_driver_that_was_given_up() -> None:
    """The driver would be back on the node before them."""
    asks = group("asks", size=2, released=1, growing=("asks/task/0",), in_vain=True)
    waits = App("asks", "team", 0.0, (asks,), started=True)
    own = running_app("own", held=1)
    stall, seen = stalled(own, waits)
    found = choose(stall, seen, {}, [bound("1", "own", Role.DRIVER)])
    assert found is not None
    assert found.ahead == ("own", ("asks",))


def test_a_task_that_waits_for_a_held_stage_goes_before_any_driver() -> None:
    """It has done nothing yet; nothing is to be remembered of its app."""
    app = running_app("dag")
    early, late = group("dag", stage="map", held=1), group("dag", stage="reduce", running=1, waiting=True)
    stall, seen = stalled(replace(app, groups=(app.groups[0], early, late)))
    pods = [bound("driver", "dag", Role.DRIVER, started=9.0), bound("reduce", "dag", stage="reduce")]
    assert choose(stall, seen, {}, pods) == Eviction("reduce")


def test_a_driver_goes_before_half_a_gang() -> None:
    """The half that runs has begun; without a driver one of it goes."""
    app = running_app("gang", held=1, running=1, gang=True)
    stall, seen = stalled(app)
    pods = [bound("half", "gang", started=9.0), bound("driver", "gang", Role.DRIVER)]
    found = choose(stall, seen, {}, pods)
    assert found is not None
    assert found.uid == "driver"
    assert choose(stall, seen, {}, pods[:1]) == Eviction("half")


def test_nobody_goes_where_nobody_would_come_back() -> None:
    """A bare pod is never given up."""
    stall, seen = stalled(running_app("bare", held=1))
    bare = replace(bound("driver", "bare", Role.DRIVER), pod=RunningPod("driver", 0.0, controlled=False))
    assert choose(stall, seen, {}, [bare]) is None
    assert choose(stall, seen, {}, []) is None
