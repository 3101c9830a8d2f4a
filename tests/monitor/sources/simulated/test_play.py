"""A play at a moment: which pods wait, for whom it is told, and what an app has used by then."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slackwater.pools.startforecast import Source, StartInterval
from slackwater_monitor.settings import Settings
from slackwater_monitor.sources.simulated.apps import apps, queues
from slackwater_monitor.sources.simulated.play import Play
from slackwater_monitor.sources.simulated.podpage import ledger
from slackwater_monitor.sources.simulated.replay import Replay
from slackwater_monitor.sources.views import App, Pool
from slackwater_monitor.web.app import dashboard
from slackwater_monitor.web.pages.overview import counts
from slackwater_simulator.results.outcome import Containers, Hold, Jobs, Outcome, Series, StartTold
from slackwater_simulator.results.status import CRASHED, DONE, DRIVER, FINISHED
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import uniform
from slackwater_simulator.workload.workload import GIBI, Driver, Job, Stage, Usage, Workload
from support.builders.jobs import job, maps, stage, workload
from support.builders.outcomes import outcome

CORE = (1.0, GIBI)


def staged(policy: str = "slackwater", *, broken: bool = False) -> Outcome:
    """A driver from 2 on, which asks at 5 for two tasks that run from 9 to 19 and from 12 to 22; then two from 30 on.

    Broken: the first of them breaks at 15 and runs again from 18 on.
    """
    usage = Usage(np.array([0.5, 0.5]), np.array([0.75, 0.75]))
    stages = (
        Stage("read", CORE, np.full(2, 10.0), usage=usage),
        Stage("write", CORE, np.full(2, 10.0), parents=("read",), usage=usage),
    )
    driver = Driver(CORE, startup=3.0, usage=Usage(np.array([0.1]), np.array([0.1])))
    rows = [
        (DRIVER, 0, 2.0, 40.0, DONE),
        *([(0, 0, 9.0, 15.0, CRASHED), (0, 0, 18.0, 22.0, DONE)] if broken else [(0, 0, 9.0, 19.0, DONE)]),
        (0, 1, 12.0, 22.0, DONE),
        (1, 0, 30.0, 40.0, DONE),
        (1, 1, 30.0, 40.0, DONE),
    ]
    stage, task, begin, end, status = (np.array(column) for column in zip(*rows, strict=True))
    none = np.zeros(len(rows), dtype=np.int32)
    whole, small = task.astype(np.int32), stage.astype(np.int16)
    return replace(
        outcome([], policy=policy),
        workload=Workload("staged", (Job("etl", 0.0, stages, driver=driver),)),
        jobs=Jobs(
            np.zeros(1),
            np.array([2.0]),
            np.array([9.0]),
            np.array([40.0]),
            np.array([4]),
            np.array([FINISHED], np.int8),
        ),
        containers=Containers(none, small, whole, none, begin, begin, end, end, status.astype(np.int8)),
    )


@pytest.mark.parametrize(
    ("moment", "held"), [(1.0, 1), (3.0, 0), (6.0, 2), (10.0, 1), (15.0, 0), (21.0, 0), (25.0, 2), (35.0, 0), (41.0, 0)]
)
def test_pods_wait_from_when_they_were_asked_for(moment: float, held: int) -> None:
    """The driver at once, first tasks once it has started, later ones once their parents have ended; never longer."""
    source = Replay(staged()).at(moment)
    seen = source.snapshot()
    assert seen.apps[0].pods["held"] == held == seen.queues[0].held
    assert seen.apps[0].waits == (held > 0) == bool(seen.apps[0].message)
    assert sum(1 for bar in source.gantt("simulated", "etl") if not bar.node) == held
    text = dashboard(source, Settings()).test_client().get(f"/apps/simulated/etl?t={moment}").text
    assert ("Nothing of it waits." in text) == (held == 0)


def test_a_task_that_broke_waits_again() -> None:
    """Between its end and its second start."""
    held = [Replay(staged(broken=True)).at(at).snapshot().apps[0].pods["held"] for at in (14.0, 16.0, 19.0)]
    assert held == [0, 1, 0]


def test_tasks_that_wait_are_told_in_the_words_of_the_gate() -> None:
    """Of its last sentence since the driver started, though no task of their stage runs yet."""
    source = Replay(replace(staged(), holds=(Hold(6.0, 0, "no-room", "the nodes have 1 cpu free"),)))
    app = source.at(7.0).snapshot().apps[0]
    assert (app.phase, app.reason, app.message) == ("Started", "no-room", "the nodes have 1 cpu free")
    assert Replay(staged("kube")).at(7.0).snapshot().apps[0].message == "2 tasks wait for room"


@pytest.mark.parametrize("moment", [1.0, 6.0, 10.0, 15.0, 25.0])
def test_all_numbers_of_apps_that_wait_are_one(moment: float) -> None:
    """Above the table, in the table, and in the comparison of both schedulers: apps with pods that wait."""
    source = Replay(staged(), rival=staged("kube")).at(moment)
    text = dashboard(source, Settings()).test_client().get(f"/?t={moment}").text
    waiting = sum(app.waits for app in source.snapshot().apps)
    assert f"{waiting} {'app waits' if waiting == 1 else 'apps wait'}, " in text
    assert ("Nobody waits." in text) == (waiting == 0)
    race = source.comparison()
    assert race is not None
    row = next(row for row in race.rows if row.what == "apps that wait")
    assert (row.theirs, row.ours) == (str(waiting), str(waiting))


@pytest.mark.parametrize("world", ["kubernetes", "yarn"])
def test_a_job_that_was_refused_does_not_wait(world: str) -> None:
    """One by the gate and one by the world: each has its own sentence, and nobody is behind them in line."""
    beside = job("beside", stage("map", 2, 5.0), stage("reduce", 1, 5.0, (2.0, GIBI), parents=("map",)))
    played = workload(beside, job("wide", stage("map", 1, 5.0, (3.0, GIBI))), maps("next", 1, 5.0, submit=1.0))
    play = run(played, uniform(1, 2, 8 * GIBI), "slackwater", world=world)
    source = Replay(play, rival=play).at(1.0)
    found = {app.name: app for app in source.snapshot().apps}
    assert [found[name].phase for name in ("beside", "wide")] == ["Refused", "Refused"]
    assert "no task would find a node beside the driver" in found["beside"].message
    assert "3 cpu" in found["wide"].message
    assert not any(found[name].waits or found[name].position for name in ("beside", "wide"))
    assert found["next"].position in (None, 1)
    race = source.comparison()
    assert race is not None
    assert next(row for row in race.rows if row.what == "apps that wait").ours == str(int(found["next"].waits))
    assert next(row for row in race.rows if row.what.startswith("an app has taken")).ours == "0 s"
    assert counts(source.snapshot().apps)["refused"] == 2
    shown = dashboard(source, Settings()).test_client()
    assert "2 are refused" in shown.get("/?t=1").text
    assert "no task would find a node beside the driver" in shown.get("/apps?t=1").text
    assert "All work is done" in shown.get("/?t=1000").text


def test_each_app_is_counted_once() -> None:
    """One that runs and waits for more waits; the others run, are done, or were refused."""
    apps = [
        App("a", "both", "Running", pods={"held": 2, "bound": 1}),
        App("a", "new", "Waiting", pods={"held": 1}),
        App("a", "runs", "Running", pods={"bound": 1}),
        App("a", "driver", "Started", pods={"bound": 1}),
        App("a", "done", "Finished"),
        App("a", "wide", "Refused"),
    ]
    assert counts(apps) == {"waiting": 2, "running": 2, "finished": 1, "refused": 1}


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        pytest.param(
            StartInterval(0.5, 1.5, 4.0, Source.PACE),
            "Its app starts in 0 s to 3.5 s, most likely in about 1 s (4 of 5 starts are within such an interval); "
            "the newest forecasts were 3 s off (median). In this play it starts in 1 s.",
            id="interval",
        ),
        pytest.param("nothing", "When its app starts is not known yet: nothing. In this play it", id="unknown"),
    ],
)
def test_a_pod_that_waits_for_its_apps_start_is_told_when_as_on_a_cluster(
    told: StartInterval | str, sentence: str
) -> None:
    """The interval that was told half a second ago, and beside it what only a play knows: how it really went."""
    source = Replay(replace(staged(), starts=(StartTold(0.5, 0, told, 3.0), StartTold(3.0, 0, "too late"))))
    pages = dashboard(source, Settings()).test_client()
    assert sentence in pages.get("/pods/simulated/etl-driver?t=1").text
    assert sentence.replace("Its app", "It").replace("its app", "it") in pages.get("/apps/simulated/etl?t=1").text
    assert ("0 s to 3.5 s" in pages.get("/queue/default?t=1").text) == isinstance(told, StartInterval)


def test_nobody_is_told_when_further_pods_of_a_started_app_go() -> None:
    """No cluster knows it: the page says so, and how it went in the play."""
    pages = dashboard(Replay(staged()), Settings()).test_client()
    text = pages.get("/pods/simulated/etl-read-0?t=6").text
    assert "Its app has started; when further pods of an app go is not forecast: they go as room comes." in text
    assert "In this play it starts in 3 s." in text
    assert "starts in about" not in text


def test_what_is_taken_is_not_called_the_whole_pool() -> None:
    """A play knows which share of the slots small jobs have, and not how many slots there are."""
    moved = Series(np.array([0.0, 5.0]), np.array([0.1, 0.25]))
    source = Replay(replace(staged(), series={"delta": moved})).at(10.0)
    pool = source.snapshot().pools[0]
    assert (pool.total, pool.small.occupied + pool.large.occupied) == (None, 2.0)
    pages = dashboard(source, Settings()).test_client()
    assert "25 % of the slots are for small jobs." in pages.get("/pools/default?t=10").text
    assert "<td>–</td><td>25 %</td>" in pages.get("/pools?t=10").text
    assert Pool("p", delta=0.25, total=40.0).border == "25 % of 40.0 slots"


def test_a_node_is_believed_to_use_no_more_than_it_has() -> None:
    """Where a run's tasks want 30 cores of 8, none of which a cluster could measure; the chart ends with that sum."""
    found = Series(np.array([0.0, 50.0]), np.array([30.0, 30.0]))
    source = Replay(replace(staged(), series={"estimated_cpu": found})).at(15.0)
    seen = source.snapshot()
    assert [node.estimate["cpu"] for node in seen.nodes] == pytest.approx([4.0, 4.0])
    assert source.history().lines["cpu"]["estimated"][-1] == pytest.approx(seen.total("estimate", "cpu"))
    assert "estimated" not in source.history().lines["memory"]


def test_estimates_lie_where_requests_are() -> None:
    """Beyond what is used, first where more is requested; then where there is room."""
    found = Series(np.array([0.0, 50.0]), np.array([2.0, 2.0]))
    nodes = Replay(replace(staged(), series={"estimated_cpu": found})).at(15.0).snapshot().nodes
    assert [node.estimate["cpu"] for node in nodes] == pytest.approx([2.0, 0.0])


def test_idle_cores_stand_beside_the_share_of_cores() -> None:
    """Of three cores 1.1 are used, whatever the app uses of its memory."""
    text = dashboard(Replay(staged()), Settings()).test_client().get("/?t=15").text
    assert "<td>3</td><td>1.9</td><td>37 %</td>" in text


@pytest.mark.parametrize(("moment", "share"), [(1.0, None), (7.0, 0.1), (10.0, 0.425), (15.0, 1.6 / 3), (41.0, None)])
def test_an_app_has_the_efficiency_of_the_moment(moment: float, share: float | None) -> None:
    """As on a cluster: used ÷ requested of its dominant resource by what runs now; nothing of what is still to come."""
    app = Replay(staged()).at(moment).snapshot().apps[0]
    assert app.efficiency == (None if share is None else pytest.approx(share))
    if share is not None:
        assert app.efficiency == max(app.used[kind] / app.declared[kind] for kind in app.used)


def test_the_queue_of_a_play_says_what_is_kept_for_tasks() -> None:
    """R = C · TC / (AMC + TC) of 8 cores, for a driver and tasks of one core each: half; one driver holds a core."""
    play = Play(staged())
    (queue,) = queues(play, apps(play, 15.0), 15.0)
    assert queue.reservation == {"cpu": pytest.approx(4.0), "memory": pytest.approx(8 * GIBI)}
    assert list(queue.reservation) == list(queue.budget) == list(queue.capacity), "one order, to compare at a glance"
    assert queue.budget == {"cpu": pytest.approx(3.0), "memory": pytest.approx(7 * GIBI)}
    (before,) = queues(play, apps(play, 1.0), 1.0)
    assert (before.reservation.get("cpu", 0.0), before.budget["cpu"]) == (0.0, 8.0)
    stock = Play(staged("kube"))
    assert queues(stock, apps(stock, 15.0), 15.0)[0].reservation == {}, "no scheduler but ours keeps anything"


def test_drivers_that_hold_more_than_their_share_leave_nothing_for_others() -> None:
    """At nine o'clock, say: nothing is left, and not a negative number of cores."""
    play = Play(replace(staged(), cluster=uniform(1, 1.0, 16 * GIBI)))
    (queue,) = queues(play, apps(play, 15.0), 15.0)
    assert queue.budget["cpu"] == 0.0
    assert queue.budget["memory"] > 0.0


def test_a_node_of_a_play_shows_what_its_driver_is_charged() -> None:
    """As a cluster's node does: its driver stands apart in the sum, and the sum adds up."""
    play = Play(staged())
    found = ledger(play, "node0", 15.0)
    assert found is not None
    assert [pod["role"] for pod in found["pods"]] == ["driver", "task", "task"]
    cpu, memory = found["resources"]["cpu"], found["resources"]["memory"]
    assert (cpu["drivers"], memory["drivers"]) == (1.0, GIBI)  # what it asks for: it uses less
    assert cpu["estimate"] == pytest.approx(play.nodes(15.0)[0].estimate["cpu"] - 1.0)
    for line in (cpu, memory):
        assert max(line["allowed"] - line["estimate"] - line["drivers"], line["requested"]) == pytest.approx(
            line["room"]
        )
    assert ledger(play, "node0", 1.0)["resources"]["cpu"]["drivers"] == 0.0  # type: ignore[index]
