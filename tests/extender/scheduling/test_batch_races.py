"""Batch placement while nodes, pods and reservations change under it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from slackwater_cluster.extenderapi import PlaceItem, PlaceRequest
from slackwater_extender.cache.lock import PriorityLock
from support.builders import objects
from support.fakes.extender import World, world
from support.fakes.placing import ask, three, waiting


def test_a_node_taken_meanwhile_is_not_given_out_twice() -> None:
    """The batch decides on a snapshot; a filter between two slices may take the room first."""
    made = world(objects.node("n0", cpu="14"), objects.node("n1", cpu="14"), settings={"decisions": {"slice": 1e-9}})
    made.sample({"n0": (0.0, 0.0), "n1": (0.0, 0.0)})
    names = [f"p{i}" for i in range(14)]
    made.show(*[waiting(name) for name in names])
    cache = made.parts.cache
    rivals: list[Any] = []

    class Between(PriorityLock):
        """A rival comes as soon as the first placements are entered and the lock is free."""

        def __exit__(self, *error: Any) -> None:
            super().__exit__(*error)
            if len(cache.ledger) and not rivals:
                rivals.append(1)
                rivals.append(made.filter(objects.pod("rival", cpu="6"), "n0", "n1")["NodeNames"])

    ticks = count(1_000_000_000)
    cache.clock, cache.lock = (lambda: next(ticks) / 1e6), Between()  # time passes at every look: one step per slice
    answer = made.parts.placer.place(PlaceRequest(pods=[PlaceItem(uid=f"uid-batch-{name}") for name in names]))
    assert rivals[1] == ["n0", "n1"]
    assert (len(answer.placed), len(answer.refused)) == (11, 3)  # (28 − 6) / 2
    assert (cache.ledger.table(1000.0).room >= -1e-9).all()


def came(made: World) -> None:
    made.nodes(objects.node("n3", cpu="14"))


def went_and_came(made: World) -> None:
    made.parts.cache.drop_nodes([made.parts.cache.nodes["n0"]])
    came(made)


@pytest.mark.parametrize("change", [came, went_and_came])
@pytest.mark.parametrize("holds", range(1, 6))
def test_selectors_hold_when_nodes_change_under_a_batch(change: Callable[[World], None], holds: int) -> None:
    """Whichever hold of the lock the watch comes after: rows of a snapshot are found by name."""
    made = world(*[objects.node(f"n{i}", cpu="14", labels={"pool": "gpu" if i == 2 else "cpu"}) for i in range(3)])
    made.sample({f"n{i}": (0.0, 0.0) for i in range(3)})
    made.show(waiting("p", spec={"nodeSelector": {"pool": "gpu"}}))

    class Between(PriorityLock):
        """Nodes change when the lock is free."""

        left = 0

        def __exit__(self, *error: Any) -> None:
            super().__exit__(*error)
            self.left += 1
            if self.left == holds:
                change(made)

    made.parts.cache.lock = Between()
    assert [each["node"] for each in ask(made, "p")["placed"]] == ["n2"]


@pytest.mark.parametrize("cpu", ["2", "99"], ids=["fits", "does-not-fit"])
def test_a_pod_that_is_deleted_while_its_batch_is_decided_gets_nothing(cpu: str) -> None:
    """No reservation that only lapses, no place among the refused, where it would stay for ever."""
    made = three(waiting("p", cpu), waiting("q"))
    cache = made.parts.cache

    class Between(PriorityLock):
        """The pod goes when the batch has looked it up."""

        left = 0

        def __exit__(self, *error: Any) -> None:
            super().__exit__(*error)
            self.left += 1
            if self.left == 1:
                made.gone(waiting("p", cpu))

    cache.lock = Between()
    answer = ask(made, "p", "q")
    assert answer["refused"][0] == {
        "uid": "uid-batch-p",
        "reason": "slackwater: pod not known yet",
        "counts": {},
        "needs": {},
    }
    assert set(cache.ledger.reservations()) == {"uid-batch-q"}
    assert len(made.parts.waiting) == 0


@pytest.mark.parametrize("holds", range(1, 6))
def test_a_batch_that_fails_leaves_what_was_reserved(holds: int) -> None:
    """Wherever it fails, no pod loses its reservation: its room would be given to others while it is on its way."""
    made = three(waiting("p"), waiting("q"))
    cache, uids = made.parts.cache, ["uid-batch-p", "uid-batch-q"]
    ask(made, "p")
    node = cache.assigned_node("uid-batch-p")

    class Breaking(PriorityLock):
        """The lock cannot be taken for once."""

        taken = 0

        def __enter__(self) -> None:
            self.taken += 1
            if self.taken == holds:
                raise RuntimeError
            super().__enter__()

    cache.lock = Breaking()
    with pytest.raises(RuntimeError):
        made.parts.placer.place(PlaceRequest(pods=[PlaceItem(uid=uid) for uid in uids]))
    assert set(cache.ledger.reservations()) == set(uids)
    claim = cache.ledger.claim("uid-batch-p")
    assert claim is not None
    assert claim.node == node


def test_a_batch_never_takes_the_lock_twice() -> None:
    """What seems to be computed with the lock free is: a /filter need not wait for it."""
    made = three(waiting("p"), waiting("q", spec={"nodeSelector": {"kubernetes.io/hostname": "n1"}}))
    depths = []

    class Deep(PriorityLock):
        """Notes how often it is held already when it is taken."""

        depth = 0

        def __enter__(self) -> None:
            super().__enter__()
            depths.append(self.depth)
            self.depth += 1

        def __exit__(self, *error: Any) -> None:
            self.depth -= 1
            super().__exit__(*error)

    made.parts.cache.lock = Deep()
    assert len(ask(made, "p", "q")["placed"]) == 2
    assert set(depths) == {0}


def test_requests_go_before_slices() -> None:
    """A filter waits for one slice at most, not for a whole batch."""
    names = [f"p{i}" for i in range(200)]
    made = world(*[objects.node(f"n{i}", cpu="64") for i in range(50)])
    made.sample({f"n{i}": (0.0, 0.0) for i in range(50)})
    made.show(*[waiting(name) for name in names])
    lock, order = made.parts.cache.lock, []
    asked = threading.Event()

    def background() -> None:
        asked.wait(5)
        for _ in range(3):
            with lock.background():
                order.append("slice")

    thread = threading.Thread(target=background)
    thread.start()

    def request() -> None:
        with lock:
            order.append("request")

    with lock:
        waiter = threading.Thread(target=request)
        waiter.start()
        while not lock._waiting:
            pass
        asked.set()
    waiter.join(5)
    thread.join(5)
    assert order[0] == "request"
