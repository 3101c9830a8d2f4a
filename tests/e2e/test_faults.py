"""Each kind of write fails, watches are bad, programs die between writes: the end is the one without faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from slackwater_lab.faults import requests
from slackwater_lab.faults.behind import Behind, behind
from slackwater_lab.faults.rules import Fault, Watch
from support.lab.testcluster import Field
from support.lab.testnamespace import until
from support.lab.troubledlife import NODE, TroubledLife

pytestmark = pytest.mark.lab
Tell = Callable[[str], None]
ANSWERED = tuple(fault for fault in Fault if fault is not Fault.KILLED)


@pytest.fixture(scope="module")
def operator(cluster: Field) -> Iterator[Behind]:
    """The only operator, behind a proxy; without Prometheus, so that declared requests are all that counts."""
    cluster.mend()
    lab = cluster.own_lab()
    for name in ("operator-2", "prometheus"):  # one that is not there is no trouble
        lab.processes.kill(name)
    try:
        with behind(lab, "operator") as program:
            yield program
    finally:
        cluster.mend()


@pytest.fixture(scope="module")
def life(cluster: Field, operator: Behind) -> Iterator[TroubledLife]:
    """Two nodes without samples, and a life that went well once."""
    with cluster.ground("faults", nodes=2, shape=NODE) as ground:
        until("samples are stale", lambda: all(cluster.node(name)["stale"] for name in ground.nodes), 60, 0.5)
        made = TroubledLife(cluster, ground, [operator])
        made.usual = made.play()
        yield made


@pytest.fixture(autouse=True)
def _disarmed(operator: Behind) -> Iterator[None]:
    """The next scenario begins without faults, however this one ended."""
    yield
    operator.proxy.disarm()


def test_each_kind_of_write_may_fail_in_every_way(life: TroubledLife, operator: Behind, tell: Tell) -> None:
    """Every second write of each kind is refused, lost or answered by half, in turn."""
    operator.proxy.told.clear()
    operator.proxy.arm_round(requests.WRITES, ANSWERED)
    assert life.play() == life.usual
    assert {requests.NOMINATION, requests.GATE, requests.STATUS, requests.LEASE} <= {
        told.partition(":")[0] for told in operator.proxy.told
    }
    tell(f"{operator.proxy.told.total()} faults: {dict(operator.proxy.told)}")


@pytest.mark.parametrize("kind", [requests.NOMINATION, requests.GATE, requests.LEASE])
def test_an_operator_that_dies_between_two_writes_leaves_nothing(
    life: TroubledLife, operator: Behind, kind: str
) -> None:
    """It is started again, clears what it left, and the end is the same."""
    life.kills = 0
    operator.proxy.arm(kind, 2, Fault.KILLED)
    assert life.play() == life.usual
    assert life.kills == 1


@pytest.mark.parametrize("watch", [Watch.SHUFFLED, Watch.LOSSY], ids=str)
def test_bad_watches_change_nothing_in_the_end(life: TroubledLife, operator: Behind, watch: Watch) -> None:
    """Events come late in any order, or every third is lost until the next list."""
    with operator.proxy.watching(watch, seed=1):
        assert life.play() == life.usual
