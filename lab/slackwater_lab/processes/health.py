"""How to see that a process of the lab does its work, and how to bring one back that ended."""

from slackwater.errors import Unavailable
from slackwater_lab.controlplane import access, services
from slackwater_lab.processes.ports import NAMES, free
from slackwater_lab.processes.processes import Processes, Started
from slackwater_lab.processes.waiting import answers, until, until_serving
from slackwater_lab.site import Site

# Where each server says that it is well. Those without an entry are well while they live.
QUESTIONS = {
    "etcd": ("http", "/health"),
    "kwok": ("http", "/healthz"),
    "scheduler": ("https", "/healthz"),
    "slackwater-scheduler": ("https", "/healthz"),
    "state-metrics": ("http", "/healthz"),
    "prometheus": ("http", "/-/ready"),
    "dns": ("http", "/health"),
}
ATTEMPTS = 3


def serves(site: Site, name: str) -> bool:
    """Whether it can do its work now."""
    if name in services.SERVICES:
        return services.healthy(site, name)
    if name == "apiserver":
        with access.client(site) as api:
            return api.ready()
    scheme, path = QUESTIONS.get(name, ("", ""))
    return not path or answers(f"{site.url(name, scheme)}{path}")


def until_well(site: Site, processes: Processes, name: str) -> None:
    """Wait until a process that was started does its work; one that ended is reported with its last words."""
    until_serving(processes, name, lambda: serves(site, name))


def revive(site: Site, processes: Processes, started: Started) -> None:
    """Start a process again as it was. Should its port be taken for a moment, it is tried again."""
    for attempt in range(1, ATTEMPTS + 1):
        if started.name in NAMES:
            until(f"the port of {started.name} is free", lambda: free(site.ports[started.name]), 20.0)
        processes.start(started.name, started.command)
        try:
            until_well(site, processes, started.name)
        except Unavailable:
            taken = "address already in use" in processes.tail(started.name)
            if attempt == ATTEMPTS or not taken:
                raise
        else:
            return
