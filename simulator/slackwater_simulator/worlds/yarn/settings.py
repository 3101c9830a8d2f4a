"""How the YARN world beats and counts. Every field can be given to `run` by its name."""

from __future__ import annotations

from dataclasses import dataclass, fields

from slackwater.errors import BadNumber, UnknownName
from slackwater.validation import alike, amount, finite, positive
from slackwater_simulator.physics.sharing import Victims
from slackwater_simulator.workload.workload import GIBI


@dataclass(frozen=True, slots=True)
class Settings:
    """The world's parameters; defaults are Hadoop 3.3's, so an untouched run is a stock cluster."""

    # Seconds between a node's heartbeats: containers are given out and reported back only then.
    node_heartbeat: float = 1.0
    # Each node's first beat, in seconds, in the cluster's order of nodes; empty: drawn from the seed.
    first_beats: tuple[float, ...] = ()
    # Seconds between an application master's heartbeats.
    master_heartbeat: float = 1.0
    # Ticks between fetching an allocation and acting on it. Hadoop's load simulator handles a response one tick late;
    # a real master acts at once (0).
    response_lag: int = 0
    # Ticks from the master's goodbye to the job's end as Hadoop's load simulator logs it.
    farewell_lag: int = 0
    # Seconds from submission until the scheduler knows the application (state store, dispatchers).
    accept_delay: float = 0.0
    # A resource manager that has just started is slow: seconds after the first submission before which it accepts no
    # application, and registers no master (measured in Hadoop's load simulator).
    warm_up: float = 0.0
    warm_master: float = 0.0
    # Smallest container, and the grid to which every request is rounded up; 0 switches rounding off.
    min_memory: float = GIBI
    min_cpu: float = 1.0
    memory_step: float = GIBI
    cpu_step: float = 1.0
    # Missed chances after which a request accepts its rack, and then any node (Capacity's node-locality-delay: 40).
    node_delay: int = 40
    rack_delay: int = -1  # −1: the number of nodes it named, capped by the cluster (YARN's rule)
    # Attempts of one task before its job fails (mapreduce.map.maxattempts); 0: without limit. A driver that broke is
    # started anew as often.
    attempts: int = 4
    # Seconds between two looks at what tasks really use; 0 switches the usage model off.
    usage_period: float = 1.0
    # What the operating system takes of every node's CPU and memory, in cores and bytes; less than the smallest has.
    system_cpu: float = 0.0
    system_memory: float = 0.0
    # Who breaks when a node's memory runs out: `growing` or `all` (paper 000).
    victims: str = "growing"
    # Nodes that fail and return: (node name, fails at, returns at); infinity: never. Those of one node do not overlap.
    outages: tuple[tuple[str, float, float], ...] = ()

    def __post_init__(self) -> None:
        if self.victims not in list(Victims):
            raise UnknownName("victims", self.victims, Victims)
        _check_outages(self.outages)
        positive("node_heartbeat", self.node_heartbeat)
        positive("master_heartbeat", self.master_heartbeat)
        for beat in self.first_beats:
            alike("first_beats", beat, 0.0)
            finite("first_beats", beat)
        for field in fields(self):
            if isinstance(field.default, int | float):
                _check_number(field.name, getattr(self, field.name), field.default)


def _check_number(name: str, value: float, default: float) -> None:
    """Refuse what is below zero or not finite, and parts of what is counted; a default has its own meaning."""
    if value != default:
        amount(name, value)
    if isinstance(default, int) and value != int(value):
        raise BadNumber(name, value, "give a whole number")


def _check_outages(outages: tuple[tuple[str, float, float], ...]) -> None:
    """Refuse what is no outage, and a node that would fail while it is away: it would return too early."""
    if not all(_outage(each) for each in outages):
        remedy = (
            "write a list of [node, fails at, returns at], times in seconds from 0, the second later than the first"
        )
        raise BadNumber("outages", outages, remedy)
    back: dict[str, float] = {}
    for name, fails, returns in sorted(outages, key=lambda each: each[1]):
        if fails < back.get(name, 0.0):
            raise BadNumber("outages", outages, f"let {name} fail only after it has returned, or write one outage")
        back[name] = returns


def _outage(found: object) -> bool:
    """Whether it is the name of a node and two moments, one after the other."""
    if not isinstance(found, list | tuple) or len(found) != 3:
        return False
    name, *moments = found
    return isinstance(name, str) and all(isinstance(each, int | float) for each in moments) and 0 <= found[1] < found[2]
