"""Refused pods are woken when there is room, no more of them than fit."""

from __future__ import annotations

from typing import Any

from slackwater_extender.cache.watch import PodSink
from support.builders import objects
from support.fakes.extender import World, pod_record, world


def full() -> World:
    """One node with a pod on it that uses all of it."""
    made = world(objects.node("n", cpu="14"))
    made.show(pod("old", cpu="14", node="n", phase="Running", status=objects.running()))
    made.sample({"n": (14.0, 2**30)}, {"uid-batch-old": (14.0, 2**30)})
    return made


def pod(name: str, cpu: str = "4", **more: Any) -> dict[str, Any]:
    return objects.pod(name, cpu=cpu, **more)


def woken(made: World, after: int = 0) -> list[str]:
    return [each["pod"] for each in made.get(f"/v1/wakeups?after={after}")["pods"]]


def test_room_wakes_refused_pods_but_not_more_than_fit() -> None:
    """14 cores hold three pods of 4; the fourth would only be refused again."""
    made = full()
    for name in ("a", "b", "c", "d"):
        assert made.filter(pod(name), "n")["NodeNames"] == []
    made.parts.tick()
    assert woken(made) == []
    made.show(pod("old", cpu="14", node="n", phase="Succeeded"))
    made.clock.now += 5
    made.sample({"n": (0.0, 0.0)})
    made.clock.now += 300
    made.sample({"n": (0.0, 0.0)})
    made.parts.tick()
    made.parts.tick()
    assert woken(made) == ["a", "b", "c"]


def room_came() -> World:
    """A pod was refused on a full node, which is empty five minutes later."""
    made = full()
    made.filter(pod("a"), "n")
    made.gone(pod("old", cpu="14", node="n"))
    made.clock.now += 300
    made.sample({"n": (0.0, 0.0)})
    made.parts.tick()
    return made


def test_the_number_to_ask_from_next() -> None:
    """A reader sees each wake-up once."""
    made = room_came()
    answer = made.get("/v1/wakeups")
    assert answer["next"] == 1
    assert woken(made, after=1) == []


def test_a_pod_that_got_a_node_or_went_is_not_woken() -> None:
    """Bound, deleted or placed: nothing to wake."""
    made = full()
    for name in ("bound", "gone", "placed"):
        made.filter(pod(name), "n")
    made.gone(pod("old", cpu="14", node="n"))
    made.clock.now += 300
    made.sample({"n": (0.0, 0.0)})
    made.filter(pod("placed"), "n")
    watch = PodSink(made.parts.cache, "pods", made.parts.waiting)
    watch.changed([pod_record(pod("bound", node="n"))])
    watch.vanished([pod_record(pod("gone"))])
    made.parts.tick()
    assert woken(made) == []


def test_a_pod_that_got_a_node_after_it_was_woken_is_not_told_to_anybody() -> None:
    """Seed 2042031: a driver was woken and released at once; then it was taken for stuck there, and paused in vain."""
    made = room_came()
    made.show(pod("a"))
    assert made.post("/v1/place", {"pods": [{"uid": "uid-batch-a"}]})["placed"][0]["node"] == "n"
    assert woken(made) == []


def test_a_pod_that_was_deleted_before_it_was_asked_about_is_neither_refused_nor_reserved() -> None:
    """Our watch may be ahead of the scheduler's. Nobody would ever take it from among the refused again."""
    made = full()
    watch = PodSink(made.parts.cache, "pods", made.parts.waiting)
    for name in ("refused", "placed"):
        watch.changed([pod_record(pod(name))])
        watch.vanished([pod_record(pod(name))])
    made.filter(pod("refused"), "n")
    made.gone(pod("old", cpu="14", node="n"))
    made.clock.now += 300
    made.sample({"n": (0.0, 0.0)})
    made.filter(pod("placed"), "n")
    made.prioritize(pod("placed"), "n")
    assert len(made.parts.waiting) == 0
    assert made.charged("n") == set()


def test_a_pod_that_is_bound_already_is_not_among_the_refused() -> None:
    """The scheduler may ask with a copy that is older than what we know."""
    made = full()
    made.show(pod("bound", node="n"))
    made.filter(pod("bound"), "n")
    assert len(made.parts.waiting) == 0


def test_a_pod_that_went_while_nobody_watched_is_forgotten_with_the_next_list() -> None:
    """It never came, and so it never vanishes; one that was refused just now may not be in the list yet."""
    made = full()
    watch = PodSink(made.parts.cache, "pods", made.parts.waiting)
    for name in ("unseen", "known"):
        made.filter(pod(name), "n")
    watch.changed([pod_record(pod("known"))])
    made.clock.now += 60
    made.filter(pod("new"), "n")
    watch.synced()
    assert [made.parts.waiting.get(f"uid-batch-{name}") is not None for name in ("unseen", "known", "new")] == [
        False,
        True,
        True,
    ]


def test_one_that_nobody_helped_is_told_again() -> None:
    """The operator may have been down; after half a minute it hears of it again."""
    made = full()
    made.filter(pod("a"), "n")
    made.gone(pod("old", cpu="14", node="n"))
    for _ in range(4):
        made.clock.now += 100
        made.sample({"n": (0.0, 0.0)})
        made.parts.tick()
    assert woken(made).count("a") == 4


def test_a_wall_clock_that_is_set_back_silences_nobody() -> None:
    """Who was told is told again after half a minute, whatever time people are told it is."""
    made = room_came()
    made.clock.behind = 3600.0
    made.clock.now += 31
    made.parts.tick()
    assert woken(made) == ["a", "a"]


def test_a_reader_of_an_earlier_process_is_told_everything() -> None:
    """After a restart the count begins anew; a number that was not given out yet is one of before."""
    made = room_came()
    answer = made.get("/v1/wakeups?after=1000")
    assert ([each["pod"] for each in answer["pods"]], answer["next"]) == (["a"], 1)


def test_a_refusal_by_batch_placement_waits_too() -> None:
    """Held pods that found no node are woken like released ones."""
    made = full()
    made.show(pod("held"))
    made.post("/v1/place", {"pods": [{"uid": "uid-batch-held"}]})
    assert made.get("/v1/wakeups")["waiting"] == 1


def test_too_many_waiting_pods_are_forgotten_oldest_first() -> None:
    """Memory stays bounded."""
    made = world(objects.node("n"), settings={"decisions": {"waiting": 2}})
    for name in ("a", "b", "c"):
        made.filter(pod(name, cpu="99"), "n")
    assert len(made.parts.waiting) == 2
    assert made.parts.waiting.get("uid-batch-a") is None
