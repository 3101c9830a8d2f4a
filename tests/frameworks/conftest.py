"""One lab for the whole suite: real nodes, cluster DNS, Slackwater with the chart's defaults in mode enforce."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from slackwater_lab.nodes.kubelets import Capacity
from slackwater_lab.nodes.real import obstacles
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.plan import Plan
from support.frameworks.playground import Playground
from support.frameworks.results import Recorder
from support.lab.keeping import keeping
from support.lab.running import running

CAPACITY = Capacity(8, 16_384)
TABLE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "frameworks.md"
RESULTS = Path(__file__).parent / "results.json"


@pytest.fixture(scope="session")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """Two real nodes of 8 cores, and two tainted ones of 32 that no framework here can use."""
    if problems := obstacles():
        pytest.skip("; ".join(problems))
    plan = Plan(
        nodes=2,
        shape=Shape(cpu="32", memory="128Gi", tainted=True),
        real_nodes=2,
        capacity=CAPACITY,
        services=True,
        values=("policy.spec.mode=enforce",),
    )
    with running(plan, tmp_path_factory.mktemp("labs")) as lab, keeping(lab), lab.api() as api:
        yield Playground(lab, api)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    """Writes down each case as soon as it has ended, beside what others have written by then."""
    made = Recorder()
    yield made
    written = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    known = Recorder.of([*written, *made.rows()])
    RESULTS.write_text(json.dumps(known.rows(), indent=1) + "\n")
    TABLE.write_text(known.page(TABLE.read_text()))
