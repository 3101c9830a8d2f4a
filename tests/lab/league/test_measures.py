"""The league's figures, from times that are known."""

import pytest

from slackwater_lab.league.audit import AuditTimes, PodTimes
from slackwater_lab.league.measures import begin, busiest, job_times, measures, percentile
from slackwater_lab.league.workloads import Workload
from slackwater_lab.live.workload import Part, Play, Size

TASK = Size(10.0, 2**30, 9.0, 2**28)
PLAYS = (
    Play("a", 1.0, (Part("map", TASK, (10.0, 10.0)),), driver=Size(1.0, 2**30, 0.5, 2**28)),
    Play("b", 2.0, (Part("map", TASK, (10.0,)),)),
)
TWO = Workload("two", "two jobs", PLAYS, 100.0, nodes=2, watched=frozenset({"a"}))
ZERO = 1000.0  # when the play began


def _pod(created: float, started: float, ended: float, node: str = "node-000") -> PodTimes:
    return PodTimes(ZERO + created, ZERO + started - 0.5, ZERO + started, ZERO + ended, node, succeeded=True)


def _times() -> AuditTimes:
    found = AuditTimes()
    found.pods = {
        "a-driver": _pod(1.0, 2.0, 16.0),
        "a-map-0": _pod(3.0, 4.0, 14.0),
        "a-map-1": _pod(3.0, 6.0, 16.0),
        "b-map-0": _pod(2.5, 3.0, 13.0, "node-001"),
    }
    found.answers = [0.01] * 11 + [0.5]
    found.requests.update({("kube-scheduler", "create pods/binding"): 4, ("kwok", "patch pods/status"): 8})
    return found


def test_the_play_begins_when_its_first_job_was_due() -> None:
    """The player may be late with a pod, never early."""
    assert begin(PLAYS, _times()) == ZERO


def test_a_job_ends_with_its_last_task() -> None:
    """Waits and completions count from when the job was due, not from when its pod was created."""
    first, second = job_times(PLAYS, _times(), ZERO)
    assert (first.wait, first.completion, first.spread) == (3.0, 15.0, 2.0)
    assert (second.wait, second.completion) == (1.0, 11.0)


def test_a_task_that_was_made_again_counts_once() -> None:
    """Its second pod carries a number; the job is over when each task has succeeded once."""
    times = _times()
    times.pods["a-map-1"].succeeded = False
    times.pods["a-map-1-2"] = _pod(17.0, 18.0, 28.0)
    assert job_times(PLAYS, times, ZERO)[0].completion == 27.0


def test_a_job_with_a_task_that_never_ran_is_unfinished() -> None:
    """It has no completion, the play has no makespan, and means are of those that came."""
    times = _times()
    del times.pods["a-map-1"]
    found = measures(TWO, times, ZERO + 50.0)
    assert (found["finished"], found["makespan"], found["completion_mean"]) == (1, None, 11.0)


def test_figures_of_a_whole_play() -> None:
    """CPU in use: 3 tasks of 9 cores for 10 s and a driver of half a core for 14 s, of 32 cores for 16 s."""
    found = measures(TWO, _times(), ZERO + 20.0)
    assert (found["jobs"], found["finished"], found["makespan"], found["pods"]) == (2, 2, 16.0, 4)
    assert found["cpu_used"] == pytest.approx((270 + 7) / (32 * 16), abs=1e-4)
    assert (found["requests_per_pod"], found["answer_p95"]) == (3.0, 0.5)
    assert found["requests"] == {"kwok": 2.0, "kube-scheduler": 1.0}
    assert found["watched"] == [{"id": "a", "wait": 3.0, "completion": 15.0, "spread": 2.0}]


def test_a_node_is_over_while_its_pods_would_use_more_than_it_has() -> None:
    """Two tasks of nine cores on a node of sixteen, together from 6 to 14."""
    assert measures(TWO, _times(), ZERO + 20.0)["node_seconds_over"] == 8.0


def test_placeholders_are_not_pods_of_the_jobs() -> None:
    """They use nothing, and costs are shared among the pods that were asked for."""
    times = _times()
    times.pods["tg-a-map-x1"] = _pod(1.0, 1.5, 14.0)
    found, plain = measures(TWO, times, ZERO + 20.0), measures(TWO, _times(), ZERO + 20.0)
    assert (found["pods"], found["placeholders"]) == (4, 1)
    assert (found["cpu_used"], found["bound"]) == (plain["cpu_used"], plain["bound"])


def test_bindings_are_counted_in_the_busiest_window() -> None:
    """Wherever it lies."""
    assert busiest([0.0, 1.0, 30.0, 31.0, 32.0, 39.9, 41.0], 10.0) == 4
    assert busiest([], 10.0) == 0


def test_percentiles_are_values_that_occurred() -> None:
    """The smallest that so large a share does not exceed."""
    assert [percentile([1.0, 2.0, 3.0, 4.0], share) for share in (0.0, 0.5, 0.95, 1.0)] == [1.0, 2.0, 4.0, 4.0]
