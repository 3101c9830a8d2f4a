"""What will really be used of each node: the estimator of paper 000, over all nodes and kinds at once.

State is split as E = B + Σ ρ_J, which is exactly equations 1-4 of the paper, a = 1 − (1−α)^(dt/τ0):

    allocation (eq. 2)   ρ_J = RR_J
    sample (eqs 1, 3)    B ← (1−a)·B + a·U;  ρ_J ← (1−a)·ρ_J;  if B + Σρ < U then B = U − Σρ
    finish (eq. 4)       drop ρ_J = (1−α)^n·RR_J

B is what has been learned from measurement, ρ_J what is still believed of J's request. Arrays hold B and U per node and
kind, ρ and RR per pod and kind; one `sample` moves everything. A number that cannot be used (NaN, infinite, negative)
is a sample that did not come: one bad series must not stop the rest of the cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from slackwater.estimation.measures import BELIEF, BOUNDED, LIMITS, SUMMED, Measure, bounded
from slackwater.estimation.mode import ALPHA, TAU0, Mode
from slackwater.estimation.podmatrix import PodMatrix, blocks, grown, put
from slackwater.validation import fraction, positive

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Held = NDArray[np.intp] | slice

KEPT = 1024  # kinds of new pods whose cells are kept


_BY_ROW = (
    *("_learned", "_used", "_primed", "_gone", "_shed", "_uncovered"),
    *("_excess", "_driven", "_returned", "_exhausted"),
)


def reported(learned: Floats, used: Floats, uncovered: Floats, sums: Floats, mode: Mode) -> Floats:
    """E from the state: max(B + Σρ, 0) + Σ extra, in capped mode at most max(Σ top + uncovered, U)."""
    raw = np.maximum(learned + sums[..., Measure.RESIDUAL, :], 0.0) + sums[..., Measure.EXTRA, :]
    if mode is Mode.PRINTED:
        return raw
    return np.minimum(raw, np.maximum(sums[..., Measure.TOP, :] + uncovered, used))


class NodeEstimates:
    """The estimates of all nodes. Rows are nodes in the order they were added, slots are pods."""

    def __init__(
        self, kinds: int, alpha: float = ALPHA, tau0: Sequence[float] | None = None, mode: Mode = Mode.CAPPED
    ) -> None:
        self.alpha = fraction("alpha", alpha)
        self.tau0 = np.array([positive("tau0", tau) for tau in tau0 or [TAU0] * kinds])
        self.mode = Mode(mode)
        self.pods = PodMatrix(SUMMED, kinds, len(Measure) - SUMMED)
        self._learned: Floats = np.zeros((64, kinds))
        self._used: Floats = np.zeros((64, kinds))
        self._primed: NDArray[np.bool_] = np.zeros((64, kinds), np.bool_)
        self._gone: Floats = np.zeros((64, kinds))  # use in U of pods that have ended since
        self._shed: Floats = np.zeros((64, kinds))  # what of it no request covered
        self._uncovered: Floats = np.zeros((64, kinds))
        self._excess: Floats = np.zeros((64, kinds))  # of it what pods use beyond the most they are charged
        self._driven: Floats = np.zeros((64, kinds))
        self._exhausted: NDArray[np.bool_] = np.zeros((64, kinds), np.bool_)
        self._returned: Floats = np.zeros((64, kinds))  # in B and U until the next sample: see `return_driver`
        self._kept: dict[tuple[bytes | None, ...], Floats] = {}  # cells of new pods, by what they are made from

    @property
    def learned(self) -> Floats:
        """B per row and kind."""
        return self._learned[: self.pods.rows]

    @property
    def used(self) -> Floats:
        """U of the last sample per row and kind; 0 before the first."""
        return self._used[: self.pods.rows]

    @property
    def uncovered(self) -> Floats:
        """Use of the last sample that no request covers, per row and kind: the system's, and what pods outgrew."""
        return self._uncovered[: self.pods.rows]

    @property
    def driven(self) -> Floats:
        """Use of drivers that the last sample saw and took out of U, per row and kind."""
        return self._driven[: self.pods.rows]

    @property
    def exhausted(self) -> NDArray[np.bool_]:
        """Of what rows have run out since the last sample of it, per row and kind."""
        return self._exhausted[: self.pods.rows]

    def measured(self, rows: NDArray[np.intp] | slice | int, stale: NDArray[np.bool_]) -> Floats:
        """All that the last sample saw in use on some rows, drivers included; of stale kinds without ended pods."""
        whole: Floats = self.used[rows] + self.driven[rows]
        if np.count_nonzero(stale):
            whole -= np.where(stale, self._gone[: self.pods.rows][rows], 0.0)
        return whole

    @property
    def primed(self) -> NDArray[np.bool_]:
        """Whether a row has an estimate to go on from."""
        return self._primed[: self.pods.rows]

    @property
    def uses(self) -> Floats:
        """Last known own use of each pod, kind × slot; 0 while unknown."""
        uses: Floats = self.pods.table[Measure.USE]
        return uses

    def estimate(self, rows: NDArray[np.intp] | slice = slice(None)) -> Floats:
        """E of some rows, all by default."""
        return reported(self.learned[rows], self.used[rows], self.uncovered[rows], self.pods.sums[rows], self.mode)

    def excess(self, rows: NDArray[np.intp] | slice | int) -> Floats:
        """What pods other than drivers use beyond the most they are charged on some rows, without those that ended."""
        left: Floats = self._excess[: self.pods.rows][rows] - self._shed[: self.pods.rows][rows]
        return np.maximum(left, 0.0)

    def estimate_one(self, row: int, sums: Sequence[Sequence[float]]) -> list[float]:
        """`reported` of one row as plain numbers, given its sums by measure and kind."""
        residual, top, extra = sums[Measure.RESIDUAL], sums[Measure.TOP], sums[Measure.EXTRA]
        learned, used, beyond = self._learned[row].tolist(), self._used[row].tolist(), self._uncovered[row].tolist()
        raw = [max(b + rho, 0.0) + more for b, rho, more in zip(learned, residual, extra, strict=True)]
        if self.mode is Mode.PRINTED:
            return raw
        return [min(e, max(most + more, u)) for e, most, more, u in zip(raw, top, beyond, used, strict=True)]

    def cover(
        self, rows: NDArray[np.intp] | slice, covered: Floats, driven: Floats, sampled: NDArray[np.bool_]
    ) -> None:
        """Say how much of U requests cover, row × kind, where U was just sampled; the rest no request covers.

        `driven` is what drivers use beside U.
        """
        beyond = np.maximum(self.used[rows] - covered, 0.0)
        self.uncovered[rows] = np.where(sampled, beyond, self.uncovered[rows])
        self.driven[rows] = np.where(sampled, driven, self.driven[rows])

    def exceed(self, rows: NDArray[np.intp] | slice, excess: Floats, sampled: NDArray[np.bool_]) -> None:
        """Say how much of what no request covers pods use that outgrew what they are charged, where U was sampled."""
        known = self._excess[: self.pods.rows]
        known[rows] = np.where(sampled, excess, known[rows])

    def forgo(self, row: int, slot: int) -> None:
        """A pod has ended, and its part of U with it; the next sample will tell by itself."""
        self._gone[row] += self.pods.table[Measure.PART, :, slot]
        self._shed[row] += self.pods.table[Measure.BEYOND, :, slot]

    def forgo_driver(self, row: int, use: Floats) -> None:
        """The same for a driver, whose use lies beside U."""
        np.maximum(self._driven[row] - use, 0.0, out=self._driven[row])

    def return_driver(self, row: int, charge: Floats) -> Floats:
        """The same for a driver that was never read: what was taken out of U for it goes back, and is returned.

        Others may have used all of it. The next sample will tell.
        """
        taken: Floats = np.minimum(charge, self._driven[row])
        self._driven[row] -= taken
        for array in (self._used, self._learned, self._returned):
            array[row] += taken
        return taken

    def unsampled(self, rows: NDArray[np.intp] | slice, estimate: Floats, sums: Floats) -> Floats:
        """E of rows whose samples have stopped coming: max(E, Σ RR), where ended pods count no longer in what was used.

        While samples come, E is right again within a heartbeat; without them the use of ended pods would stay for ever.
        """
        requests = sums[:, Measure.REQUEST]
        if self.mode is Mode.PRINTED:
            return np.maximum(estimate, requests)
        remaining = self.used[rows] - self._gone[: self.pods.rows][rows]
        most = sums[:, Measure.TOP] + np.maximum(self.uncovered[rows] - self._shed[: self.pods.rows][rows], 0.0)
        return np.maximum(np.minimum(estimate, np.maximum(most, remaining)), requests)

    def add_node(self, start: Floats | None = None) -> int:
        """Enter a node, with a first estimate where one is known; return its row."""
        row = self.pods.add_row()
        for name in _BY_ROW:
            setattr(self, name, grown(getattr(self, name), 0, row + 1))
            getattr(self, name)[row] = 0
        if start is not None:
            self._learned[row], self._primed[row] = start, True
        return row

    def remove_node(self, row: int) -> None:
        """Forget a node; its pods stay, nowhere, and count in full wherever they appear again."""
        slots, rows = self.pods.on_row(row), self.pods.rows
        for name in _BY_ROW:
            array = getattr(self, name)
            array[row : rows - 1] = array[row + 1 : rows].copy()
        self.pods.drop_row(row)
        for slot in slots:
            self.renew(int(slot))

    def add(
        self,
        row: int,
        request: Floats,
        beside: Floats | None = None,
        floor: Floats | None = None,
        cap: Floats | None = None,
    ) -> int:
        """Eq. 2: a pod counts in full at once. `beside` holds the ledger's own measures (from CHARGE on)."""
        key = (
            request.tobytes(),
            None if beside is None else beside.tobytes(),
            None if floor is None else floor.tobytes(),
            None if cap is None else cap.tobytes(),
        )
        cells = self._kept.get(key)
        if cells is None:
            # Pods come in crowds of the same size and the same app: their cells are made once.
            if len(self._kept) >= KEPT:
                self._kept.clear()
            cells = self._kept[key] = self._fresh(request, beside, floor, cap)
        return self.pods.add(row, cells)

    def _fresh(self, request: Floats, beside: Floats | None, floor: Floats | None, cap: Floats | None) -> Floats:
        """The cells of a new pod, and what is kept beside them."""
        cells: Floats = np.zeros((len(Measure), len(request)))
        cells[Measure.RESIDUAL] = cells[Measure.REQUEST] = request
        if beside is not None:
            cells[Measure.CHARGE : SUMMED] = beside
        cells[Measure.FLOOR] = 0.0 if floor is None else floor
        cells[Measure.CAP] = np.inf if cap is None else cap
        cells[BOUNDED] = bounded(*cells[BELIEF], *cells[LIMITS])
        return cells

    def resize(self, slot: int, request: Floats, beside: Floats | None = None) -> None:
        """Growth counts in full at once; a smaller request shrinks what is believed in proportion."""
        residual, before = self.pods.cells[Measure.RESIDUAL, :, slot], self.pods.cells[Measure.REQUEST, :, slot]
        share = np.divide(request, before, out=np.ones_like(request), where=request < before)
        left = np.where(request >= before, residual + request - before, residual * share)
        self._write(slot, request, left, beside)

    def renew(self, slot: int) -> None:
        """A pod that starts over (new container, other node) counts in full again."""
        request = self.pods.cells[Measure.REQUEST, :, slot].copy()
        self._write(slot, request, request, None)

    def move(self, slot: int, row: int) -> None:
        """Take a pod to another node, where nothing has been measured of it."""
        self.renew(slot)
        self.pods.table[Measure.PART :, :, slot] = 0.0
        self.pods.move(slot, row)

    def finish(self, slot: int) -> None:
        """Eq. 4: give back what is left of the request."""
        self.pods.drop(slot)

    def bound(self, slot: int, floor: Floats | None, cap: Floats | None) -> None:
        """Set floor and cap of one pod; None: it has none."""
        nothing = np.zeros(len(self.tau0))
        floors, caps = nothing if floor is None else floor, nothing + np.inf if cap is None else cap
        self.guard(np.array([slot], np.intp), floors[:, None], caps[:, None])

    def guard(self, slots: NDArray[np.intp], floors: Floats, caps: Floats, held: Held | None = None) -> None:
        """Set floors (0: not young) and caps (infinite: not known) of some pods, kind × pod; their uses are known here.

        Given all slots held, sums are formed anew, as after a sample of all nodes; else what has changed is added to
        them, at a cost that follows the pods that changed.
        """
        concerned = np.empty(len(slots), np.bool_)
        table = self.pods.table
        for part in blocks(len(slots)):
            some = slots[part]
            before, limits = table[Measure.FLOOR : Measure.USE].take(some, axis=2)
            put(table[Measure.FLOOR], some, floors[:, part])
            put(table[Measure.CAP], some, caps[:, part])
            concerned[part] = ((before > 0) | (floors[:, part] > 0) | (limits != caps[:, part])).any(axis=0)
        slots = slots[concerned]
        if not slots.size:
            return
        if held is None:
            before = table[BOUNDED].take(slots, axis=2)
            self._weigh(slots)
            self.pods.shift(BOUNDED, slots, table[BOUNDED].take(slots, axis=2) - before)
        else:
            self._weigh(slots)
            self.pods.refresh(Measure.TOP, held)
            self.pods.refresh(Measure.EXTRA, held)

    def sample(self, used: Floats, dt: Floats, seen: Held = slice(None)) -> NDArray[np.bool_]:
        """Eqs 1 and 3 for all nodes: U per row and kind (NaN: none came), seconds per row or the same for all.

        `seen` are the slots of the pods that were seen. What floors add to decayed estimates is for `guard` to say,
        which comes after every sample with all young pods. Returns where U came.
        """
        usable, keep, used = self._step(slice(None), used, dt)
        factors = np.ones((len(self.tau0), self.pods.rows + 1))  # pods that are nowhere do not decay
        factors[:, 1:] = keep.T
        homes = self.pods.homes[seen]
        for residual, factor in zip(self.pods.cells[Measure.RESIDUAL], factors, strict=True):
            residual[seen] *= factor[homes]
        self.pods.refresh(Measure.RESIDUAL, self.pods.held)
        return self._attack(slice(None), usable, used)

    def sample_rows(
        self,
        rows: NDArray[np.intp],
        used: Floats,
        dt: Floats,
        slots: NDArray[np.intp],
        at: NDArray[np.intp],
        seen: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        """The same for some nodes, at a cost that follows their pods and not the cluster's.

        `slots` are all the pods on them, `at` the place in `rows` of each one's node and `seen` whether it was seen.
        """
        usable, keep, used = self._step(rows, used, dt)
        mine, homes = slots[seen], at[seen]
        for residual, factor in zip(self.pods.cells[Measure.RESIDUAL], keep.T, strict=True):
            residual[mine] *= factor[homes]
        for measure in (Measure.RESIDUAL, Measure.TOP, Measure.EXTRA):
            self.pods.refresh_rows(rows, measure, slots, at)
        return self._attack(rows, usable, used)

    def recall(self, slots: NDArray[np.intp], uses: Floats, ages: Floats, used: Floats) -> None:
        """Restart, before a node's first sample: E0 = system + Σ [u + (1−a)^(age/tau0)·max(0, RR − u)].

        `uses` and `ages` are those of the pods in `slots`; pods whose use is not known count in full, and what U holds
        beyond both is the system's.
        """
        fresh = ~self.primed & np.isfinite(used) & (used >= 0)
        for kind in range(len(self.tau0)):
            mine = np.concatenate([[False], fresh[:, kind]])[self.pods.homes[slots]]
            measured, believed, learned = self._remember(kind, slots[mine], uses[kind, mine], ages[mine])
            unknown = self.pods.sums[:, Measure.REQUEST, kind] - believed
            system = np.maximum(0.0, np.where(fresh[:, kind], used[:, kind], 0.0) - measured - unknown)
            self.learned[:, kind] = np.where(fresh[:, kind], learned + system, self.learned[:, kind])
        self.pods.refresh(Measure.RESIDUAL)

    def _remember(self, kind: int, slots: NDArray[np.intp], use: Floats, age: Floats) -> tuple[Floats, Floats, Floats]:
        """Set ρ as if the pods had been watched since they started; return Σ use, Σ RR and their part of B per row."""
        request = self.pods.cells[Measure.REQUEST, kind, slots]
        left = (1.0 - self.alpha) ** (np.maximum(age, 0.0) / self.tau0[kind])
        self.pods.cells[Measure.RESIDUAL, kind, slots] = left * request
        learned = use - left * np.minimum(use, request)
        return self._by_row(slots, use), self._by_row(slots, request), self._by_row(slots, learned)

    def _by_row(self, slots: NDArray[np.intp], weights: Floats) -> Floats:
        sums = np.zeros(self.pods.rows + 1)
        sums += np.bincount(self.pods.homes[slots], weights=weights, minlength=len(sums))
        return sums[1:]

    def _step(
        self, rows: slice | NDArray[np.intp], used: Floats, dt: Floats
    ) -> tuple[NDArray[np.bool_], Floats, Floats]:
        """Eq. 1 for B. A node's first sample moves nothing: there is no estimate yet to go on from."""
        timed = np.isfinite(dt) & (dt >= 0)
        usable = (used >= 0) & (used < np.inf) & timed[:, None]  # not of NaN
        keep = (1.0 - self.alpha) ** (np.where(timed, dt, 0.0)[:, None] / self.tau0)
        keep = np.where(usable & self.primed[rows], keep, 1.0)
        returned = self._returned[: self.pods.rows]
        learned = self.learned[rows] - np.where(usable, returned[rows], 0.0)
        returned[rows] = np.where(usable, 0.0, returned[rows])
        used = np.where(usable, used, self.used[rows])
        self.learned[rows] = learned + (1.0 - keep) * (used - learned)
        return usable, keep, used

    def _attack(self, rows: slice | NDArray[np.intp], usable: NDArray[np.bool_], used: Floats) -> NDArray[np.bool_]:
        """Eq. 3: fast attack, slow release. Returns where U is another now."""
        learned = self.learned[rows]
        np.maximum(learned, used - self.pods.sums[rows, Measure.RESIDUAL], out=learned, where=usable)
        self.learned[rows], self.used[rows] = learned, used
        for ended in (self._gone[: self.pods.rows], self._shed[: self.pods.rows]):
            ended[rows] = np.where(usable, 0.0, ended[rows])
        self.primed[rows] |= usable
        self.exhausted[rows] &= ~usable
        return usable

    def _weigh(self, slots: NDArray[np.intp]) -> None:
        """Set what the bounds of some pods decide."""
        table = self.pods.table
        for part in blocks(len(slots)):
            some = slots[part]
            tops, extras = bounded(*table[BELIEF].take(some, axis=2), *table[LIMITS].take(some, axis=2))
            put(table[Measure.TOP], some, tops)
            put(table[Measure.EXTRA], some, extras)

    def _write(self, slot: int, request: Floats, residual: Floats, beside: Floats | None) -> None:
        cells = self.pods.table[:, :, slot].copy()
        cells[Measure.REQUEST], cells[Measure.RESIDUAL] = request, residual
        if beside is not None:
            cells[Measure.CHARGE : SUMMED] = beside
        cells[BOUNDED] = bounded(*cells[BELIEF], *cells[LIMITS])
        self.pods.rewrite(slot, cells[:SUMMED])
