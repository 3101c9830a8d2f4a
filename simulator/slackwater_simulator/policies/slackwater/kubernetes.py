"""Slackwater on Kubernetes: pods are held by a gate, released in rounds, and bound where they were placed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slackwater.cycle.releaseranks import ranks
from slackwater.nodetable import PodAsk
from slackwater.placement.batch import Batch, Placement
from slackwater_simulator.policies.slackwater.policy import Gatekept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slackwater.cycle.cycle import Release
    from slackwater.nodetable import NodeTable
    from slackwater_simulator.worlds.kubernetes.world import Kube
    from slackwater_simulator.worlds.yarn.interface import World


class SlackwaterOnKubernetes(Gatekept):
    """The whole composition. Options are the parts of `options.Parts`, by name."""

    # Seconds between two rounds, and releases per second: each costs the API server two writes.
    interval = 0.2
    rate = 150.0

    def start(self, world: World) -> None:
        """Nodes are known, no pod exists."""
        super().start(world)
        self.world: Kube = world  # type: ignore[assignment]  # policies of this world meet no other

    def sweep(self) -> None:
        """Rounds are held by their own clock."""

    def round(self) -> None:
        """Decide, place, bind; as long as something goes, look again."""
        outcome = self.gate.round()
        if not outcome.releases:
            return
        table = self.gate.ledger.table(self.world.engine.now)
        batch = Batch(table, self._asks(outcome.releases, table), cold=self._cold(), alpha=self.gate.alpha)
        groups = {release.uid: release.group.key for release in outcome.releases}
        gone = 0
        while not batch.done:
            for answer in batch.step(64):
                if isinstance(answer, Placement):
                    self.world.lag = gone / self.rate
                    self.world.allocate(self.gate.requests[groups[answer.uid]], int(answer.node))
                    gone += 1
                else:
                    self.gate.stick(groups[answer.uid])
        self.world.lag = 0.0
        self.stir()

    def _cold(self) -> bool:
        """Whether nothing of ours runs yet, as the operator asks."""
        return not self.world.drivers and not self.world.tasks

    def _asks(self, releases: Sequence[Release], table: NodeTable) -> list[PodAsk]:
        """In the ranks in which they were released, which placement keeps."""
        ranked = ranks(self.gate.seen, releases) if self.gate.seen is not None else {}
        return [self._ask(release, table, ranked.get(release.uid, 0)) for release in releases]

    def _ask(self, release: Release, table: NodeTable, rank: int) -> PodAsk:
        declared = self.gate.requests[release.group.key].shape
        ceiling = self.gate.books.ceiling
        native = declared if release.driver else tuple(d / c for d, c in zip(declared, ceiling, strict=True))
        return PodAsk(
            release.uid,
            declared,
            native,
            driver=release.driver,
            group=release.group.key,
            urgency=release.urgency,
            alignment=release.alignment,
            submitted=release.submitted,
            rank=rank,
            unproven=self.gate.books.unknown(self.gate.requests[release.group.key]),
            allowed=~np.isin(table.names, release.avoid) if release.avoid else None,
        )
