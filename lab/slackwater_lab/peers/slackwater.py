"""Slackwater with its chart's values, in mode enforce, with a Prometheus that scrapes every 2 s and a heartbeat of 2 s.

A driver's annotations say how many tasks will come and how large they are, and `slackwater.io/gang` marks a gang, as a
user would write them.
"""

from slackwater import __version__
from slackwater_lab.peers.peer import Peer
from slackwater_lab.plan import PARTS


class Slackwater(Peer):
    """Everything the chart installs, with a kube-scheduler of its own."""

    name = "slackwater"
    told = "number and size of the tasks, on the driver; gangs"
    scheduler = "slackwater"
    managed = True
    parts = frozenset(PARTS) - {"scheduler"}
    values: tuple[str, ...] = ("policy.spec.mode=enforce", "policy.spec.estimation.heartbeatSeconds=2")

    @property
    def version(self) -> str:
        """Ours, and the scheduler's."""
        return f"Slackwater {__version__}, {super().version}"
