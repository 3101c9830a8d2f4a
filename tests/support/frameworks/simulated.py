"""A lab of simulated nodes beside the real controller of a framework; the nodes play the containers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from slackwater_lab.frameworks import operators
from slackwater_lab.nodes.simulated import Shape, names
from slackwater_lab.plan import Plan
from slackwater_lab.programs.build import missing
from support.frameworks.playground import Playground
from support.lab.keeping import keeping
from support.lab.running import running


@contextmanager
def simulated(controllers: Sequence[str], team: str, shape: Shape, home: Path) -> Iterator[Playground]:
    """Two nodes of this shape, the controllers, and a namespace of a team; skips where a controller is not built."""
    if absent := " ".join(item.name for item in missing(controllers)):
        pytest.skip(f"not built: {absent}; run: python -m slackwater_lab build {absent}")
    plan = Plan(nodes=2, shape=shape, values=("policy.spec.mode=enforce",))
    with running(plan, home) as lab, keeping(lab), lab.api() as api:
        for each in controllers:
            operators.start(lab, each, print)
        made = Playground(lab, api, nodes=tuple(names(2)))
        made.team(team)
        yield made
