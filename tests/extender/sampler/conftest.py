"""Two nodes to be measured, and threads to ask with."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.builders import objects
from support.fakes.extender import World, world


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Two threads."""
    with ThreadPoolExecutor(2) as made:
        yield made


@pytest.fixture
def two() -> World:
    """Two nodes, and a pod on the first."""
    made = world(objects.node("n1", address="10.0.0.1"), objects.node("n2", address="10.0.0.2"))
    made.show(objects.pod("p", node="n1", phase="Running", status=objects.running()))
    return made
