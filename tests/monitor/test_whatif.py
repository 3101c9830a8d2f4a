"""What-if ends in a sentence, warns when its replay is not what happened, and does not take a week for a week."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slackwater.errors import InvalidInput
from slackwater_monitor.export import Export, Happened, write
from slackwater_monitor.whatif import (
    COARSEST,
    SAMPLES,
    USUAL,
    Comparison,
    WhatIfFigures,
    compare,
    named,
    opened,
    sample_period,
    sampled,
)
from slackwater_simulator.workload.cluster import uniform
from slackwater_simulator.workload.workload import GIBI, Job, Stage, Usage, Workload
from support.builders.outcomes import outcome

DAY = 86_400.0


def figures(**changes: object) -> WhatIfFigures:
    """A run of ten minutes that reserved half of the cluster."""
    return replace(WhatIfFigures(600.0, 400.0, 60.0, (0.5, 0.5)), **changes)  # type: ignore[arg-type]


def compared(happened: WhatIfFigures | None = None, **policies: WhatIfFigures) -> Comparison:
    """Policies beside kube, which was in force."""
    played = {"kube": figures()} | policies
    return Comparison("week", 14, played, dict.fromkeys(played, outcome([])), happened, "kube" if happened else "")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"completion": 300.0}, "under slackwater jobs would have finished 25 % earlier on average than under kube"),
        ({"completion": 500.0}, "finished 25 % later on average"),
        ({"completion": 401.0}, "as early as under kube"),
        ({"completion": 300.0, "requested": (0.25, 0.5)}, "cores fewer reserved on average"),
        ({"deadlock": True}, "under slackwater the work would have come to a standstill"),
        ({"unfinished": 3}, "under slackwater 3 fewer jobs would have finished than under kube"),
        ({"completion": math.nan}, "neither under slackwater nor under kube would a job have finished"),
    ],
    ids=["earlier", "later", "equal", "cores", "deadlock", "unfinished", "none"],
)
def test_the_verdict_is_one_sentence(changes: dict[str, object], said: str) -> None:
    """About the best other policy, beside the replay of the one in force."""
    assert said in compared(slackwater=figures(**changes)).verdict


def test_the_best_other_policy_is_chosen() -> None:
    """One that does not finish is never the best."""
    found = compared(fair=figures(completion=350.0), capacity=figures(completion=10.0, unfinished=2))
    assert "under fair" in found.verdict


def test_a_policy_of_another_world_is_shown_and_not_judged() -> None:
    """On an idle cluster whose pods take twelve seconds to start, no policy would have made jobs faster."""
    jobs = tuple(Job(f"j{number}", 100.0 * number, (Stage("run", (1.0, GIBI), np.full(1, 10.0)),)) for number in (0, 1))
    seen = [Happened(job.id, job.submit, job.submit + 12, job.submit + 22, startup=12.0) for job in jobs]
    found = compare(Workload("idle", jobs), uniform(2, 8.0, 16 * GIBI), ["slackwater", "capacity"], happened=seen)
    assert found.policies["capacity"].completion < 15.0 < found.policies["kube"].completion
    assert "under slackwater jobs would have finished as early as under kube" in found.verdict
    assert [found.elsewhere(name) for name in found.policies] == ["", "", "ideal"]
    assert found.jsonable()["policies"]["capacity"]["world"] == "ideal"
    assert any("the verdict leaves out capacity" in note for note in found.notes)


def test_policies_of_other_worlds_alone_have_no_verdict() -> None:
    """There is nothing like to compare."""
    job = Job("a", 0.0, (Stage("run", (1.0, GIBI), np.full(1, 10.0)),))
    found = compare(Workload("one", (job,)), uniform(2, 8.0, 16 * GIBI), ["kube", "fair"])
    assert found.verdict == ""


def test_where_no_job_finished_there_are_no_cores_to_compare() -> None:
    """Shares that are not known are in no sentence."""
    found = compared(slackwater=figures(completion=300.0, requested=(math.nan, math.nan)))
    assert "nan" not in found.verdict


def test_policies_may_have_options_and_be_ones_own() -> None:
    """As everywhere else; people's words for policies may have options, too."""
    job = Job("a", 0.0, (Stage("run", (1.0, GIBI), np.full(1, 10.0)),))
    names = ["slackwater?pools=false", "fifo?cores=true", "slackwater_simulator.policies.batch.drf:Drf"]
    found = compare(Workload("one", (job,)), uniform(2, 8.0, 16 * GIBI), names)
    assert list(found.policies) == names
    assert named("stock?most=true") == "kube?most=true"
    assert sampled("slackwater?pools=false", 60.0)["heartbeat"] == 60.0
    with pytest.raises(InvalidInput, match="are not options"):
        named("fifo?cores")


def test_one_policy_alone_has_no_verdict() -> None:
    """There is nothing to compare it with."""
    assert compared().verdict == ""


def test_a_replay_that_is_not_what_happened_is_warned_about() -> None:
    """Half as long as it took; a fifth is let pass, and so is a wait of some seconds, but none of minutes."""
    assert "completion is -50 % off" in compared(figures(completion=800.0)).warning
    assert compared(figures(completion=380.0, wait=2.0)).warning == ""
    assert "wait is -85 % off" in compared(figures(completion=380.0, wait=400.0)).warning
    assert compared().warning == ""


def test_use_is_looked_at_less_often_where_jobs_ran_for_days() -> None:
    """By the time in which anything ran, which idle days between jobs do not make longer."""
    stage = Stage("tasks", (1.0, GIBI), np.full(2, DAY))
    assert sample_period(Workload("short", ()), [Happened("a", 0.0, 1.0, 600.0)]) == USUAL
    assert (
        sample_period(Workload("idle", ()), [Happened("a", 0.0, 1.0, 9.0), Happened("b", 9 * DAY, 1.0, 9 * DAY + 9)])
        == USUAL
    )
    assert sample_period(Workload("long", (Job("j", 0.0, (stage,)),)), []) == pytest.approx(DAY / SAMPLES, abs=1)
    assert sample_period(Workload("longest", ()), [Happened("a", 0.0, 1.0, 99 * DAY)]) == COARSEST


def test_the_ledger_expects_samples_as_often_as_they_come() -> None:
    """Otherwise every node would count as stale."""
    assert sampled("slackwater", 60.0) == {"usage_period": 60.0, "heartbeat": 60.0}
    assert sampled("fair", 60.0) == {"usage_period": 60.0}
    assert sampled("slackwater", USUAL) == {}


@pytest.mark.parametrize("happened", [[], [Happened("a", 0.0, 1.0, 60.0)]], ids=["nothing seen", "seen"])
def test_a_policy_in_force_that_nobody_knows_is_refused(happened: list[Happened]) -> None:
    """Also where nothing was observed, so that its replay would not be judged."""
    job = Job("a", 0.0, (Stage("tasks", (1.0, GIBI), np.full(2, 60.0)),))
    with pytest.raises(InvalidInput, match="--was: 'nope' is not known"):
        compare(Workload("one", (job,)), uniform(2, 8.0, 16 * GIBI), ["kube"], happened=happened, was="nope")


@pytest.mark.parametrize("policy", ["kube", "fair", "fcfs"])
def test_a_week_of_fourteen_jobs_is_replayed_in_seconds(policy: str) -> None:
    """By counting: some thousands of events, not one for each second of the week."""
    usage = Usage(cpu=np.full(4, 0.3), memory=np.full(4, 0.4))
    stage = Stage("tasks", (1.0, GIBI), np.full(4, DAY / 2), usage=usage)
    jobs = tuple(Job(f"j{number}", number * DAY / 2, (stage,)) for number in range(14))
    happened = [Happened(job.id, job.submit, job.submit, job.submit + DAY / 2) for job in jobs]
    found = compare(Workload("week", jobs), uniform(2, 8.0, 16 * GIBI), [policy], happened=happened, was=policy)
    assert found.outcomes[policy].events < 3 * SAMPLES
    assert found.policies[policy].completion == pytest.approx(DAY / 2, rel=0.01)
    assert any("use is looked at every 60 s" in note for note in found.notes)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b"{}",
        b"[1]",
        b'[{"id": "a"}]',
        b'[{"id": "a", "submit": "x", "start": 0, "end": 1}]',
        b"[NaN]",
    ],
)
def test_what_no_export_wrote_is_refused_with_its_name(tmp_path: Path, body: bytes) -> None:
    """And with what to do; where the nodes are given, nothing is compared with what happened."""
    job = Job("a", 0.0, (Stage("tasks", (1.0, GIBI), np.full(2, 60.0)),))
    seen = Happened("a", 0.0, 1.0, 60.0)
    files = write(Export(Workload("week", (job,)), {"n0": (8.0, 16 * GIBI)}, [seen]), tmp_path / "week.parquet")
    assert opened(files["trace"], None)[2] == [seen]
    files["happened"].write_bytes(body)
    with pytest.raises(InvalidInput, match=r"week\.happened\.json.*slackwater export"):
        opened(files["trace"], None)
    assert opened(files["trace"], "1x8")[2] == []
