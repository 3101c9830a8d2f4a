"""The live driver's state machine, its pods and its comparison, without a cluster."""

import json
import math

import pytest

from slackwater.errors import InvalidInput
from slackwater_lab.live.comparison import Forecast, compare, summary
from slackwater_lab.live.drivers import FAILED, GONE, RUNNING, SUCCEEDED, Conductor
from slackwater_lab.live.pods import PLAYED, Stage, manifest
from slackwater_lab.live.realdrivers import Director
from slackwater_lab.live.workload import Part, Play, Size, checked

SMALL = Size(1.0, 2**30, 0.25, 2**28)
MAPS = Part("map", SMALL, (3.0, 4.0))
REDUCES = Part("reduce", SMALL, (5.0,), parents=("map",), delay=1.0)
PLAY = Play("job", 2.0, (MAPS, REDUCES), driver=SMALL, startup=0.5)


def test_a_driver_comes_first_and_asks_when_it_is_up() -> None:
    """Nothing before submission; the driver; its tasks only once it runs and has started up."""
    conductor = Conductor([PLAY])
    assert conductor.step(1.9) == ([], [])
    asks, _ = conductor.step(2.0)
    assert [ask.name for ask in asks] == ["job-driver"]
    assert conductor.step(2.1) == ([], [])
    conductor.seen("job-driver", RUNNING, 3.0)
    assert conductor.step(3.4) == ([], [])
    asks, _ = conductor.step(3.5)
    assert [(ask.name, ask.duration) for ask in asks] == [("job-map-0", 3.0), ("job-map-1", 4.0)]


def test_children_wait_for_all_parents_and_their_delay() -> None:
    """The second stage is asked for one second after the last map; then the driver ends."""
    conductor = _running()
    conductor.seen("job-map-0", SUCCEEDED, 7.0)
    assert conductor.step(7.0) == ([], [])
    conductor.seen("job-map-1", SUCCEEDED, 8.0)
    assert conductor.step(8.0) == ([], [])
    asks, _ = conductor.step(9.0)
    assert [ask.name for ask in asks] == ["job-reduce-0"]
    conductor.seen("job-reduce-0", SUCCEEDED, 14.0)
    assert conductor.step(14.0) == ([], ["job-driver"])
    assert conductor.courses[0].ended == 14.0
    assert conductor.share == 1.0


@pytest.mark.parametrize("how", [FAILED, GONE])
def test_a_lost_task_is_asked_for_again(how: str) -> None:
    """Under a new name, and counted; another event of the old pod changes nothing."""
    conductor = _running()
    (again,) = conductor.seen("job-map-1", how, 6.0)
    assert again.name == "job-map-1-2"
    assert conductor.seen("job-map-1", how, 6.1) == []
    assert conductor.courses[0].retries == 1


def test_a_share_of_the_parents_may_be_enough() -> None:
    """Slow-start: half of the maps done lets the reduces ask."""
    early = Part("reduce", SMALL, (1.0,), parents=("map",), start_after=0.5)
    conductor = Conductor([Play("job", 0.0, (MAPS, early))])
    assert len(conductor.step(0.0)[0]) == 2
    conductor.seen("job-map-0", SUCCEEDED, 3.0)
    assert [ask.name for ask in conductor.step(3.0)[0]] == ["job-reduce-0"]


def test_pods_say_who_they_are_and_what_they_do() -> None:
    """Labels for Slackwater, annotations for simulated nodes, the size of the job on its driver."""
    conductor = Conductor([PLAY])
    (driver,), _ = conductor.step(2.0)
    conductor.seen("job-driver", RUNNING, 2.0)
    task = conductor.step(3.0)[0][0]
    stage = Stage("here", "play", selector={"kind": "batch"})
    made, asked = manifest(driver, stage), manifest(task, stage)
    assert made["metadata"]["labels"] == {PLAYED: "play", "slackwater.io/app": "job", "slackwater.io/role": "driver"}
    assert made["metadata"]["annotations"]["slackwater.io/tasks"] == "2"
    assert asked["metadata"]["labels"]["slackwater.io/stage"] == "map"
    assert asked["metadata"]["annotations"]["slackwater.io/lab-duration"] == "3.000"
    assert asked["metadata"]["annotations"]["kwok.x-k8s.io/usage-cpu"] == "250m"
    assert asked["spec"]["nodeSelector"] == {"kind": "batch"}


def test_what_cannot_be_played_is_refused() -> None:
    """Two jobs of one name, and parents that are not there."""
    with pytest.raises(InvalidInput, match="two jobs are called job"):
        checked([PLAY, PLAY])
    with pytest.raises(InvalidInput, match="waits for map"):
        checked([Play("job", 0.0, (REDUCES,))])


def test_comparison_counts_only_what_came_in_both() -> None:
    """A job that never ended has no error, and the makespan is that of those that did."""
    conductor = _running()
    rows = compare(conductor.courses, {"job": Forecast(4.0, 12.0)})
    assert math.isnan(rows[0].error)
    for name in ("job-map-0", "job-map-1"):
        conductor.seen(name, SUCCEEDED, 8.0)
    conductor.step(8.0)
    conductor.step(9.0)
    conductor.seen("job-reduce-0", SUCCEEDED, 14.0)
    conductor.step(14.0)
    rows = compare(conductor.courses, {"job": Forecast(4.0, 12.0)})
    assert rows[0].error == pytest.approx(0.2)
    assert summary(rows).makespan_error == pytest.approx(14 / 12 - 1)


def test_a_real_driver_is_given_its_whole_play() -> None:
    """Stages, durations and task manifests with blanks; a lab's API server is reached from the machine's network."""
    (driver,), _ = Director([PLAY]).step(2.0)
    made = manifest(driver, Stage("here", "play", image="localhost/lab-load:1", server="https://127.0.0.1:20002"))
    variables = {each["name"]: each.get("value") for each in made["spec"]["containers"][0]["env"]}
    told = json.loads(variables["PLAY"])
    assert [(stage["name"], stage["parents"], stage["durations"]) for stage in told["stages"]] == [
        ("map", [], [3.0, 4.0]),
        ("reduce", ["map"], [5.0]),
    ]
    task = json.loads(told["stages"][0]["pod"])
    assert task["metadata"]["ownerReferences"][0]["uid"] == "$UID"
    assert task["spec"]["containers"][0]["command"] == ["burn", "-cpu", "250", "-memory", "256", "-for", "$SECONDSs"]
    assert made["spec"]["hostNetwork"]
    assert variables["KUBERNETES_SERVICE_PORT"] == "20002"


def test_a_real_driver_elsewhere_is_told_of_the_server_by_its_kubelet() -> None:
    """No host network and no address of ours in a cluster whose API server pods can reach."""
    (driver,), _ = Director([PLAY]).step(2.0)
    made = manifest(driver, Stage("here", "play", image="registry/load:1", server="https://cluster.example:6443"))
    assert "hostNetwork" not in made["spec"]
    assert made["spec"]["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert "KUBERNETES_SERVICE_HOST" not in {each["name"] for each in made["spec"]["containers"][0]["env"]}


def test_real_drivers_are_only_watched() -> None:
    """Submitted in time, seen to run, their tasks too; over when the driver is."""
    director = Director([PLAY])
    assert director.step(1.9) == ([], [])
    assert [ask.name for ask in director.step(2.0)[0]] == ["job-driver"]
    assert director.step(2.1) == ([], [])
    director.seen("job-driver", RUNNING, 3.0)
    director.seen("job-map-1", RUNNING, 4.0)
    director.seen("job-map-0", RUNNING, 5.0)
    director.seen("job-driver", SUCCEEDED, 9.0)
    (course,) = director.courses
    assert (course.driver, course.first, course.ended) == (3.0, 4.0, 9.0)
    assert director.share == 1.0


@pytest.mark.parametrize("how", [FAILED, GONE])
def test_a_real_driver_that_fails_is_asked_for_again(how: str) -> None:
    """Under a new name, and counted."""
    director = Director([PLAY])
    director.step(2.0)
    (again,) = director.seen("job-driver", how, 3.0)
    assert again.name == "job-driver-2"
    assert director.courses[0].retries == 1


def test_jobs_without_a_driver_are_still_asked_for_by_us() -> None:
    """Real containers or not: somebody has to."""
    director = Director([Play("alone", 0.0, (MAPS,)), PLAY])
    asks, _ = director.step(0.0)
    assert [ask.name for ask in asks] == ["alone-map-0", "alone-map-1"]
    for name in ("alone-map-0", "alone-map-1"):
        director.seen(name, SUCCEEDED, 4.0)
    director.step(4.0)
    assert director.share == 0.5


def _running() -> Conductor:
    conductor = Conductor([PLAY])
    conductor.step(2.0)
    conductor.seen("job-driver", RUNNING, 3.0)
    conductor.step(3.5)
    return conductor
