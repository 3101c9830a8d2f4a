"""The journeys of docs/architecture.md: modules that exist, none of them twice, in the order of their first calls."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from types import FrameType

import pytest

from support.builders import objects
from support.builders.vectors import INQUIRY, answers, by_node, vector
from support.fakes import cluster, extender, placing
from support.lab.chart import ROOT

TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Three journeys")[2]
JOURNEYS = {
    title.strip(): re.findall(r"^\d+\. `([\w.]+)`", steps, re.MULTILINE)
    for title, steps in re.findall(r"^### (.+)\n((?:.+\n)+)", TEXT, re.MULTILINE)
}
# In whose place fakes stand when a journey is played here: connections, watches, and the loop around a round.
FAKED = {
    "A pod event": (
        "slackwater_cluster.watch.reflector",
        "slackwater_cluster.watch.decoding",
        "slackwater_cluster.watch.trim",
        "slackwater_operator.cache.watch",
        "slackwater_operator.release.loop",
        "slackwater_operator.release.ownerlookup",
    ),
    "A filter request": ("slackwater_extender.http.worker",),
    "A sample": (),
}


def test_there_are_three_journeys() -> None:
    """A pod event, a filter request, a sample."""
    assert [title.split(",")[0] for title in JOURNEYS] == ["A pod event", "A filter request", "A sample"]


@pytest.mark.parametrize("title", JOURNEYS)
def test_a_journey_names_modules_that_exist_and_none_twice(title: str) -> None:
    """A module that moves takes its line along; one that would be visited twice wants to be cut."""
    modules = JOURNEYS[title]
    assert len(modules) > 8
    assert [name for name in modules if find_spec(name) is None] == []
    assert len(set(modules)) == len(modules)


@contextmanager
def entered() -> Iterator[dict[str, None]]:
    """The modules of ours whose functions are called meanwhile, in the order of their first calls."""
    found: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("slackwater"):
            found.setdefault(name)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def named(title: str) -> list[str]:
    """The modules that a journey names, without those in whose place fakes stand."""
    (modules,) = (steps for found, steps in JOURNEYS.items() if found.startswith(title))
    return [name for name in modules if name not in FAKED[title]]


def test_a_pod_event_enters_modules_as_its_journey_says() -> None:
    """From the cache of the operator to the writes of a release."""
    world = cluster.enforcing(cluster.node("a", cpu=16))
    operator = world.operator()
    operator.step()
    with entered() as found:
        world.create("t-0", app="etl")
        operator.step()
    assert [name for name in found if name in named("A pod event")] == named("A pod event")


def test_a_filter_request_enters_modules_as_its_journey_says() -> None:
    """From the choice of the verb to a pod that nobody takes."""
    made = placing.two()
    with entered() as found:
        made.filter(placing.task(), "idle", "busy")
    assert [name for name in found if name in named("A filter request")] == named("A filter request")


def test_a_sample_enters_all_modules_of_its_journey() -> None:
    """In another order: which nodes were never measured is asked before anything is, and all have several parts."""
    made = extender.world(objects.node("n1"))
    made.show(objects.pod("p", node="n1", phase="Running", status=objects.running()))
    pod, now = {"namespace": "batch", "pod": "p"}, made.clock.wall()
    sampling = made.parts.sampling
    sampling.inquiry, sampling._pool = INQUIRY, ThreadPoolExecutor(2)
    of_nodes = {"node_cpu": by_node(n1=2.0), "node_memory": by_node(n1=2.0**30), "node_time": by_node(n1=now)}
    of_pods = {"pod_cpu": vector((pod, 0.1)), "pod_memory": vector((pod, 1e8))}
    with entered() as found:
        sampling.beat(answers(**of_nodes, **of_pods))
        made.get("/v1/nodes/n1")
    sampling._pool.shutdown()
    assert [name for name in named("A sample") if name not in found] == []
