"""Reasons on held pods: what is wrong with some pods keeps no reason from the others."""

import asyncio
from typing import Any, cast

import pytest

from slackwater_cluster import names
from slackwater_cluster.api.session import Answer, Session
from slackwater_operator.clients.podwriter import PodWriter
from slackwater_operator.clients.ratelimit import TokenBucket
from slackwater_operator.status.podreasons import FAILURES, ReasonWriter
from support.fakes.cluster import enforcing, node


class Refused:
    """A cluster in which another policy refuses every write to pods whose names begin with `odd-`."""

    def __init__(self, odd: int, rate: float, status: int = 403) -> None:
        self.world = enforcing(node("a", cpu=1))
        for number in range(odd):
            self.world.create(f"odd-{number}", cpu=4, app="a-odd")
        self.fine = self.world.create("fine", cpu=4, app="fine")
        operator = self.world.operator()
        operator.step()
        self.tried, self.status, self._write = list[str](), status, self.world.write
        self.world.write = self._refusing  # type: ignore[method-assign]
        writer, clock = PodWriter(cast("Session", self.world)), self.world.clock
        self._labeller = ReasonWriter(writer, TokenBucket(rate, rate, clock), clock, quiet=0)
        self._accounts = [operator.said("a-odd"), operator.said("fine")]

    async def _refusing(self, method: str, path: str, body: Any, **more: Any) -> Answer:
        self.tried.append(path)
        return Answer(self.status, b"{}") if "/odd-" in path else await self._write(method, path, body, **more)

    def write(self) -> int:
        """Write reasons once; returns how many."""
        return asyncio.run(self._labeller.write(self.world.cache, self._accounts, 0.0))

    @property
    def told(self) -> bool:
        """Whether the pod that may be written to has its reason."""
        return names.REASON in self.world.pods[self.fine.uid].annotations


@pytest.mark.parametrize(("status", "reached"), [(403, True), (404, True), (500, False)])
def test_pods_that_are_refused_or_gone_keep_no_reason_from_the_others(status: int, reached: bool) -> None:
    """Each is tried once and later again; only where nobody answers the rest is left for the next time."""
    refused = Refused(2 * FAILURES, rate=100, status=status)
    assert refused.write() == int(reached)
    assert refused.told is reached
    assert len(refused.tried) == (2 * FAILURES + 1 if reached else FAILURES)
    refused.write()
    assert len(refused.tried) == 2 * FAILURES + (1 if reached else 0), "none of them is tried again at once"


def test_pods_that_were_refused_are_tried_again_after_all_others() -> None:
    """More of them than the rate allows in the time after which they are tried again used it up for everybody."""
    refused = Refused(150, rate=2)
    for _ in range(100):
        refused.write()
        refused.world.now += 1
    assert refused.told


def test_pods_that_are_refused_again_and_again_are_tried_less_and_less_often() -> None:
    """After one, two, four and eight minutes, and then every ten."""
    refused = Refused(1, rate=100)
    for _ in range(3600):
        refused.write()
        refused.world.now += 1
    assert len([path for path in refused.tried if "/odd-" in path]) == 1 + 4 + 4


@pytest.mark.parametrize("released", [True, False])
def test_nothing_is_written_on_pods_that_are_released_while_others_are_written(released: bool) -> None:
    """A pod that is on its way kept its reason for ever; and while pods are let go, reasons wait in no line."""
    refused = Refused(2, rate=100)
    world, labeller, over = refused.world, refused._labeller, asyncio.Event()
    write = world.write

    async def slow(method: str, path: str, body: Any, **more: Any) -> Answer:
        await over.wait()
        return await write(method, path, body, **more)

    world.write = slow  # type: ignore[method-assign]

    async def story() -> None:
        await labeller.write(world.cache, refused._accounts, 0.0)
        assert labeller.lines.busy("team")
        if released:
            for pod in world.pods.values():
                world.cache.begin(pod.uid, world.now, "a")
        else:
            labeller.quiet = 5
            assert await labeller.write(world.cache, refused._accounts, world.now) == 0
        over.set()
        await labeller.lines.settle()

    asyncio.run(story())
    assert len(refused.tried) == 1


def test_a_reason_that_was_written_while_its_pod_stood_in_line_goes_with_the_gate() -> None:
    """The release knew the pod as it was when it was decided on, and left the reason on it for ever."""
    world = enforcing(node("a"))
    decided = world.create("t", app="t")
    world.change(decided.uid, annotations={**decided.annotations, names.REASON: "room"})
    assert asyncio.run(PodWriter(cast("Session", world)).release(decided, "")).done
    assert not world.pods[decided.uid].gates
    assert names.REASON not in world.pods[decided.uid].annotations
