"""How commands ask a Prometheus about the past: the options they share, and what they make of them."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.errors import InvalidInput, Unavailable
from slackwater_cli.cluster.connection import Context, Kubeconfig, api_server
from slackwater_cli.printing import tell
from slackwater_cluster.timestamps import parse

if TYPE_CHECKING:
    from slackwater_cluster.prometheus.transport import QueryConnection
    from slackwater_monitor.assessment.run import Order
    from slackwater_monitor.history.grid import Grid

# Seconds after which a window is surely complete: scrapes and remote writes come late.
LATE = 60

ASKING = "How Prometheus is asked"
Url = Annotated[
    str | None,
    typer.Option(
        envvar="SLACKWATER_PROMETHEUS_URL",
        help="Base URL of Prometheus, Thanos or Mimir; default: found among the cluster's Services.",
    ),
]
Namespaces = Annotated[
    list[str] | None, typer.Option("--namespace", "-n", help="Only this namespace; may be repeated.")
]
Since = Annotated[str, typer.Option(help="How far to look back: 12h, 7d, 2w.")]
Until = Annotated[str | None, typer.Option(help="End of the period, ISO 8601; default now.")]
Step = Annotated[str | None, typer.Option(help="Length of a window; default about 2,000 windows.")]
Cache = Annotated[
    Path | None, typer.Option(help="Folder of answers; an interrupted run resumes there.", rich_help_panel=ASKING)
]
Rate = Annotated[float, typer.Option(help="Queries per second at most.", rich_help_panel=ASKING)]
Timeout = Annotated[float, typer.Option(help="Seconds per query.", rich_help_panel=ASKING)]
Label = Annotated[
    list[str] | None, typer.Option(help="A renamed label: pod=kubernetes_pod_name.", rich_help_panel=ASKING)
]
UserLabel = Annotated[list[str] | None, typer.Option(help="Pod label that names the user.", rich_help_panel=ASKING)]
TokenFile = Annotated[Path | None, typer.Option(help="File with a bearer token.", rich_help_panel=ASKING)]
Username = Annotated[str, typer.Option(help="For basic authentication.", rich_help_panel=ASKING)]
PasswordFile = Annotated[Path | None, typer.Option(help="File with that user's password.", rich_help_panel=ASKING)]
Ca = Annotated[Path | None, typer.Option(help="PEM file of the CA of Prometheus.", rich_help_panel=ASKING)]
Insecure = Annotated[bool, typer.Option("--insecure", help="Do not verify its certificate.", rich_help_panel=ASKING)]
Tenant = Annotated[str, typer.Option(help="X-Scope-OrgID of Mimir or Thanos.", rich_help_panel=ASKING)]
Match = Annotated[
    list[str] | None,
    typer.Option(
        help="A label of this cluster's series, where Prometheus knows several: cluster=prod; may be repeated.",
        rich_help_panel=ASKING,
    ),
]


@dataclass(frozen=True, slots=True)
class Past:
    """The options that say which past is looked at."""

    prometheus: Url = None
    since: Since = "7d"
    until: Until = None
    step: Step = None
    namespace: Namespaces = None

    def windows(self) -> Grid:
        """The windows to look at."""
        from slackwater_monitor.history.grid import duration, grid

        end = time.time() - LATE if self.until is None else _moment("--until", self.until)
        return grid(end, duration("--since", self.since), duration("--step", self.step) if self.step else None)

    def namespaces(self) -> tuple[str, ...]:
        """Names of namespaces as they may stand in a query."""
        given = tuple(self.namespace or ())
        for name in given:
            if not re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name):
                raise InvalidInput("--namespace", f"{name!r} is no name of a namespace", "write it as kubectl shows it")
        return given


@dataclass(frozen=True, slots=True)
class Server:
    """The options that say how a Prometheus is asked, and how its answers are read."""

    cache: Cache = None
    rate: Rate = 5.0
    timeout: Timeout = 60.0
    label: Label = None
    user_label: UserLabel = None
    token_file: TokenFile = None
    username: Username = ""
    password_file: PasswordFile = None
    ca: Ca = None
    insecure: Insecure = False
    tenant: Tenant = ""
    match: Match = None
    kubeconfig: Kubeconfig = None
    context: Context = None

    def connection(self, url: str | None, more: str = "") -> QueryConnection:
        """The server to ask: at its address, else the one found in the cluster; `more` is what one may give instead."""
        from slackwater_cluster.api.credentials import Credentials
        from slackwater_cluster.prometheus.matchers import given
        from slackwater_cluster.prometheus.transport import QueryConnection

        ask = partial(QueryConnection, tenant=self.tenant, matchers=given("--match", self.match or ()))
        if url is not None:
            known = Credentials(self.token_file, self.username, self.password_file, self.ca, self.insecure)
            return ask(url, self.rate, self.timeout, known)
        from slackwater_cluster.api.endpoint import NoClusterKnown
        from slackwater_cluster.prometheus.discovery import ServerCredentials, discover

        remedy = f"add --prometheus http://HOST:PORT{more}"
        try:
            api = api_server(self.kubeconfig, self.context)
            service = discover(api)
        except NoClusterKnown as problem:
            raise InvalidInput(
                "--prometheus", "no address is given, and no cluster to look for one in", remedy
            ) from problem
        except Unavailable as problem:
            trouble = f"no address is given, and none was found ({problem})"
            raise InvalidInput("--prometheus", trouble, remedy) from problem
        tell(f"asking Service {service.namespace}/{service.name} through the API server", stderr=True)
        proved = ServerCredentials(endpoint=api.endpoint)
        return ask(f"{api.endpoint.url}{service.path}", self.rate, self.timeout, proved)

    def order(self, past: Past, more: str = "", namespaces: tuple[str, ...] = ()) -> Order:
        """What is asked of it; `more` is what one may give instead of its address."""
        from slackwater_monitor.assessment.run import Order
        from slackwater_monitor.history.labels import given

        # What is wrong with an option is told before anything is looked for.
        windows, users, labels = past.windows(), tuple(self.user_label or ()), given(self.label or [])
        server = self.connection(past.prometheus, more)
        return Order(server, windows, self.cache, labels, users, namespaces=namespaces, stated=past.step is not None)


def _moment(field: str, text: str) -> float:
    """A moment from ISO 8601; without a zone it is local time."""
    try:
        return parse(text)
    except ValueError as problem:
        raise InvalidInput(field, f"{text!r} is no moment", "write it like 2026-11-15T06:00Z") from problem
