"""What a policy must say to live in the YARN or the ideal world.

The world tells it what happened (`submitted`, `asked`, `allocated`, `released`, `finished`) and asks it at each node's
heartbeat (`beat`) what to place there. It places with `world.allocate(request, node)`. In the ideal world nobody beats:
`sweep` is called once after everything that happened at a moment.

After a beat that placed nothing the world reads two flags, so that beats which cannot succeed are not executed:
`misfit`  something was allowed but did not fit this node (other nodes may do);
`limited` something was held back by a limit or share (the next release may change that).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from slackwater_simulator.worlds.yarn.locality import ANY, WAIT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slackwater_simulator.policies.charges import Charges
    from slackwater_simulator.results.outcome import Hold, RoomSeen, Series, StartTold
    from slackwater_simulator.worlds.yarn.interface import World
    from slackwater_simulator.worlds.yarn.model import App, Container, Request

# Sums of fractional cores are compared with this much slack.
SLACK = 1e-9


class Scheduler:
    """A policy. Subclasses implement `beat`, and override what else they need to know."""

    # Of cpu and memory those whose room is checked, as positions; None: both. YARN's memory-only schedulers
    # oversubscribe cores. Further kinds always count: no task runs without its GPU, and Hadoop demands the Dominant
    # calculator of whoever has any.
    checked: tuple[int, ...] | None = None
    learns = False  # samples alone may make it place something
    reserves = False  # it refuses a job whose tasks would find no node beside their driver
    limited = False
    misfit = False
    waiting = False  # a request declined this node hoping for a better one
    level = ANY  # how near the last accepted node is to its request's data

    def start(self, world: World) -> None:
        """The world is ready; nothing is submitted yet."""
        self.world = world
        kinds = range(len(world.kinds))
        self.kinds: Sequence[int] = kinds if self.checked is None else tuple(dict.fromkeys((*self.checked, *kinds[2:])))

    def submitted(self, app: App, /) -> None:
        """An application was accepted. Its driver is asked for next."""

    def asked(self, app: App, /) -> None:
        """The number of containers an application waits for has changed."""

    def allocated(self, container: Container, /) -> None:
        """A container was given out (by this policy)."""

    def started(self, container: Container, /) -> None:
        """A container's process begins to run."""

    def released(self, container: Container, /) -> None:
        """A container's resources are back."""

    def finished(self, app: App, /) -> None:
        """An application is over and holds nothing."""

    def resized(self) -> None:
        """A node failed or came back; `world.total` is what there is now."""

    def sampled(self, cores: NDArray[np.float64], stored: NDArray[np.float64], /) -> None:
        """The usage model has looked: cores and bytes in use on each node (in the world's order of nodes)."""

    def charges(self) -> Charges | None:
        """What it believes to be left and taken of each node; None from a policy that does not say."""
        return None

    def series(self) -> Mapping[str, Series]:
        """What the policy recorded over time, for reports."""
        return {}

    def refused(self) -> Mapping[int, str]:
        """Why jobs that wait will never run, by their row; a policy that does not say lets them wait."""
        return {}

    def holds(self) -> tuple[Hold, ...]:
        """What it said of jobs that it held, for the pages of a play."""
        return ()

    def starts(self) -> tuple[StartTold, ...]:
        """When it expected jobs to start that waited, for the pages of a play."""
        return ()

    def seen_rooms(self) -> tuple[RoomSeen, ...]:
        """What it saw free on each node when it held jobs, for the pages of a play."""
        return ()

    def beat(self, node: int, /) -> None:
        """Place on this node what should run there now."""
        raise AssertionError(f"{type(self).__name__} has nothing for node {node}")

    def sweep(self) -> None:
        """Ideal world: place whatever can be placed now, nodes in their order."""
        world, before, declined = self.world, self.world.placed, False
        node = world.beats.open.find(1)
        while node >= 0 and world.pending:
            took = world.offer(node)
            if not took and not (self.misfit or self.waiting):
                return  # limits alone hold everything back: no other node will do
            declined = declined or self.waiting
            node = world.beats.open.find(1, node if took and world.beats.open[node] else node + 1)
        if declined and world.placed == before:
            world.wake()  # nothing else may ever happen: whoever hopes for a better node loses patience now

    def most(self) -> Sequence[Sequence[float]]:
        """What it gives of each node if nothing else is there; a larger container is refused."""
        return self.world.capacity

    def whole(self, _: Request, /) -> bool:
        """Whether the containers of the request are placed all at once or not at all."""
        return False

    def fits(self, node: int, request: Request) -> bool:
        """Whether the node has room for one more container of the request."""
        free, least = self.world.free, request.needed
        for kind in self.kinds:
            if free[kind][node] < least[kind]:
                self.misfit = True
                return False
        return True

    def crowded(self, node: int, request: Request) -> bool:
        """Whether the node has too little left for the request and enough when it is empty: it may be reserved."""
        has, least = self.world.capacity[node], request.needed
        return not self.fits(node, request) and all(has[kind] >= least[kind] for kind in self.kinds)

    def accepts(self, node: int, request: Request) -> bool:
        """Whether the request takes this node: it fits, and it is near enough or has waited long enough."""
        if not self.fits(node, request):
            return False
        if request.locality is None:
            self.level = ANY
            return True
        self.level = self.world.nearness(request, node)
        if self.level == WAIT:
            self.waiting = True
            return False
        return True


class Queue:
    """Applications that wait for containers, in a fixed order of service."""

    __slots__ = ("_keys", "apps")

    def __init__(self) -> None:
        self.apps: list[App] = []
        self._keys: list[tuple[int, int]] = []

    def update(self, app: App) -> int:
        """Put the application in (1) or take it out (−1), by whether it waits for anything; 0 if nothing changes.

        Higher priority first, then age.
        """
        key = (-app.job.priority, app.rank)
        at = bisect_left(self._keys, key)
        inside = at < len(self._keys) and self._keys[at] == key
        if app.pending and not inside:
            self._keys.insert(at, key)
            self.apps.insert(at, app)
            return 1
        if not app.pending and inside:
            del self._keys[at], self.apps[at]
            return -1
        return 0
