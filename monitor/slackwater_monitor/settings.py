"""Everything that can be set, from flags or the environment (SLACKWATER_MONITOR_…), with the reason for each number."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from slackwater.errors import InvalidInput
from slackwater_cluster import names


class Settings(BaseSettings):
    """All settings of the monitor."""

    model_config = SettingsConfigDict(
        env_prefix="SLACKWATER_MONITOR_",
        extra="forbid",
        frozen=True,
        cli_prog_name="slackwater-monitor",
        cli_kebab_case=True,
        cli_hide_none_type=True,
        cli_implicit_flags=True,
    )

    host: str = Field(
        default="127.0.0.1",
        description="Address to listen on. The dashboard has no login of its own: whoever reaches it reads it.",
    )
    port: int = Field(default=8580, ge=0, le=65535, description="0 takes any free port.")
    threads: int = Field(default=8, ge=2, le=128, description="Requests answered at once; a page takes some 10 ms.")
    kubeconfig: Path | None = Field(default=None, description="None: the pod's service account, else ~/.kube/config.")
    context: str | None = Field(default=None, description="Context of that kubeconfig.")
    namespace: str = Field(default=names.SYSTEM_NAMESPACE, description="Namespace that Slackwater is installed in.")
    extender_url: str = Field(default="", description="Address of the extender; empty: through the API server.")
    prometheus_url: str = Field(
        default="", description="Base URL of Prometheus: what was requested and used before the monitor started."
    )
    interval: float = Field(
        default=10, ge=1, le=600, description="Seconds between two looks; each costs the cluster four small lists."
    )
    refresh: int = Field(default=5, ge=2, le=600, description="Seconds after which an open page asks for news.")
    traces: Path | None = Field(
        default=None, description="Folder of traces written by `slackwater export`, offered in the what-if form."
    )


def load(arguments: Sequence[str]) -> Settings:
    """Read flags and environment; what is wrong is told with what to write."""
    try:
        return Settings(_cli_parse_args=list(arguments))  # pyright: ignore[reportCallIssue]  # made by the library
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "settings"
        raise InvalidInput(place, first["msg"], "see slackwater-monitor --help") from problem
    except SettingsError as problem:
        raise InvalidInput("settings", str(problem), "see slackwater-monitor --help") from problem
