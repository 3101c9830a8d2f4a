"""Every scheduler of the league, by name."""

from slackwater.errors import UnknownName
from slackwater_lab.peers.kueue import KueueGroups, KueuePods
from slackwater_lab.peers.nativegang import NativeGang
from slackwater_lab.peers.peer import Peer
from slackwater_lab.peers.schedulerplugins import Coscheduling, LoadVariationRiskBalancing, TargetLoadPacking
from slackwater_lab.peers.slackwater import Slackwater
from slackwater_lab.peers.stock import Stock
from slackwater_lab.peers.volcano import Volcano
from slackwater_lab.peers.yunikorn import Yunikorn, YunikornGang

_PLAYED: tuple[Peer, ...] = (
    Stock(),
    NativeGang(),
    Slackwater(),
    KueuePods(),
    KueueGroups(),
    Yunikorn(),
    YunikornGang(),
    Volcano(),
    TargetLoadPacking(),
)
# Written from their documentation, and not yet played.
_UNTRIED: tuple[Peer, ...] = (
    LoadVariationRiskBalancing(),
    Coscheduling(),
)
PEERS: dict[str, Peer] = {peer.name: peer for peer in (*_PLAYED, *_UNTRIED)}
TRIED = tuple(peer.name for peer in _PLAYED)
UNTRIED = tuple(peer.name for peer in _UNTRIED)


def peer(name: str) -> Peer:
    """Look a scheduler up by its name."""
    if name not in PEERS:
        raise UnknownName("scheduler", name, PEERS)
    return PEERS[name]
