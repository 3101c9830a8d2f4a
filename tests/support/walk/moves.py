"""Changes that an administrator makes under load: objects come, go and get other names; namespaces change sides."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from slackwater_cluster import names
from support.walk.programs import TEAMS
from support.walk.walk import Walk

Move = Callable[[Walk, Random], str]


def switch_mode(walk: Walk, rng: Random) -> str:
    """The policy is put into another mode."""
    mode = rng.choice(("observe", "score", "enforce"))
    walk.store.apply("SlackPolicy", "default", spec={"mode": mode})
    return f"mode {mode}"


def delete_or_make_policy(walk: Walk, rng: Random) -> str:
    """The policy goes, or comes back."""
    if ("SlackPolicy", "default") in walk.store.customs:
        walk.store.remove("SlackPolicy", "default")
        return "policy deleted"
    walk.store.apply("SlackPolicy", "default", spec={"mode": "enforce"})
    return "policy made"


def delete_or_make_pool(walk: Walk, rng: Random) -> str:
    """A pool goes while apps run in it, or comes with other terms."""
    name = rng.choice(("a-pool", "default"))
    if ("ReservationPool", name) in walk.store.customs:
        walk.store.remove("ReservationPool", name)
        return f"pool {name} deleted"
    queues = [of for kind, of in walk.store.customs if kind == "AdmissionQueue"] or ["default"]
    delta, theta = rng.choice((0.1, 0.3, 0.6)), rng.choice((0.05, 0.4, 0.9))
    spec = {"queue": rng.choice(queues), "theta": theta, "delta": {"initial": delta}}
    walk.store.apply("ReservationPool", name, spec=spec)
    return f"pool {name} made: {spec}"


def rename_queue(walk: Walk, rng: Random) -> str:
    """The queue goes and one of another name comes, in this order or the other; its pool follows, or not."""
    old = next((of for kind, of in walk.store.customs if kind == "AdmissionQueue"), "")
    new = "renamed" if old != "renamed" else "default"
    first = rng.random() < 0.5
    spec = dict(walk.store.customs["AdmissionQueue", old].spec) if old else {"growthPods": 0}
    if old and first:
        walk.store.remove("AdmissionQueue", old)
        walk.running.step()
    walk.store.apply("AdmissionQueue", new, spec=spec)
    if old and not first:
        walk.running.step()
        walk.store.remove("AdmissionQueue", old)
    return f"queue {old} is {new}"


def name_namespaces(walk: Walk, rng: Random) -> str:
    """A second queue takes a namespace, or gives it back."""
    if ("AdmissionQueue", "second") in walk.store.customs:
        walk.store.remove("AdmissionQueue", "second")
        return "second queue deleted"
    spec = {"namespaces": [rng.choice(TEAMS)], "growthPods": 0, "nodeSelector": rng.choice(({}, {"group": "team-a"}))}
    walk.store.apply("AdmissionQueue", "second", spec=spec)
    return f"second queue {spec}"


def pause(walk: Walk, rng: Random) -> str:
    """Every queue is paused, drained or opened by annotation."""
    said = rng.choice(({names.PAUSE: "true"}, {names.PAUSE: "drain"}, {}, {names.PAUSE: "perhaps"}))
    for kind, name in list(walk.store.customs):
        if kind == "AdmissionQueue":
            walk.store.apply(kind, name, annotations=said)
    return f"queues annotated {said}"


def label(walk: Walk, rng: Random) -> str:
    """A namespace opts out or in, or names another policy."""
    name = rng.choice(TEAMS)
    policy = rng.choice(("default", "default", "unwritten"))
    labels = rng.choice(({}, {names.MANAGED: "false"}, {names.MANAGED: "true", names.POLICY: policy}))
    walk.store.label(name, labels)
    return f"namespace {name} labelled {labels}"


MOVES: tuple[Move, ...] = (
    switch_mode,
    delete_or_make_policy,
    delete_or_make_pool,
    delete_or_make_pool,
    rename_queue,
    name_namespaces,
    pause,
    label,
)


def wander(walk: Walk, seed: int, moves: int) -> None:
    """Some moves one after the other, each compared with a fresh start; one in four follows at once on the last."""
    rng = Random(seed)
    told: list[str] = []
    for _ in range(moves):
        told.append(rng.choice(MOVES)(walk, rng))
        if rng.random() < 0.75:
            walk.go(f"seed {seed}: {', then '.join(told[-4:])}")
