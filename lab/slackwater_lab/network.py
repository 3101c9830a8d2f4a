"""One Linux bridge for all real nodes of a lab: a flat pod network that only this machine can reach."""

import ipaddress
import json
from dataclasses import dataclass
from pathlib import Path

from slackwater.errors import Unavailable
from slackwater_lab.builds import installed
from slackwater_lab.ports import FIRST, SIZE, Ports
from slackwater_lab.running import run


@dataclass(frozen=True, slots=True)
class Network:
    """Name and addresses of the bridge, different for each lab."""

    bridge: str
    subnet: ipaddress.IPv4Network

    @property
    def gateway(self) -> str:
        """The bridge's own address, which is the address of every real node: a kubelet refuses loopback."""
        return str(self.subnet[1])

    def plugin(self, folder: Path) -> str:
        """The configuration for the CNI plugin; all nodes hand out addresses from one folder."""
        addresses = {"type": "host-local", "dataDir": str(folder), "ranges": [[{"subnet": str(self.subnet)}]]}
        bridge = {"type": "bridge", "bridge": self.bridge, "isGateway": True, "hairpinMode": True, "ipam": addresses}
        return json.dumps({"cniVersion": "0.4.0", "name": self.bridge, "plugins": [bridge]})


def of(ports: Ports) -> Network:
    """The network that belongs to a block of ports."""
    number = (ports.base - FIRST) // SIZE
    subnet = ipaddress.IPv4Network(f"10.{200 + number // 256}.{number % 256}.0/24")
    return Network(f"swlab{number}", subnet)


def create(network: Network) -> None:
    """Make the bridge unless it is there."""
    if (Path("/sys/class/net") / network.bridge).exists():
        return
    address = f"{network.gateway}/{network.subnet.prefixlen}"
    _ip("link", "add", network.bridge, "type", "bridge")
    _ip("address", "add", address, "dev", network.bridge)
    _ip("link", "set", network.bridge, "up")


def remove(network: Network) -> None:
    """Remove the bridge if it is there."""
    try:
        _ip("link", "delete", network.bridge)
    except Unavailable:
        return


def _ip(*arguments: str) -> None:
    run([installed("ip", "iproute2"), *arguments])
