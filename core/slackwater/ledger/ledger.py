"""Who claims what on which node, what was measured, and how much room is left: one pure state machine.

The extender feeds it from watches and Prometheus, the simulator from virtual events; both get the same answers. Time
comes in with every call that needs it: `now` is monotonic, sample timestamps are the source's own.

    room = min(AR, NC) − E − Σ over drivers of max(use, D)

E is the capped estimate over everything but drivers; where samples are stale it is at least the sum of requests.

Restart: claims and nodes are put in again in any order, and the first sample of each node rebuilds its estimate from
the pods' own use and the age of their containers (`NodeEstimates.recall`), exact for pods whose use is steady. What
takes longer to learn (`learned`) is handed over by whoever keeps it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from slackwater.errors import UnknownName
from slackwater.estimation.calibration import Calibration
from slackwater.estimation.estimator import NodeEstimates
from slackwater.estimation.podmatrix import NOWHERE
from slackwater.ledger.claimcharge import app_key, cost, oom_key, usage_key, weights
from slackwater.ledger.endedpods import forgo
from slackwater.ledger.learnedstate import Learned
from slackwater.ledger.nodeindex import NodeIndex
from slackwater.ledger.oomorder import OomOrder
from slackwater.ledger.podindex import PodIndex
from slackwater.ledger.room import RoomTable, Survey
from slackwater.ledger.sampling import SampleIntake
from slackwater.ledger.types import ClaimState, LedgerConfig, NodeSpec, PodClaim, RoomLine, Sample
from slackwater.nodetable import NodeRow, NodeTable
from slackwater.validation import finite

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Ledger:
    """The state of all nodes and pods."""

    def __init__(self, terms: LedgerConfig | None = None) -> None:
        self.terms = terms or LedgerConfig()
        kinds = self.terms.kinds
        tau0 = [self.terms.tau0.get(kind, 1.0) for kind in kinds]
        self._nodes = NodeIndex(self.terms)
        self._estimates = NodeEstimates(len(kinds), self.terms.alpha, tau0, self.terms.mode)
        self._pods = PodIndex()
        self._intake = SampleIntake(self.terms, self._nodes, self._estimates, self._pods)
        freshness, margins = self._intake.freshness, self._intake.margins
        self._order = OomOrder(kinds)
        self._rooms = RoomTable(
            kinds, self._nodes, self._estimates, freshness, margins, floor=self.terms.floor, order=self._order
        )
        self._expiry: dict[str, float] = {}  # of reservations only
        self._homeless: dict[str, set[str]] = {}  # node that is not known → pods that name it

    # ---- nodes

    def upsert_node(self, node: NodeSpec) -> None:
        """A node appeared or changed. Pods that named it before it was known find their place."""
        if not self._nodes.upsert(node):
            return
        row = self._estimates.add_node()
        self._intake.add_row()
        self._order.add_row()
        for uid in self._homeless.pop(node.name, ()):
            slot = self._pods.slots[uid]
            self._estimates.move(slot, row)
            self._order.change(row, self._pods[slot], 1)

    def remove_node(self, name: str) -> None:
        """A node is gone. Its pods are kept until the API says that they are gone too."""
        row = self._nodes.index.get(name)
        if row is None:
            return
        for slot in self._estimates.pods.on_row(row).tolist():
            claim = self._pods[slot]
            self._homeless.setdefault(name, set()).add(claim.uid)
            self._start_over(slot, claim)
        self._estimates.remove_node(row)
        self._intake.drop_row(row)
        self._order.drop_row(row)
        self._nodes.remove(row)

    # ---- pods

    def reserve(self, claim: PodClaim, expires: float) -> bool:
        """Count a pod that is on its way (eq. 2), until `expires`. False: it is bound already, and nothing changes.

        With a node it is charged there. Without one (`node` is "") nobody knows yet where it goes: it is charged to no
        node, and whoever gives out room counts it beside them (`unplaced`). Reserving again replaces what was reserved.
        """
        finite("expires", expires)
        held = self.claim(claim.uid)
        if held is not None and held.state is not ClaimState.RESERVED:
            return False
        fresh = claim.state is ClaimState.RESERVED and claim.started is None
        self._enter(claim if fresh else claim._replace(state=ClaimState.RESERVED, started=None))
        self._expiry[claim.uid] = expires
        return True

    def unreserve(self, uid: str) -> PodClaim | None:
        """Give a reservation back, and return it; None for a pod that has none, bound ones among them."""
        return self.remove(uid) if uid in self._expiry else None

    def put(self, claim: PodClaim) -> None:
        """What a watch shows of a pod that has a node: binds, moves, starts, resizes. Repeating it changes nothing."""
        self._enter(claim)
        if claim.state is not ClaimState.RESERVED:
            self._expiry.pop(claim.uid, None)

    def start(self, uid: str, at: float) -> None:
        """The pod's container runs since `at` (the clock of sample timestamps)."""
        held = self.claim(uid)
        if held is None:
            raise UnknownName("uid", uid, ["a pod that was placed or put before"])
        claim = held.running(finite("started", at))
        if held.started is not None or uid in self._expiry:
            self.put(claim)
            return
        # The common case: a container that was not there before changes nothing that is charged.
        slot = self._pods.slots[uid]
        self._pods.enter(slot, claim, self._usage_id(claim))

    def remove(self, uid: str, *, cut_short: bool = False) -> PodClaim | None:
        """The pod finished or was deleted: eq. 4 gives back the residue at once. An unknown pod is no error.

        `cut_short`: it did not end by itself. What it used until then is no peak if it was still growing.
        """
        slot = self._pods.slots.get(uid)
        if slot is None:
            return None
        claim = self._pods[slot]
        if cut_short and self.killed(claim) and self._intake.outgrows(slot, np.array(claim.charged)):
            self._outgrown(claim)
        self._intake.learn_peak_of(slot)
        row = self._estimates.pods.row_of(slot)
        self._rooms.touch(row)
        self._order.change(row, claim, -1)
        forgo(self._estimates, self._intake, slot, claim)
        self._estimates.finish(slot)
        self._pods.forget(slot)
        self._expiry.pop(uid, None)
        self._forget_homeless(claim)
        return claim

    def evicted(self, claim: PodClaim) -> None:
        """A kubelet ended the pod because memory ran out: its app is expected to use twice what it declares.

        Often it is gone before a sample has seen what it used. Which of an app's pods a kubelet chooses is chance, so
        that the app is remembered, too. All of it counts at once: its likes may come again within a second.
        """
        if claim.managed and claim.app:
            self._outgrown(claim)
            self._intake.outgrown(self._intake.peaks.identify(app_key(claim)), np.zeros(len(claim.charged)))
        self._intake.exhausted(self._nodes.index.get(claim.node, NOWHERE))
        self._rooms.touch_all()

    def _outgrown(self, claim: PodClaim) -> None:
        """Pods of its app and size are expected to use twice what they declare."""
        self._intake.outgrown(self._intake.peaks.identify(oom_key(claim, self.terms.kinds)), np.array(claim.charged))

    def expected(self, claim: PodClaim) -> Floats:
        """What a pod is expected to come to use: what it declares, or of strict kinds its app's peak if more."""
        declared, peaks = np.array(claim.charged), self._intake.peaks
        if not peaks or not claim.managed:
            return declared
        peak, _ = peaks.expected(peaks.find(oom_key(claim, self.terms.kinds)))
        return np.where(self._rooms.strict, np.maximum(declared, peak), declared)

    def unknown(self, claim: PodClaim) -> bool:
        """Whether nobody has seen yet what a pod of this one's app and size uses."""
        return not self._intake.peaks.seen(usage_key(claim, self.terms.kinds))

    def killed(self, claim: PodClaim) -> bool:
        """Whether a kubelet ended a pod of this one's app because memory ran out."""
        return self._intake.was_outgrown(self._intake.peaks.find(app_key(claim)))

    def without_tasks(self) -> Floats:
        """What each node has beside drivers and pods of others, node × kind: tasks find it once tasks have ended."""
        return self._rooms.without_tasks()

    def expire(self, now: float) -> list[PodClaim]:
        """Drop reservations that did not come true in time, and return them."""
        late = [uid for uid, expires in self._expiry.items() if expires <= now]
        return [claim for uid in late if (claim := self.remove(uid))]

    # ---- samples

    def sample_all(self, now: float, nodes: Floats, uids: Collection[str] | NDArray[np.intp], pods: Floats) -> None:
        """A round of measurement by a shell that measures every node at one moment: row × kind and kind × pod.

        Rows are the nodes in the order in which they were added; the samples are as new as `now`. Pods are given by
        their uids, or by their slots.
        """
        slots = uids if isinstance(uids, np.ndarray) else self._pods.find(uids)
        self._intake.sample_all(now, nodes, slots, pods)
        self._rooms.touch_all()

    def sample_some(
        self,
        now: float,
        nodes: Mapping[str, Sample],
        uids: Collection[str],
        uses: Floats,
        beside: Collection[str] = (),
    ) -> None:
        """A round by a shell that takes the nodes in turns: kind × pod for `uids`; `beside` are seen without a use.

        Nodes and pods that are not known, and readings not newer than the last, are passed over. A pod whose container
        started after its node was measured is not seen, whatever a series of its name says.
        """
        self._intake.sample_some(now, nodes, uids, uses, beside)
        self._rooms.touch_all()

    def homes(self, uids: Collection[str]) -> NDArray[np.intp]:
        """The row of each pod's node, −1 where pod or node is not known."""
        slots = self._pods.find(uids)
        held = slots >= 0  # an empty ledger has no slot at all, not even a last one
        rows = np.full(len(slots), NOWHERE, np.intp)
        rows[held] = self._estimates.pods.homes[slots[held]] - 1
        return rows

    def unsampled(self) -> list[str]:
        """The nodes of which some kind that is measured never was."""
        return [self._nodes[row].name for row in self._intake.unsampled().tolist()]

    # ---- views

    def __len__(self) -> int:
        return len(self._pods.slots)

    def __contains__(self, uid: object) -> bool:
        return uid in self._pods.slots

    def reservations(self) -> Mapping[str, float]:
        """When each reservation expires, by uid: no copy, it changes with the ledger."""
        return MappingProxyType(self._expiry)

    def unplaced(self) -> list[PodClaim]:
        """Reservations without a node."""
        return [claim for uid in self._expiry if not (claim := self._pods[self._pods.slots[uid]]).node]

    @property
    def nodes(self) -> tuple[NodeSpec, ...]:
        """Every node held."""
        return tuple(self._nodes)

    def claim(self, uid: str) -> PodClaim | None:
        """What is held about a pod."""
        slot = self._pods.slots.get(uid)
        return None if slot is None else self._pods[slot]

    def slot(self, uid: str) -> int:
        """The pod's place in the ledger's arrays, its own for as long as it is held; −1 where it is not."""
        return self._pods.slots.get(uid, -1)

    def claims(self) -> Iterator[PodClaim]:
        """Every pod held."""
        return iter(self._pods)

    def claims_on(self, name: str) -> list[PodClaim]:
        """The pods held on a node, without a look at those on others."""
        return [self._pods[slot] for slot in self._estimates.pods.on_row(self._nodes.row(name)).tolist()]

    def table(self, now: float) -> NodeTable:
        """All nodes at this moment, for filter, score and batch placement."""
        return self._rooms.table(now)

    def left(self, name: str, now: float) -> tuple[list[float], list[float]] | None:
        """Room and what is left of native requests on one node, as in the table; None where it takes no pods."""
        row = self._rooms.spot(self._nodes.row(name), now)
        return (row.room, row.native) if row.open else None

    def spot(self, name: str, now: float, without: str = "") -> NodeRow | None:
        """One node as plain numbers, as if one pod were not there; None where it is not known."""
        row = self._nodes.index.get(name)
        slot = self._pods.slots.get(without)
        own = None if slot is None else self._pods[slot]
        return None if row is None else self._rooms.spot(row, now, slot, own)

    def crowds(self) -> NDArray[np.intp]:
        """How many pods each node holds, in the order of the table's rows; placements on their way count."""
        homes = self._estimates.pods.homes
        return np.bincount(homes, minlength=len(self._nodes) + 1)[1:]

    def pool_total(self, now: float) -> Floats:
        """Tot of the pools by kind: Σ D of placed pods + room, over open nodes. Placing a pod leaves it as it is."""
        return self._rooms.pool_total(now)

    def declared(self) -> Floats:
        """Σ D of placed pods over open nodes, by kind."""
        return self._rooms.declared()

    def taken(self, now: float) -> Floats:
        """What counts as taken on all nodes together, by kind: the estimates, and what drivers are charged."""
        return self._rooms.taken(now)

    def survey(self, now: float) -> Survey:
        """All nodes and what is charged on each, for whoever explains; no decision depends on having asked."""
        return self._rooms.survey(now)

    def explain(self, name: str, now: float) -> dict[str, RoomLine]:
        """The arithmetic of one node, by kind."""
        return self._rooms.explain(self._nodes.row(name), now)

    def risks(self) -> dict[str, Calibration]:
        """By kind: the risk that is asked for and what was realised; empty where none is stated."""
        margins = self._intake.margins
        return {} if margins is None else {self.terms.kinds[k]: it.calibration for k, it in margins.kinds.items()}

    def learned(self, most: int | None = None) -> Learned:
        """What takes long to learn, for a ledger to come: of so many apps, None for all of them."""
        return self._intake.learned(most)

    def remember(self, learned: Learned) -> None:
        """Begin with what another ledger has learned; what is known here already stays."""
        self._intake.remember(learned)

    # ---- inside

    def _usage_id(self, claim: PodClaim) -> int:
        """The id of those that the pod's use is learned with."""
        return self._intake.peaks.identify(usage_key(claim, self.terms.kinds))

    def _enter(self, claim: PodClaim) -> None:
        held = self.claim(claim.uid)
        if claim == held:
            return
        claim.check(self.terms.kinds)
        row = self._nodes.index.get(claim.node, NOWHERE)
        app = self._usage_id(claim)
        if held is None:
            slot = self._estimates.add(row, *self._fresh(claim), *self._expected(claim, app))
            self._intake.begin(slot)
            self._order.change(row, claim, 1)
        else:
            slot = self._pods.slots[claim.uid]
            self._reorder(self._estimates.pods.row_of(slot), held, row, claim)
            before = int(self._pods.apps[slot])
            self._update(slot, held, claim, row)
            if app != before or cost(held) != cost(claim):
                # What is known of its app, or what it asks for, is another: as after a fresh start, until a sample.
                self._estimates.bound(slot, *self._expected(claim, app))
                self._pods.changed[slot] = True
        self._pods.enter(slot, claim, app)
        if row == NOWHERE and claim.node:
            self._homeless.setdefault(claim.node, set()).add(claim.uid)
        self._rooms.touch(row)

    def _reorder(self, before: int, held: PodClaim, row: int, claim: PodClaim) -> None:
        if before != row or not self._order.alike(held, claim):
            self._order.change(before, held, -1)
            self._order.change(row, claim, 1)

    def _update(self, slot: int, held: PodClaim, claim: PodClaim, row: int) -> None:
        moved = claim.node != held.node
        if moved:
            self._rooms.touch(self._estimates.pods.row_of(slot))
            self._forget_homeless(held)
            self._estimates.move(slot, row)
        # A container that is down, new or elsewhere has yet to show what it uses.
        if moved or held.started not in (None, claim.started):
            self._start_over(slot, claim)
        elif cost(held) != cost(claim):
            self._estimates.resize(slot, *weights(claim, self._estimates.uses[:, slot]))

    def _start_over(self, slot: int, claim: PodClaim) -> None:
        self._estimates.uses[:, slot] = 0.0
        self._pods.changed[slot] = True
        self._estimates.resize(slot, *self._fresh(claim))
        self._estimates.renew(slot)
        self._intake.begin(slot)
        self._estimates.bound(slot, *self._expected(claim, self._usage_id(claim)))

    def _fresh(self, claim: PodClaim) -> tuple[Floats, Floats]:
        """What a pod adds before it is measured: a driver, what it is placed by."""
        return weights(claim, self.expected(claim) if claim.driver else None)

    def _expected(self, claim: PodClaim, app: int) -> tuple[Floats | None, Floats | None]:
        """Floor and cap of a new pod; drivers have neither."""
        return (None, None) if claim.driver else self._intake.bounds.of_new_pod(app, np.array(claim.charged))

    def _forget_homeless(self, claim: PodClaim) -> None:
        """The pod waits no longer for the node that it names to be known."""
        if waiting := self._homeless.get(claim.node):
            waiting.discard(claim.uid)
            if not waiting:
                del self._homeless[claim.node]
