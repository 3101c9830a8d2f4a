"""A play for real: two jobs under the stock scheduler and under Slackwater, measured by the audit log."""

from pathlib import Path

import pytest

from slackwater_lab.league.play import played
from slackwater_lab.league.workloads import Workload
from slackwater_lab.live.workload import Part, Play, Size
from slackwater_lab.peers.catalogue import peer
from slackwater_lab.plan import Plan
from slackwater_lab.programs.build import missing

pytestmark = pytest.mark.lab
SMALL = Size(1.0, 2.0**30, 0.4, 2.0**28)
TINY = Workload(
    "tiny",
    "two jobs",
    tuple(Play(f"job-{n}", n * 0.5, (Part("map", SMALL, (2.0, 2.0)),), driver=SMALL, startup=0.2) for n in range(2)),
    60.0,
    nodes=2,
)


@pytest.mark.parametrize("name", ["stock", "slackwater"])
def test_a_scheduler_is_played_and_measured(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both jobs finish; every pod was bound to a node; requests and CPU time are told by component."""
    chosen = peer(name)
    if absent := [item.name for item in missing(Plan(parts=chosen.parts).programs())]:
        pytest.skip(f"not built: {', '.join(absent)}; run: python -m slackwater_lab build")
    monkeypatch.setenv("SLACKWATER_LAB_HOME", str(tmp_path))
    found = played(chosen, TINY, "tiny", lambda _: None, tmp_path / "logs")
    assert (found["finished"], found["pods"], found["bound"]) == (2, 6, 6)
    assert 2.0 < found["completion_mean"] < found["makespan"] + 0.1
    assert {pod["node"] for pod in found["times"].values()} <= {"node-000", "node-001"}
    assert found["requests"]["kwok"] >= 1.0
    assert found["cpu_ms_per_pod"]["apiserver"] > 0.0
    assert (tmp_path / "logs" / "audit.log").exists()
