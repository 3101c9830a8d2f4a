"""The lab itself: everything in it, ready in half a minute."""

import os
from collections.abc import Callable

import psutil
import pytest

from support.lab.testcluster import Field

pytestmark = pytest.mark.lab


def test_the_whole_lab_is_ready_within_half_a_minute(cluster: Field, tell: Callable[[str], None]) -> None:
    """Control plane, both schedulers, kwok, Prometheus, chart, extender and two operators, from nothing."""
    if cluster.start is None:
        pytest.skip("needs a lab of its own: this cluster ran already")
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    tell(f"ready after {cluster.start:.1f} s, load per core {busy:.1f}")
    if busy > 2.5:
        pytest.skip(f"needs a machine that is not overrun: load per core is {busy:.1f}")
    assert cluster.start < 30


def test_everything_listens_on_loopback_only(cluster: Field) -> None:
    """Every socket on which a process of the lab waits for callers can be reached from this machine only."""
    pids = [started.pid for started in cluster.own_lab().processes.all() if started.alive]
    heads = [psutil.Process(pid) for pid in pids]
    family = [*heads, *(child for head in heads for child in head.children(recursive=True))]
    open_to = {
        connection.laddr.ip
        for process in family
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert open_to == {"127.0.0.1"}
