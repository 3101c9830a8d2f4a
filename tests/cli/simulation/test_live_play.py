"""`slackwater simulate --live`: the workload as the live driver reads it, and what is refused beforehand."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from slackwater.errors import InvalidInput, SlackwaterError, UnknownName
from slackwater_cli.main import app
from slackwater_cli.simulation.live import Wish, cluster, faster, labels, plays
from slackwater_simulator.workload.loading import load

HOUR = "gen:hour?apps=5"


def test_every_job_stage_and_task_is_played() -> None:
    """Same names, numbers and graph as in the simulator; use is what the workload's model says."""
    workload = load(HOUR, seed=1)
    scripts = plays(workload)
    assert [play.id for play in scripts] == [job.id for job in workload.jobs]
    assert [play.tasks for play in scripts] == [job.tasks for job in workload.jobs]
    scan, join = scripts[0].parts
    assert join.parents == ("scan",)
    assert scan.size.cpu == 1.0
    assert 0 < scan.size.used_cpu < scan.size.cpu
    assert scripts[0].driver is not None


def test_a_faster_play_is_the_same_in_less_time() -> None:
    """Submissions, durations and start-ups shrink alike."""
    slow, quick = plays(load(HOUR)), plays(faster(load(HOUR), 10))
    assert quick[3].submit == pytest.approx(slow[3].submit / 10)
    assert quick[3].parts[0].durations[0] == pytest.approx(slow[3].parts[0].durations[0] / 10)
    assert quick[3].startup == pytest.approx(slow[3].startup / 10)


def test_the_prediction_counts_with_the_real_nodes() -> None:
    """Cores and bytes of each; none at all is an error that says what to write."""
    found = cluster([("b", 4.0, 8.0), ("a", 2.0, 4.0)])
    assert [node.name for node in found.nodes] == ["a", "b"]
    assert found.total == (6.0, 12.0)
    with pytest.raises(InvalidInput, match="--selector"):
        cluster([])


@pytest.mark.parametrize(
    ("policy", "scale", "trouble"),
    [("fifo", 1.0, UnknownName), ("slackwater", 0.0, InvalidInput), ("kube", float("nan"), InvalidInput)],
    ids=["a policy without a scheduler", "no speed", "not a number"],
)
def test_what_cannot_be_played_is_refused(policy: str, scale: float, trouble: type[SlackwaterError]) -> None:
    """Before anything is written to a cluster."""
    with pytest.raises(trouble):
        Wish(policy, scale, "here", None, {}, 10.0, 0, {})


@pytest.mark.parametrize("limit", [-5.0, 0.0, float("nan")])
def test_a_time_that_is_none_is_refused(limit: float) -> None:
    """A play that stops before it begins would be told as one in which nothing finished."""
    with pytest.raises(InvalidInput, match="--limit"):
        Wish("kube", 1.0, "here", None, {}, limit, 0, {})


@pytest.mark.parametrize("selector", ["pool:batch", "pool", "=batch", "pool=batch,ssd", "pool==batch", "pool!=batch"])
def test_a_selector_that_cannot_be_read_is_refused(selector: str) -> None:
    """Left out, it would let the play have every node of a real cluster."""
    with pytest.raises(InvalidInput, match="key=value"):
        labels(selector)
    assert labels("pool=batch, disk=,") == {"pool": "batch", "disk": ""}
    assert labels("") == {}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--live", "--world", "yarn"), "--world: it is for simulations"),
        (("--live", "--report", "here"), "--report: it is for simulations"),
        (("--selector", "pool=batch"), "add --live, or leave --selector out"),
        (("--limit", "3600"), "add --live, or leave --limit out"),
    ],
)
def test_an_option_that_nobody_would_read_is_refused(arguments: tuple[str, ...], said: str) -> None:
    """Whoever writes it expects it to matter."""
    with pytest.raises(InvalidInput, match=said):
        CliRunner().invoke(app, ["simulate", HOUR, *arguments], catch_exceptions=False)


def test_without_a_cluster_it_says_so(tmp_path: Path) -> None:
    """A kubeconfig that is not there ends with a sentence, not a traceback."""
    absent = str(tmp_path / "absent")
    result = CliRunner().invoke(app, ["simulate", HOUR, "--live", "--kubeconfig", absent])
    assert result.exit_code != 0
    assert "kubeconfig" in str(result.exception) + result.output
