"""What runs in a lab and where it listens."""

from rich.table import Table

from slackwater.errors import SlackwaterError
from slackwater_lab.lab import Lab
from slackwater_lab.nodes import simulated
from slackwater_lab.programs.build import binary
from slackwater_lab.programs.programs import program
from slackwater_lab.site import Site


def variables(site: Site) -> dict[str, str]:
    """What a shell or a test needs to know to use the lab."""
    return {
        "SLACKWATER_LAB": site.name,
        "KUBECONFIG": str(site.kubeconfig),
        "KUBECTL": str(binary(program("kubectl"))),
        "PROMETHEUS_URL": site.url("prometheus"),
        "EXTENDER_URL": site.url("extender"),
        "KWOK_URL": site.url("kwok"),
    }


def table(lab: Lab) -> Table:
    """One row for each process on record, and the nodes beneath."""
    shown = Table("process", "pid", "state", "listens", title=f"lab {lab.site.name}", caption=_nodes(lab))
    for started in lab.processes.all():
        state = "running" if started.alive else "[red]ended[/red]"
        shown.add_row(started.name, str(started.pid), state, _address(lab.site, started.name))
    return shown


def _address(site: Site, name: str) -> str:
    try:
        return f"127.0.0.1:{site.ports[name]}"
    except SlackwaterError:
        return ""  # a helper process without a port


def _nodes(lab: Lab) -> str:
    try:
        with lab.api() as api:
            listed = (api.find(simulated.NODES) or {"items": []})["items"]
            return f"{len(simulated.ready(api))} of {len(listed)} nodes are Ready"
    except (OSError, SlackwaterError) as error:
        return f"the API server does not answer: {error}"
