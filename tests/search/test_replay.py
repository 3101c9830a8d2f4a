"""Live is what is simulated: rounds that the real operator recorded are decided alike by the simulator's gate."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slackwater.errors import InvalidInput
from slackwater_cli.main import app
from slackwater_operator.release.recorder import Recorder
from slackwater_simulator.recordings import replay
from support.logs import quietly
from support.search.plan import AppPlan, NodePlan, QueuePlan, StagePlan, Trouble, WorldPlan
from support.search.play import Ours


def crowd() -> WorldPlan:
    """More than a thousand pods of forty apps: drivers, stages, gangs, two queues, priorities; a leader is replaced."""
    apps = [
        AppPlan(
            f"app-{number}",
            (StagePlan(24, 1.0 + number % 3, 2.0 + number % 5, 4.0 + number % 4),)
            if number % 4
            else (StagePlan(16, 1.0, 2.0, 4.0), StagePlan(12, 2.0, 4.0, 3.0)),
            namespace=f"team-{number % 3}",
            at=float(number // 8),
            priority=10 * (number % 5 == 0),
            driver=(0.5, 1.0) if number % 3 else None,
            gang=number % 10 == 7,
            announces=number % 2 == 0,
            memory_use=0.4,
        )
        for number in range(40)
    ]
    nodes = tuple(NodePlan(f"n{number}", 32.0, 128.0) for number in range(10))
    queues = (QueuePlan("mine", ("team-0",), fair=True, pooled=True), QueuePlan("rest", pooled=True))
    return WorldPlan(0, nodes, tuple(apps), queues, troubles=(Trouble(9.0, "operator"),))


def test_a_recorded_run_of_a_thousand_pods_is_decided_alike(tmp_path: Path) -> None:
    """Every round of the run, its releases in order, starts, borders, reasons and their numbers."""
    path = tmp_path / "rounds.jsonl.gz"
    loop = asyncio.new_event_loop()
    with quietly(), Recorder(path) as recorder:
        world = Ours(crowd(), loop)
        while len(world.cluster.released) < 1000:
            world.operator.releaser.recorder = recorder
            world.step()
    loop.close()
    assert len(world.cluster.pods) >= 1000
    rounds = list(replay(path))
    assert len(rounds) == recorder.lines
    assert sum(each.releases for each in rounds) >= 1000
    assert max(each.held for each in rounds) >= 300
    assert [each for each in rounds if each.differences] == []


def test_a_run_on_a_real_control_plane_is_decided_alike() -> None:
    """Recorded on the lab: `bench_play.py --policy slackwater --workload … --record FILE`, 6 nodes, 200 jobs.

    Every round that released something is kept, and one in sixteen of the others.
    """
    rounds = list(replay(Path(__file__).parent / "labrun.jsonl.xz"))
    assert sum(each.releases for each in rounds) >= 1000
    assert [each for each in rounds if each.differences] == []


def test_a_file_that_is_no_recording_is_refused(tmp_path: Path) -> None:
    """With what to give instead."""
    path = tmp_path / "other.jsonl"
    path.write_text('{"snapshot": 3}\n', encoding="utf-8")
    with pytest.raises(InvalidInput, match="--record"):
        list(replay(path))
    with pytest.raises(InvalidInput, match="No such file"):
        list(replay(tmp_path / "absent"))


def test_the_command_says_how_many_rounds_were_decided_alike(tmp_path: Path) -> None:
    """`slackwater replay` ends with 0 where nothing differs, with 1 where something does."""
    path = tmp_path / "rounds.jsonl"
    loop = asyncio.new_event_loop()
    with quietly(), Recorder(path) as recorder:
        world = Ours(WorldPlan(0, (NodePlan("n0", 8.0, 32.0),), (AppPlan("a", (StagePlan(3, 1.0, 1.0, 2.0),)),)), loop)
        world.operator.releaser.recorder = recorder
        for _ in range(5):
            world.step()
    loop.close()
    alike = CliRunner().invoke(app, ["replay", str(path)])
    assert (alike.exit_code, alike.output.split(",")[1].strip()) == (0, "0 of them otherwise")
    path.write_bytes(path.read_bytes().replace(b'"releases":["team-0.a-0-1"', b'"releases":["team-0.a-0-9"', 1))
    assert CliRunner().invoke(app, ["replay", str(path)]).exit_code == 1
