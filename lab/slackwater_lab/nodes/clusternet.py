"""What pods of real nodes find in any cluster: names (CoreDNS) and the addresses of Services.

There is no kube-proxy, which would write rules into the machine's own tables. Each address of a Service is an address
of the lab's bridge instead, and a process of the lab passes its connections on; see serviceproxy.py.
"""

import sys

from slackwater_lab.nodes.network import DOMAIN, Network
from slackwater_lab.programs.build import built, installed
from slackwater_lab.site import Site

DNS = "dns"
PROXY = "service-proxy"


def corefile(site: Site, network: Network) -> str:
    """CoreDNS on the bridge's address, answering for the cluster and for nothing else."""
    return f"""\
.:53 {{
    bind {network.gateway}
    errors
    health 127.0.0.1:{site.ports[DNS]}
    kubernetes {DOMAIN} in-addr.arpa {{
        kubeconfig {site.kubeconfig}
        ttl 2
    }}
    cache 2
}}
"""


def dns(site: Site, network: Network) -> list[str]:
    """The command line of CoreDNS."""
    return [built("dns"), "-conf", site.write("Corefile", corefile(site, network)), "-quiet"]


def resolving(site: Site, network: Network) -> list[str]:
    """What stands before a command that shall find Services by name from this machine; the machine's names are gone.

    The command gets a mount namespace of its own, in which the lab's name service is the only one.
    """
    text = f"nameserver {network.gateway}\nsearch svc.{DOMAIN}\noptions ndots:5\n"
    unshare = [installed("unshare", "util-linux"), "--mount", "--propagation=private"]
    script = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'
    return [*unshare, "sh", "-c", script, site.write("resolv.conf", text)]


def proxy(site: Site) -> list[str]:
    """The command line of the process that passes on the connections to Services."""
    return [sys.executable, "-m", "slackwater_lab.nodes.serviceproxy", site.name]
