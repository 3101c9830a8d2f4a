"""Whether new tasks may come without a gate: where all have room and half of it is free, order decides nothing.

A gate costs the API server two or three more writes for each pod. It is worth them where somebody waits, or soon will:

    open  ⇔  nobody waits, but for a place of the full window
             ∧  no app asks for more than room (gang, strict DAG, pause)
             ∧  flying ≤ 5 · window
             ∧  for each kind that tasks ask for:  Σ requested left − on their way − held  ≥  share · Σ allocatable

`requested left` is what the stock scheduler counts, by declared requests; so even if nobody measured and nobody
filtered, all tasks that come in while the gate is open fit by what they declare. The share is ½ to open and 0.4 to
stay open. Who closed the gate keeps it closed for a while: a write for each driver that comes would be no gain.

A small cluster opens it only in a flood: its window is full, so releases are what pods wait for. It stays open until a
quarter of the window is enough.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from slackwater.cycle.appstarts.nodegrowth import in_flight
from slackwater.cycle.appverdicts import Verdict, WaitReason
from slackwater.cycle.snapshot import App, PodGroup, Snapshot
from slackwater.nodetable import NodeTable
from slackwater.resources import CPU, MEMORY, Resources, total

OPENS, STAYS = 0.5, 0.4  # the free share of every kind
WINDOWS = 5  # windows of pods that may be on their way
EBB = 0.25  # of the window on its way: less is no flood any more
REST = 10.0  # seconds that it stays closed at least, and that a flood counts
FOR_PLACES = frozenset({WaitReason.WINDOW, WaitReason.RELEASED})


def may_open(
    snapshot: Snapshot, released: Collection[str], verdicts: Mapping[str, Verdict] | None = None, *, is_open: bool
) -> bool:
    """Whether the gate may be open after a round that released these pods and said this of each app."""
    return (
        snapshot.nodes is not None
        and not any(map(_asks_for_more, snapshot.apps))
        and not _somebody_waits(snapshot, snapshot.nodes, released, verdicts or {})
        and in_flight(snapshot.apps) <= WINDOWS * snapshot.window
        and _half_empty(snapshot.nodes, _to_come(snapshot.apps), STAYS if is_open else OPENS)
    )


def floods(snapshot: Snapshot, released: Collection[str], *, is_open: bool) -> bool:
    """Whether so many pods are on their way that releases, not nodes, are what further ones would wait for."""
    flying = in_flight(snapshot.apps) + len(released)
    return flying >= snapshot.window * (EBB if is_open else 1.0)


def _asks_for_more(app: App) -> bool:
    """Room alone is not enough for its pods: without a gate nobody could hold them."""
    return app.gang or app.strict or app.paused


def _somebody_waits(
    snapshot: Snapshot, nodes: NodeTable, released: Collection[str], verdicts: Mapping[str, Verdict]
) -> bool:
    """Whether a pod is held for anything but a place of the window, which is full."""
    waiting = [(app.id, group.request) for app, group in _still_held(snapshot.apps, released)]
    if not waiting:
        return False
    said = [verdicts.get(app) for app, _ in waiting]
    if not floods(snapshot, released, is_open=False) or any(v is None or v.reason not in FOR_PLACES for v in said):
        return True
    return not all(_fits(nodes, request) for request in {request for _, request in waiting})


def _still_held(apps: Iterable[App], released: Collection[str]) -> Iterable[tuple[App, PodGroup]]:
    """Groups of which something was not released."""
    return ((app, group) for app in apps for group in app.groups if any(uid not in released for uid in group.held))


def _fits(nodes: NodeTable, request: Resources) -> bool:
    """Whether an open node has room for such a pod as the stock scheduler counts."""
    if nodes.requested is None or any(kind not in nodes.kinds for kind in request):
        return False
    return bool((nodes.open & np.all(nodes.requested >= request.vector(nodes.kinds), axis=1)).any())


def _to_come(apps: Collection[App]) -> Resources:
    """What is on its way to the nodes, or held."""
    pods = ((group, group.released + len(group.held)) for app in apps for group in app.groups)
    return total(group.request * count for group, count in pods if count)


def _half_empty(nodes: NodeTable, taken: Resources, share: float) -> bool:
    """Whether so much of each kind is left, as the stock scheduler counts; closed nodes have nothing left."""
    if nodes.requested is None or not nodes.open.any():
        return False
    have = Resources.from_vector(nodes.kinds, nodes.total.sum(axis=0).tolist())
    left = Resources.from_vector(nodes.kinds, nodes.requested[nodes.open].sum(axis=0).tolist()) - taken
    return all(left[kind] >= share * have[kind] for kind in (CPU, MEMORY))
