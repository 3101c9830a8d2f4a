"""One Linux bridge for all real nodes of a lab: a flat pod network that only this machine can reach."""

import ipaddress
import json
from dataclasses import dataclass
from pathlib import Path

from slackwater.errors import Unavailable
from slackwater_lab.processes.command import run
from slackwater_lab.processes.ports import FIRST, SIZE, Ports
from slackwater_lab.programs.build import installed

DOMAIN = "cluster.local"
SERVICES = ipaddress.IPv4Network("10.208.0.0/12")
SERVICES_PREFIX = 21  # of one lab: 2,048 addresses


@dataclass(frozen=True, slots=True)
class Network:
    """Name and addresses of the bridge, different for each lab."""

    bridge: str
    subnet: ipaddress.IPv4Network
    services: ipaddress.IPv4Network  # the addresses of Services

    @property
    def gateway(self) -> str:
        """The bridge's own address, which is the address of every real node: a kubelet refuses loopback."""
        return str(self.subnet[1])

    @property
    def api(self) -> str:
        """The address of the Service `kubernetes`: the first one, as the API server chooses it."""
        return str(self.services[1])

    def plugin(self, folder: Path) -> str:
        """The configuration for the CNI plugin; all nodes hand out addresses from one folder."""
        addresses: dict[str, object] = {
            "type": "host-local",
            "dataDir": str(folder),
            "ranges": [[{"subnet": str(self.subnet)}]],
        }
        # Services are addresses of the bridge; nothing beyond this machine is reached, as it does not forward.
        addresses["routes"] = [{"dst": "0.0.0.0/0"}]
        bridge = {"type": "bridge", "bridge": self.bridge, "isGateway": True, "hairpinMode": True, "ipam": addresses}
        return json.dumps({"cniVersion": "0.4.0", "name": self.bridge, "plugins": [bridge]})


def of(ports: Ports) -> Network:
    """The network that belongs to a block of ports."""
    number = (ports.base - FIRST) // SIZE
    subnet = ipaddress.IPv4Network(f"10.{200 + number // 256}.{number % 256}.0/24")
    first = int(SERVICES.network_address) + (number << (32 - SERVICES_PREFIX))
    return Network(f"swlab{number}", subnet, ipaddress.IPv4Network((first, SERVICES_PREFIX)))


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
