"""The YARN world as its parts see it.

World, applications, outages, use and policies call each other all the time. Each is typed by what it needs of the
world, so that no module imports the world that imports it.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from slackwater_simulator.worlds.refusals import PolicyLimits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slackwater_simulator.engine import Engine
    from slackwater_simulator.policies.charges import Charges
    from slackwater_simulator.results.outcome import Hold, RoomSeen, Series, StartTold
    from slackwater_simulator.results.recorder import Recorder
    from slackwater_simulator.workload.cluster import Cluster
    from slackwater_simulator.workload.workload import Workload
    from slackwater_simulator.worlds.refusals import Refusals
    from slackwater_simulator.worlds.yarn.heartbeats import Beats
    from slackwater_simulator.worlds.yarn.model import App, Container, JobTimes, Request
    from slackwater_simulator.worlds.yarn.rounding import Rounding
    from slackwater_simulator.worlds.yarn.settings import Settings

Amounts = tuple[float, ...]


class Told(PolicyLimits, Protocol):
    """What the world's parts tell a policy, and what they ask of it."""

    @property
    def learns(self) -> bool:
        """Whether samples alone may make it place something."""
        ...

    def submitted(self, app: App, /) -> None:
        """An application was accepted."""
        ...

    def finished(self, app: App, /) -> None:
        """An application is over."""
        ...

    def resized(self) -> None:
        """A node failed or came back."""
        ...

    def sampled(self, cores: NDArray[np.float64], stored: NDArray[np.float64], /) -> None:
        """Use of all nodes was looked at."""
        ...

    def refused(self) -> Mapping[int, str]:
        """Why jobs that wait will never run, by their row."""
        ...

    def charges(self) -> Charges | None:
        """What it believes to be left and taken of each node, where it says so."""
        ...

    def holds(self) -> tuple[Hold, ...]:
        """What the policy said of jobs that it held."""
        ...

    def starts(self) -> tuple[StartTold, ...]:
        """When the policy expected jobs to start that waited."""
        ...

    def seen_rooms(self) -> tuple[RoomSeen, ...]:
        """What the policy saw free on each node when it held jobs."""
        ...


class Running(Protocol):
    """The applications that are not over."""

    @property
    def apps(self) -> Mapping[int, App]:
        """By number of their job."""
        ...

    @property
    def refusals(self) -> Refusals:
        """Those that were refused."""
        ...


class Measured(Protocol):
    """What tasks use of the cluster, now and over the whole run."""

    @property
    def count(self) -> int:
        """Containers that run."""
        ...

    @property
    def marks(self) -> NDArray[np.intp]:
        """The number that a policy gave to each of them."""
        ...

    def mark(self, container: Container, number: int) -> None:
        """Give a container a number of the policy's own."""
        ...

    def now(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Cores and bytes of each of them."""
        ...

    def shares(self, span: float) -> Amounts:
        """Per kind, over so many seconds; NaN where there are none."""
        ...


class World(Protocol):
    """Everything that a part of the world may look at or ask for."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def workload(self) -> Workload:
        """What is submitted."""
        ...

    @property
    def cluster(self) -> Cluster:
        """The nodes as given."""
        ...

    @property
    def seed(self) -> int:
        """Of every draw."""
        ...

    @property
    def settings(self) -> Settings:
        """How it beats and counts."""
        ...

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of resources."""
        ...

    @property
    def engine(self) -> Engine:
        """Virtual time."""
        ...

    @property
    def rng(self) -> np.random.Generator:
        """The source of every draw."""
        ...

    @property
    def order(self) -> list[int]:
        """Nodes of the cluster in the order in which they beat."""
        ...

    @property
    def beats(self) -> Beats:
        """When nodes beat."""
        ...

    @property
    def rounded(self) -> Rounding:
        """The allocation grid."""
        ...

    @property
    def scheduler(self) -> Told:
        """The policy."""
        ...

    @property
    def masters(self) -> Running:
        """The applications."""
        ...

    @property
    def usage(self) -> Measured | None:
        """Use, where the workload tells it."""
        ...

    @property
    def places(self) -> dict[str, int]:
        """Position of each node by name."""
        ...

    @property
    def capacity(self) -> list[Amounts]:
        """Of each node."""
        ...

    @property
    def free(self) -> tuple[array[float], ...]:
        """Of each kind, per node."""
        ...

    @property
    def views(self) -> tuple[NDArray[np.float64], ...]:
        """The same, as arrays."""
        ...

    @property
    def up(self) -> bytearray:
        """Which nodes work."""
        ...

    @property
    def racks(self) -> list[int]:
        """Rack of each node."""
        ...

    @property
    def total(self) -> list[float]:
        """What all working nodes have."""
        ...

    @property
    def used(self) -> list[float]:
        """What is given out."""
        ...

    @property
    def pending(self) -> int:
        """Containers asked for and not allocated."""
        ...

    @property
    def least(self) -> Amounts:
        """The smallest pending amount of each kind."""
        ...

    @property
    def cursor(self) -> float | None:
        """When the next open node is visited."""
        ...

    @property
    def placed(self) -> int:
        """Containers given out so far."""
        ...

    @property
    def decisions(self) -> int:
        """How often the policy was asked."""
        ...

    @property
    def decision_seconds(self) -> float:
        """How long that took."""
        ...

    @property
    def peak_drivers(self) -> int:
        """Most drivers at one time."""
        ...

    @property
    def peak_tasks(self) -> int:
        """Most tasks at one time."""
        ...

    @property
    def drivers(self) -> int:
        """Drivers that hold a container."""
        ...

    @property
    def tasks(self) -> int:
        """Tasks that hold a container."""
        ...

    @property
    def records(self) -> Recorder:
        """Rows of all containers."""
        ...

    @property
    def times(self) -> JobTimes:
        """Moments of all jobs."""
        ...

    def ask(self, request: Request, count: int) -> None:
        """Want that many more containers, or fewer."""
        ...

    def withdraw(self, app: App) -> None:
        """Want nothing any more."""
        ...

    def allocate(self, request: Request, node: int) -> Container:
        """Give a container out."""
        ...

    def release(self, container: Container, status: int) -> None:
        """Take one back."""
        ...

    def lose(self, container: Container, status: int) -> None:
        """One broke, or its node did."""
        ...

    def started(self, container: Container) -> None:
        """Its process begins."""
        ...

    def ends(self, container: Container) -> None:
        """Plan its end."""
        ...

    def roomy(self, node: int) -> bool:
        """Whether something pending may fit there."""
        ...

    def nearness(self, request: Request, node: int) -> int:
        """How near a node is to the data of a request."""
        ...

    def stir(self) -> None:
        """Something changed that may let any node take something."""
        ...

    def wake(self) -> None:
        """Visit nodes again."""
        ...

    def visits_only(self) -> bool:
        """Whether nothing is planned but visits to nodes."""
        ...

    def looks_only(self) -> bool:
        """Whether nothing is planned but looks at use, at which no task ends."""
        ...

    def visit_all(self) -> None:
        """Let every node with room be visited at its next heartbeat, also those that had nothing to give."""
        ...

    def offer(self, node: int) -> bool:
        """Let the policy place on a node."""
        ...

    def clock(self) -> float:
        """Wall time."""
        ...

    def decided(self, began: float) -> None:
        """Count one decision."""
        ...

    def series(self) -> Mapping[str, Series]:
        """What was recorded over time."""
        ...

    def looked(self, elapsed: float, cores: NDArray[np.float64], stored: NDArray[np.float64]) -> None:
        """Use of all nodes was looked at, `elapsed` seconds after the last time."""
        ...

    def core_hours(self) -> Mapping[str, float]:
        """Core-hours of the run by cause; empty where they are not counted."""
        ...

    def idle(self) -> Mapping[str, Series]:
        """Cores by cause over time; empty where they are not counted."""
        ...
