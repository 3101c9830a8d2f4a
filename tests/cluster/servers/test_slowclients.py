"""Connections that hold threads: who is too slow is cut off, and who takes most places makes room."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from slackwater_cluster.servers.slowclients import ConnectionLimits


class Clock:
    """A time that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        """What time it is."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pair() -> Iterator[Callable[[], tuple[socket.socket, socket.socket]]]:
    """Makes pairs of connected sockets."""
    made: list[socket.socket] = []

    def make() -> tuple[socket.socket, socket.socket]:
        one, other = socket.socketpair()
        made.extend((one, other))
        return one, other

    yield make
    for each in made:
        each.close()


Pair = Callable[[], tuple[socket.socket, socket.socket]]


def test_who_takes_too_long_is_cut_off(clock: Clock, pair: Pair) -> None:
    """Five seconds for the head, thirty for the rest."""
    limits = ConnectionLimits(4, 5.0, 30.0, clock)
    one, _ = pair()
    with limits.hold(one, "a") as read:
        clock.now = 4.0
        limits.expire()
        assert limits.cut == 0
        read()
        clock.now = 30.0
        limits.expire()
        assert limits.cut == 0
        clock.now = 34.0
        limits.expire()
        assert limits.cut == 1
        assert one.recv(1) == b""


def test_the_oldest_of_the_busiest_address_makes_room(clock: Clock, pair: Pair) -> None:
    """A caller from elsewhere keeps its place; a place is free again when a request is answered."""
    limits = ConnectionLimits(3, 5.0, 30.0, clock)
    socks = {name: pair()[0] for name in ("probe", "slow-1", "slow-2", "new", "later")}
    with ExitStack() as stack:
        stack.enter_context(limits.hold(socks["probe"], "kubelet"))
        stack.enter_context(limits.hold(socks["slow-1"], "stranger"))
        stack.enter_context(limits.hold(socks["slow-2"], "stranger"))
        with limits.hold(socks["new"], "stranger"):
            assert socks["slow-1"].recv(1) == b""
            assert limits.cut == 1
        stack.enter_context(limits.hold(socks["later"], "kubelet"))
        assert limits.cut == 1


def test_no_handle_is_left_open(pair: Pair) -> None:
    """Each request gives its second handle back."""
    limits, (one, _) = ConnectionLimits(3, 5.0, 30.0), pair()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        with limits.hold(one, "a"):
            pass
    assert len(list(Path("/proc/self/fd").iterdir())) == before
