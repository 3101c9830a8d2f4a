"""One lab with our custom resources and policies for all tests in this folder."""

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def lab() -> Iterator[Any]:
    """A lab of our own, stopped afterwards; skipped where its programs were never built."""
    labs = pytest.importorskip("slackwater_lab.lab", reason="the lab is not installed here")
    builds = pytest.importorskip("slackwater_lab.builds")
    plan = pytest.importorskip("slackwater_lab.plan").Plan(
        parts=frozenset({"kwok", "scheduler", "slackwater-scheduler", "extender"})
    )
    if builds.missing(plan.programs()):
        pytest.skip("the lab's programs are not built; run: python -m slackwater_lab build")
    with labs.Lab.start("operator-tests", parts=plan.parts, nodes=3) as started:
        yield started


@pytest.fixture(scope="session")
def kube(lab: Any) -> Iterator[Any]:
    """An administrator's session on a cluster where Slackwater's definitions and policies are installed."""
    from support.lab.installing import install  # noqa: PLC0415 - needs the lab
    from support.lab.session import Kube  # noqa: PLC0415

    with Kube(lab.site) as session:
        install(session)
        yield session
