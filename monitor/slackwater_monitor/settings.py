"""Everything that can be set, from flags or the environment (SLACKWATER_MONITOR_…), with the reason for each number."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from slackwater_cluster import names
from slackwater_cluster.prometheus.matchers import checked
from slackwater_cluster.settings import flags, program, refusing


class Settings(BaseSettings):
    """Serve the dashboard. It reads the cluster and changes nothing."""

    model_config = program("monitor")

    host: str = Field(
        default="127.0.0.1",
        description="Address to listen on. The dashboard has no login of its own: whoever reaches it reads it.",
    )
    port: int = Field(default=8580, ge=0, le=65535, description="0 takes any free port.")
    threads: int = Field(default=8, ge=2, le=128, description="Requests answered at once; a page takes some 10 ms.")
    kubeconfig: Path | None = Field(
        default=None, description="A kubeconfig; else the pod's account, else ~/.kube/config."
    )
    context: str | None = Field(default=None, description="Context of that kubeconfig.")
    namespace: str = Field(default=names.SYSTEM_NAMESPACE, description="Namespace that Slackwater is installed in.")
    extender_url: str = Field(default="", description="Address of the extender; empty: through the API server.")
    extender_ca: Path | None = Field(default=None, description="PEM file of the CA of the extender's certificate.")
    extender_token_file: Path | None = Field(default=None, description="File with a bearer token for the extender.")
    prometheus_url: str = Field(
        default="", description="Base URL of Prometheus: what was requested and used before the monitor started."
    )
    prometheus_token_file: Path | None = Field(default=None, description="File with a bearer token for Prometheus.")
    prometheus_username: str = Field(default="", description="For basic authentication at Prometheus.")
    prometheus_password_file: Path | None = Field(default=None, description="File with that user's password.")
    prometheus_ca: Path | None = Field(default=None, description="PEM file of the CA of Prometheus's certificate.")
    prometheus_insecure: bool = Field(default=False, description="Believe any certificate of Prometheus.")
    prometheus_tenant: str = Field(default="", description="X-Scope-OrgID of Mimir or Thanos.")
    prometheus_matchers: dict[str, str] = Field(
        default_factory=dict,
        description="Labels of this cluster's series where Prometheus knows several clusters, such as cluster=prod.",
    )
    interval: float = Field(
        default=10, ge=1, le=600, description="Seconds between two looks; each costs the cluster four small lists."
    )
    refresh: int = Field(default=5, ge=2, le=600, description="Seconds after which an open page asks for news.")
    grafana_url: str = Field(
        default="", description="Base URL of a Grafana that has the chart's dashboards; pages then link to theirs."
    )
    traces: Path | None = Field(
        default=None, description="Folder of traces written by `slackwater export`, offered in the what-if form."
    )

    @field_validator("prometheus_matchers")
    @classmethod
    def _labels(cls, given: dict[str, str]) -> dict[str, str]:
        return checked("prometheus_matchers", given)


def load(arguments: Sequence[str]) -> Settings:
    """Read flags and environment; what is wrong is told with what to write."""
    with refusing("monitor"):
        # A documented argument of BaseSettings that its signature does not show.
        return Settings(_cli_settings_source=flags(Settings, arguments))  # pyright: ignore[reportCallIssue]
