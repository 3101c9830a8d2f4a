"""What pods of real nodes find in any cluster: names (CoreDNS) and the addresses of Services.

There is no kube-proxy, which would write rules into the machine's own tables. Each address of a Service is an address
of the lab's bridge instead, and a process of the lab passes its connections on; see serviceproxy.py.
"""

import sys

from slackwater_lab.nodes.network import DOMAIN, Network
from slackwater_lab.programs.build import built
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


def proxy(site: Site) -> list[str]:
    """The command line of the process that passes on the connections to Services."""
    return [sys.executable, "-m", "slackwater_lab.nodes.serviceproxy", site.name]
