"""Whether new tasks may come without a gate: where nobody waits and half of all is free, order decides nothing.

A gate costs the API server two or three more writes for each pod. It is worth them where somebody waits, or soon will:

    open  ⇔  nobody waits for a release, and no app asks for more than room (gang, strict DAG, pause)
             ∧  flying ≤ 5 · window
             ∧  for each kind that tasks ask for:  Σ requested left − on their way  ≥  share · Σ allocatable

`requested left` is what the stock scheduler counts, by declared requests; so even if nobody measured and nobody
filtered, all tasks that come in while the gate is open fit by what they declare. The share is ½ to open and 0.4 to
stay open. Who closed the gate keeps it closed for a while: a write for each driver that comes would be no gain.
"""

from __future__ import annotations

from collections.abc import Collection

from slackwater.cycle.appstarts.nodegrowth import in_flight
from slackwater.cycle.snapshot import App, Snapshot
from slackwater.nodetable import NodeTable
from slackwater.resources import CPU, MEMORY, Resources, total

OPENS, STAYS = 0.5, 0.4  # the free share of every kind
WINDOWS = 5  # windows of pods that may be on their way
REST = 10.0  # seconds that it stays closed at least


def may_open(snapshot: Snapshot, released: Collection[str], *, is_open: bool) -> bool:
    """Whether the gate may be open after a round that released these pods."""
    return (
        snapshot.nodes is not None
        and not any(map(_asks_for_more, snapshot.apps))
        and not _somebody_waits(snapshot.apps, released)
        and in_flight(snapshot.apps) <= WINDOWS * snapshot.window
        and _half_empty(snapshot.nodes, _on_their_way(snapshot.apps), STAYS if is_open else OPENS)
    )


def _asks_for_more(app: App) -> bool:
    """Room alone is not enough for its pods: without a gate nobody could hold them."""
    return app.gang or app.strict or app.paused


def _somebody_waits(apps: Collection[App], released: Collection[str]) -> bool:
    return any(uid not in released for app in apps for group in app.groups for uid in group.held)


def _on_their_way(apps: Collection[App]) -> Resources:
    return total(group.request * group.released for app in apps for group in app.groups if group.released)


def _half_empty(nodes: NodeTable, taken: Resources, share: float) -> bool:
    """Whether so much of each kind is left, as the stock scheduler counts; closed nodes have nothing left."""
    if nodes.requested is None or not nodes.open.any():
        return False
    have = Resources.from_vector(nodes.kinds, nodes.total.sum(axis=0).tolist())
    left = Resources.from_vector(nodes.kinds, nodes.requested[nodes.open].sum(axis=0).tolist()) - taken
    return all(left[kind] >= share * have[kind] for kind in (CPU, MEMORY))
