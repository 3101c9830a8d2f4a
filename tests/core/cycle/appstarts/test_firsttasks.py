"""Room for the first task of a driver that has just started."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest

from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.audit.claims import Claim, holds
from slackwater.cycle.cycle import decide
from slackwater.cycle.queuepass import _backfill
from slackwater.cycle.snapshot import App, Snapshot
from slackwater.roles import Role
from support.builders.nodes import node_table
from support.builders.snapshots import cpu, driver_app, group, pool, queue, released, running_app, snapshot, task_app

PATIENCE = 300.0


def led(*, bound: float | None = 0.0, released: int = 0, **more: object) -> App:
    """A small app whose driver runs, or is on its way, and whose tasks do not exist yet."""
    lead = group("small", Role.DRIVER, 1.0, running=0 if released else 1, released=released)
    app = App("small", "team", 0.0, (lead,), started=True, demand=2.0, task_request=cpu(1), has_driver=True)
    return replace(app, driver_bound=bound, **more)  # type: ignore[arg-type]


def seen(*apps: App, free: float = 1.0, now: float = 0.0, pools: bool = True) -> Snapshot:
    """A large app beyond its border that wants whatever comes free, beside these."""
    large = running_app("large", running=97, held=50)
    on = queue(1000, free=free, pool="default" if pools else "")
    return replace(snapshot(large, *apps, on=on, pools=(pool(100),)), now=now, patience=PATIENCE)


class TestFirstTask:
    """A driver without a task holds its room for nothing."""

    def test_what_comes_free_is_not_lent_before_the_driver_has_asked(self) -> None:
        """The large task would hold the slot for as long as it runs, and the driver asks within seconds."""
        found = decide(seen(led()))
        assert released(found) == []
        assert found.verdicts["large"].reason is WaitReason.FIRST_TASK
        assert "first task of small" in found.verdicts["large"].sentence

    def test_no_further_app_starts_into_it(self) -> None:
        """Else drivers would fill the slots of their side, and none of them had a task."""
        assert released(decide(seen(led(), driver_app("late", 1, demand=2.0)))) == []

    def test_a_driver_that_starts_now_leaves_its_task_the_slot_beside_it(self) -> None:
        """Two slots are free: the other one is not lent in the same round."""
        assert released(decide(seen(driver_app("small", demand=2.0), free=2))) == ["small/driver/0"]

    def test_a_driver_on_its_way_counts_as_one_that_runs(self) -> None:
        """It was released and is not bound yet."""
        assert released(decide(seen(led(bound=None, released=1)))) == []

    def test_room_for_one_task_is_kept_and_no_more(self) -> None:
        """Of three free slots two go to large tasks."""
        assert released(decide(seen(led(), free=3))) == ["large/task/0", "large/task/1"]

    @pytest.mark.parametrize("now", [PATIENCE, 10 * PATIENCE])
    def test_after_patience_nothing_is_kept(self, now: float) -> None:
        """Such a driver may never ask."""
        assert released(decide(seen(led(), now=now))) == ["large/task/0"]

    def test_of_a_driver_of_which_nobody_knows_since_when_it_runs_nothing_is_kept(self) -> None:
        """There would be no end to it."""
        assert released(decide(seen(led(bound=None)))) == ["large/task/0"]

    def test_an_app_that_had_a_task_keeps_nothing(self) -> None:
        """What it will still ask for nobody knows."""
        app = led()
        ended = replace(app, groups=(*app.groups, group("small", finished=1)))
        assert released(decide(seen(ended))) == ["large/task/0"]

    def test_tasks_that_ended_before_a_driver_starts_anew_say_nothing_of_it(self) -> None:
        """They were of its last try: the other slot is left to its task all the same, and the audit says for whom."""
        app = driver_app("small", demand=2.0)
        again = replace(app, groups=(*app.groups, group("small", finished=1)))
        look = seen(again, free=2)
        assert released(decide(look)) == ["small/driver/0"]
        assert [(hold.claim, hold.claimant) for hold in holds(look, decide(look))] == [(Claim.RESERVE, "small")]

    @pytest.mark.parametrize(
        ("begun", "kept"),
        [
            ({"bound": None, "released": 1}, True),
            ({"bound": -5.0, "served": -50.0}, True),
            ({"bound": -50.0, "served": -5.0}, False),
            ({"bound": -50.0, "served": -50.0}, False),
            ({"bound": -5.0}, False),
        ],
        ids=["on its way", "after all tasks", "before some", "with the last one", "nobody knows when they came"],
    )
    def test_room_is_left_until_a_driver_that_started_anew_asks(self, begun: dict[str, Any], kept: bool) -> None:
        """On its way and on its node, too, as long as no task came to a node after it."""
        app = led(**begun)
        again = replace(app, groups=(*app.groups, group("small", finished=1)))
        assert released(decide(seen(again))) == ([] if kept else ["large/task/0"])

    def test_a_task_of_unknown_size_keeps_nothing(self) -> None:
        """Nobody knows how much."""
        assert released(decide(seen(led(task_request=None)))) == ["large/task/0"]

    def test_a_task_that_fits_nowhere_keeps_nothing(self) -> None:
        """It could not use the room that there is."""
        assert released(decide(seen(led(task_request=cpu(2))))) == ["large/task/0"]

    def test_nothing_is_kept_from_a_higher_priority(self) -> None:
        """A more urgent task goes beyond its border."""
        urgent = replace(running_app("urgent", running=1, held=1), priority=10)
        assert released(decide(seen(led(), urgent))) == ["urgent/task/0"]

    def test_nothing_is_kept_from_a_higher_priority_of_another_queue_on_the_same_nodes(self) -> None:
        """Queues may share nodes, and priority counts in all of them."""
        urgent = replace(running_app("urgent", running=1, held=1), priority=10, queue="other")
        look = seen(led(), urgent)
        both = replace(look, queues=(*look.queues, replace(look.queues[0], name="other", pool="")))
        assert "urgent/task/0" in released(decide(both))

    @pytest.mark.parametrize(
        "idle",
        [{"size": 5000.0}, {"size": 2.0}, {"paused": True}, {"unplaceable": True}, {"pausing": True}],
        ids=["refused", "fits nowhere", "paused", "not placed", "not bound"],
    )
    def test_a_more_urgent_pod_that_cannot_go_takes_the_room_from_nobody(self, idle: dict[str, Any]) -> None:
        """It has had its turn: what it left is kept from pods of the driver's own priority all the same."""
        group_ = group("urgent", size=idle.pop("size", 1.0), held=1)
        paused = idle.pop("paused", False)
        urgent = App("urgent", "team", 0.0, (replace(group_, **idle),), priority=10, started=True, paused=paused)
        assert released(decide(seen(led(), urgent))) == []

    def test_a_more_urgent_app_that_waits_starts_before_any_room_is_kept(self) -> None:
        """Its pool is full, so that it starts into room that is left over; of two slots the other one is kept."""
        urgent = task_app("urgent", 1, priority=10, held=9, demand=90.0)
        look = seen(led(), replace(urgent, groups=(replace(urgent.groups[0], held=("urgent/task/0",)),)), free=2)
        assert released(decide(look)) == ["urgent/task/0"]
        assert {hold.claimant for hold in holds(look, decide(look))} == {"small"}

    def test_priorities_of_drivers_that_have_just_started_make_no_round_longer(self) -> None:
        """Whoever waits has one turn, whatever the number of tasks for which room is kept in between."""
        wait = [task_app(f"wait{number}", 1, priority=number, held=9, demand=90.0) for number in range(10)]
        start = [replace(led(), id=f"start{number}", priority=number) for number in range(0, 10, 2)]
        with patch("slackwater.cycle.queuepass._backfill", side_effect=_backfill) as turns:
            decide(seen(*start, *wait))
        beyond = [call.args[2] for call in turns.call_args_list if not call.kwargs.get("bounded")]
        assert beyond == list(range(9, -1, -1))

    def test_nothing_is_kept_for_who_may_not_start(self) -> None:
        """Its tasks would be held, so the room would be for nobody."""
        assert released(decide(seen(led(paused=True)))) == ["large/task/0"]

    @pytest.mark.parametrize(("growing", "goes"), [((), 0), (("small/driver/0",), 2)], ids=["coming", "to be added"])
    def test_a_driver_that_waits_for_a_node_that_does_not_exist_keeps_nothing_on_the_present_ones(
        self, growing: tuple[str, ...], goes: int
    ) -> None:
        """It may wait for an autoscaler for a day; one on its way to a node that is there keeps what its task needs."""
        app = led(bound=None, released=1, task_request=cpu(2))
        waiting = replace(app, groups=(replace(app.groups[0], request=cpu(8), growing=growing),))
        on = replace(queue(16, free=2, pool="default"), maximum=cpu(400))
        node = node_table([[2.0]], total=[[16.0]], kinds=("cpu",))
        look = replace(seen(waiting, now=5000.0), queues=(on,), nodes=node)
        assert len([each for each in decide(look).releases if not each.growth]) == goes

    def test_the_app_is_named_for_which_room_is_really_kept(self) -> None:
        """Beside it, one whose tasks nobody knows, and one whose task fits nowhere."""
        unknown, huge = led(task_request=None), led(task_request=cpu(7))
        others = replace(unknown, id="a-unknown"), replace(huge, id="b-huge")
        look = seen(*others, led())
        found = decide(look)
        assert "first task of small" in found.verdicts["large"].sentence
        assert {hold.claimant for hold in holds(look, found)} == {"small"}

    def test_it_takes_the_slot_as_soon_as_it_is_there(self) -> None:
        """The driver has asked."""
        app = led()
        asked = replace(app, groups=(*app.groups, group("small", held=1)))
        assert released(decide(seen(asked))) == ["small/task/0"]

    def test_the_audit_names_the_app_it_is_kept_for(self) -> None:
        """Nothing is held for nobody."""
        look = seen(led())
        assert [(hold.claim, hold.claimant) for hold in holds(look, decide(look))] == [(Claim.RESERVE, "small")]
