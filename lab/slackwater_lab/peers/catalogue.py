"""Every scheduler of the league, by name."""

from slackwater.errors import UnknownName
from slackwater_lab.peers.kueue import KueueGroups, KueuePods
from slackwater_lab.peers.peer import Peer
from slackwater_lab.peers.slackwater import Slackwater
from slackwater_lab.peers.stock import Stock

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Stock(),
        Slackwater(),
        KueuePods(),
        KueueGroups(),
    )
}


def peer(name: str) -> Peer:
    """Look a scheduler up by its name."""
    if name not in PEERS:
        raise UnknownName("scheduler", name, PEERS)
    return PEERS[name]
