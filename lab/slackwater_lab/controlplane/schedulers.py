"""Two stock kube-schedulers: a plain one for `default-scheduler`, and ours for the profile `slackwater`.

All profiles of one kube-scheduler share its extenders, so a plain profile beside ours would call the extender
too. Two processes keep the comparison honest.
"""

from dataclasses import dataclass
from pathlib import Path

import yaml

from slackwater_lab.programs.build import built
from slackwater_lab.site import Site

PROFILE = "slackwater"
PLAIN = "default-scheduler"
SAMPLED = 10  # percent of the nodes that the extender is asked about, as in the chart's values


@dataclass(frozen=True, slots=True)
class Extender:
    """How kube-scheduler calls an extender."""

    url: str
    authority: Path | None = None  # set: HTTPS, verified against this certificate
    timeout: str = "2s"  # production wants 100-500 ms; two cores shared with a whole cluster need more patience
    weight: int = 10
    ignorable: bool = True  # the operator holds releases back while the extender is away

    def block(self) -> dict[str, object]:
        """The entry under `extenders`. Names only: whole Node objects cost a second per call at 5,000 nodes."""
        entry: dict[str, object] = {
            "urlPrefix": self.url,
            "filterVerb": "filter",
            "prioritizeVerb": "prioritize",
            "weight": self.weight,
            "httpTimeout": self.timeout,
            "nodeCacheCapable": True,
            "ignorable": self.ignorable,
        }
        if self.authority:
            entry |= {"enableHTTPS": True, "tlsConfig": {"caFile": str(self.authority)}}
        return entry


def configuration(kubeconfig: Path, profile: str, extender: Extender | None) -> dict[str, object]:
    """A KubeSchedulerConfiguration with one profile; the default of 50 requests a second would cap binding."""
    config: dict[str, object] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 5000, "burst": 5000},
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": profile}],
    }
    if extender:
        config |= {"extenders": [extender.block()], "percentageOfNodesToScore": SAMPLED}
    return config


def scheduler(site: Site, name: str, kubeconfig: Path, profile: str, extender: Extender | None) -> list[str]:
    """The command line of the scheduler called `name` in this lab, acting as whom the kubeconfig names."""
    config = site.write(f"{name}.yaml", yaml.safe_dump(configuration(kubeconfig, profile, extender), sort_keys=False))
    return [
        built("kube-scheduler"),
        f"--config={config}",
        f"--secure-port={site.ports[name]}",
        "--bind-address=127.0.0.1",
        "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
        "--v=0",
    ]
