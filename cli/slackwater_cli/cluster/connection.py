"""How commands reach a cluster: the options they share, and what they make of them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from slackwater_cluster.api.client import ApiClient, ExtenderClient

REACH = "How the cluster is reached"  # a part of the help text, which has columns of its own
Kubeconfig = Annotated[
    Path | None, typer.Option(envvar="KUBECONFIG", help="Path of a kubeconfig.", rich_help_panel=REACH)
]
Context = Annotated[
    str | None, typer.Option(help="Context of that kubeconfig; default its current one.", rich_help_panel=REACH)
]
ExtenderUrl = Annotated[
    str,
    typer.Option(
        "--extender",
        envvar="SLACKWATER_EXTENDER_URL",
        help="Its address; default: through the API server.",
        rich_help_panel=REACH,
    ),
]
ExtenderCa = Annotated[
    Path | None,
    typer.Option(
        envvar="SLACKWATER_EXTENDER_CA",
        help="PEM file of the CA of its certificate, with --extender.",
        rich_help_panel=REACH,
    ),
]
ExtenderToken = Annotated[
    Path | None,
    typer.Option(
        "--extender-token-file",
        envvar="SLACKWATER_EXTENDER_TOKEN_FILE",
        help="File with a bearer token for it, with --extender.",
        rich_help_panel=REACH,
    ),
]
Namespace = Annotated[str | None, typer.Option("--namespace", "-n", help="Namespace; default that of the context.")]
Everywhere = Annotated[bool, typer.Option("--all-namespaces", "-A", help="All namespaces.")]
System = Annotated[str, typer.Option(help="Namespace that Slackwater is installed in.", rich_help_panel=REACH)]


def api_server(kubeconfig: Path | None, context: str | None) -> ApiClient:
    """The API server of the chosen context. What is logged while it is read goes beside what programs read."""
    import structlog

    from slackwater_cluster.api.client import ApiClient
    from slackwater_cluster.api.endpoint import endpoint

    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
    return ApiClient(endpoint(_single(kubeconfig), context))


@dataclass(frozen=True, slots=True)
class Reach:
    """The options by which a command reaches the API server and the extender."""

    extender_url: ExtenderUrl = ""
    extender_ca: ExtenderCa = None
    extender_token: ExtenderToken = None
    system: System = "slackwater-system"
    kubeconfig: Kubeconfig = None
    context: Context = None

    def clients(self) -> tuple[ApiClient, ExtenderClient]:
        """The API server, and the extender at its address or behind the API server, which then answers for both."""
        from slackwater_cluster.api.client import ExtenderClient
        from slackwater_cluster.api.credentials import Credentials

        api = api_server(self.kubeconfig, self.context)
        known = Credentials(self.extender_token, ca=self.extender_ca)
        return api, ExtenderClient(api, self.extender_url, namespace=self.system, credentials=known)

    def namespace(self, given: str | None) -> str:
        """The namespace asked for, else the context's, else default."""
        return namespace_of(given, self.kubeconfig, self.context)


def namespace_of(given: str | None, kubeconfig: Path | None, context: str | None) -> str:
    """The namespace asked for, else the context's, else default."""
    if given:
        return given
    from kubernetes import config
    from kubernetes.config.config_exception import ConfigException

    try:
        contexts, active = config.list_kube_config_contexts(str(kubeconfig) if kubeconfig else None)  # type: ignore[no-untyped-call]  # the client library has no types
    except (ConfigException, OSError):
        return "default"
    known: Any = contexts
    chosen: Any = next((each for each in known if each["name"] == context), active) if context else active
    return str(chosen["context"].get("namespace") or "default")


def _single(kubeconfig: Path | None) -> Path | None:
    """A list of files in $KUBECONFIG is left to the client library, which merges them."""
    return None if kubeconfig is not None and ":" in str(kubeconfig) else kubeconfig
