"""1,000 apps of mixed frameworks at once, as their controllers wrote them: drivers alone would fill the nodes.

    .venv/bin/python -m pytest -q -p no:randomly -m frameworks tests/frameworks/test_mixed.py

Simulated nodes; $SLACKWATER_MIXED_APPS plays another number of apps.
"""

import asyncio
import json
import os
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.api.session import Session
from slackwater_lab.frameworks.operators import define
from slackwater_lab.lab import Lab
from slackwater_lab.live.namespace import house
from slackwater_lab.live.pods import Stage
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.plan import PARTS, Plan
from support.frameworks.clones import Recording, Run
from support.frameworks.mixed import KINDS, MixedPlayer, Outcome, cores_of_drivers, definition, make_owners, mixed
from support.frameworks.mixedpage import page
from support.frameworks.results import RECORDED
from support.lab.running import running

APPS = int(os.environ.get("SLACKWATER_MIXED_APPS", "1000"))
NAMESPACE = "mixed"
# Simulated nodes tell the use of every pod at each scrape; every 2 s, that takes most of two cores for 4,500 pods.
SCRAPE = "10s"
CORES = 16  # of a node
LIMIT = 1800.0  # seconds for one play
STALLED = {"slackwater": 300.0, "stock": 120.0}  # seconds without any news of a pod, after which a play is given up
SCHEDULER = {"slackwater": "slackwater", "stock": "default-scheduler"}
RESULTS = Path(__file__).parent / "mixed.json"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "frameworks.md"

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(2 * LIMIT)]


@pytest.mark.parametrize("world", ["slackwater", "stock"])
def test_many_apps_of_mixed_frameworks(world: str, tmp_path: Path) -> None:
    """With Slackwater all finish, and every app is believed to be what its labels say; stock is played beside it."""
    runs = mixed([Recording.read(path) for path in sorted(RECORDED.glob("*.json"))], APPS)
    nodes = max(2, int(cores_of_drivers(runs) // CORES))
    parts = frozenset(PARTS) if world == "slackwater" else frozenset({"kwok", "scheduler"})
    shape = Shape(cpu=str(CORES), memory="64Gi")
    plan = Plan(parts=parts, nodes=nodes, shape=shape, scrape=SCRAPE, values=("policy.spec.mode=enforce",))
    with running(plan, tmp_path) as lab:
        with lab.api() as api:
            define(api, map(definition, KINDS))
        outcome = asyncio.run(_play(lab, world, runs))
        _write(world, nodes, outcome)
        if world == "slackwater":
            assert outcome.lines[-1].finished == APPS
            assert outcome.doubts == 0


async def _play(lab: Lab, world: str, runs: list[Run]) -> Outcome:
    where = endpoint(lab.site.kubeconfig)
    stage = Stage(NAMESPACE, NAMESPACE, SCHEDULER[world])
    player = MixedPlayer(where, stage, runs, STALLED[world])
    async with Session(where) as session, house(session, NAMESPACE, managed=world == "slackwater"):
        with lab.api() as api:
            await asyncio.to_thread(make_owners, api, NAMESPACE, runs)
        courses = await player.play(player.plays(), LIMIT)
        return Outcome(player, courses, await asyncio.to_thread(_doubts, lab))  # Events go with the namespace


def _doubts(lab: Lab) -> int:
    """Pods whose labels nothing vouched for."""
    with lab.api() as api:
        return len(api.items("/api/v1/events", {"fieldSelector": "reason=Doubted"}))


def _write(world: str, nodes: int, outcome: Outcome) -> None:
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    known[f"{APPS} {world} {SCRAPE}"] = {
        "world": world,
        "scrape": SCRAPE,
        "limit": LIMIT,
        "day": datetime.now(UTC).date().isoformat(),
        "nodes": nodes,
        "cores": CORES,
        "lines": [asdict(line) for line in outcome.lines],
    }
    RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    PAGE.write_text(page(PAGE.read_text(), known))
