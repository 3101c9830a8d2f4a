"""Everything that can be set: its default, its unit, the reason for the number.

Order of precedence: flags, environment (SLACKWATER_EXTENDER_…, parts joined by
two underscores), the YAML file named by --config or SLACKWATER_EXTENDER_CONFIG,
defaults.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, cast

import yaml
from pydantic import Field, model_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
)
from typing_extensions import TypeAliasType

from slackwater.errors import InvalidInput
from slackwater.resources import MEMORY
from slackwater.validation import parsing
from slackwater_cluster import names
from slackwater_cluster.prometheus.connection import Connection
from slackwater_cluster.settings import Section, flags, program, refusing

PREFIX = "SLACKWATER_EXTENDER_"
CONFIG = f"{PREFIX}CONFIG"


class ServerSettings(Section):
    """How the extender listens."""

    host: str = Field(default="127.0.0.1", description="Address to listen on; loopback unless TLS is set up.")
    port: int = Field(default=names.EXTENDER_PORT, ge=0, le=65535, description="0 takes any free port.")
    threads: int = Field(
        default=16,
        ge=2,
        le=256,
        description="Requests answered at once. The scheduler asks one at a time; the others serve API and wake-ups.",
    )
    keepalive: int = Field(
        default=120,
        ge=5,
        le=3600,
        description="Seconds an idle connection is kept: a new one costs the scheduler 1 ms.",
    )
    body_limit: int = Field(
        default=128 * 2**20,
        ge=2**16,
        description="Bytes. 5,000 whole nodes are 59 MB (nodeCacheCapable false); names alone are 0.2 MB.",
    )
    graceful: int = Field(default=10, ge=1, le=300, description="Seconds for running requests at shutdown.")


class Tls(Section):
    """HTTPS and client certificates. Without a certificate the extender must listen on loopback."""

    certificate: Path | None = Field(default=None, description="PEM file of the server's certificate chain.")
    key: Path | None = Field(default=None, description="PEM file of its private key.")
    client_ca: Path | None = Field(default=None, description="PEM file of the CA that signs callers' certificates.")
    client_names: tuple[str, ...] = Field(
        default=(), description="Common or DNS names of accepted callers; empty accepts any certificate of that CA."
    )

    @model_validator(mode="after")
    def _pairs(self) -> Tls:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("tls.certificate and tls.key belong together; give both or neither")
        if self.client_ca is not None and self.certificate is None:
            raise ValueError(
                "tls.client_ca needs tls.certificate and tls.key: without HTTPS nobody shows a certificate"
            )
        return self


class Callers(Section):
    """Who may POST. A caller proves itself by client certificate, by loopback, or by a service account's token."""

    loopback: bool = Field(default=True, description="Trust callers on this host: scheduler and extender in one pod.")
    accounts: tuple[str, ...] = Field(
        default=(f"system:serviceaccount:{names.SYSTEM_NAMESPACE}:slackwater-operator",),
        description="Users accepted after TokenReview.",
    )
    audiences: tuple[str, ...] = Field(
        default=(), description="Audiences asked for in TokenReview; empty: the server's."
    )
    remember: float = Field(
        default=60, ge=0, le=600, description="Seconds a reviewed token is believed without asking."
    )


# Which exporters are there. A Literal, because help and flags name members of an enumeration, not their values. With a
# name of its own, because help would write all three beside the flag, which makes a line of more than 80 characters.
Preset = TypeAliasType("Preset", Literal["kubelet-resource", "cadvisor-node-exporter", "metrics-server-like"])


class Prometheus(Connection):
    """Where usage is measured, and by which queries."""

    preset: Preset = Field(
        default="kubelet-resource",
        description="Which exporters the queries ask: kubelet-resource, cadvisor-node-exporter or metrics-server-like.",
    )
    queries: dict[str, str] = Field(
        default_factory=dict,
        description="Own PromQL for node_cpu, node_memory, node_time, pod_cpu, pod_memory or node_network; "
        "{window}, {namespaces} and {jobs} are filled in.",
    )
    jobs: str = Field(
        default="",
        description="Scrape jobs that are believed, as a regular expression of the whole name; empty: as the usual "
        "stacks call the preset's exporters; .* believes everybody who may add a target.",
    )
    window: float = Field(
        default=120, ge=2, le=3600, description="Seconds irate looks back: at least two scrapes must lie within."
    )
    node_label: str = Field(default="", description="Label that holds the node; empty tries the usual ones.")


class Decisions(Section):
    """How pods are judged; what a SlackPolicy says comes first."""

    schedulers: tuple[str, ...] = Field(
        default=(names.SCHEDULER,), description="Scheduler names whose pods are ours; others pass untouched."
    )
    own_namespace: str = Field(default=names.SYSTEM_NAMESPACE, description="Pods of this namespace pass untouched.")
    watchdog_namespace: str = Field(
        default=names.WATCHDOG_HOME, description="Pods of this one, too: the watchdog runs there."
    )
    expiry: float = Field(
        default=75,
        gt=0,
        le=3600,
        description="Seconds a placement is held unbound: the operator's release timeout (60) and some for the watch.",
    )
    slice: float = Field(
        default=0.02, gt=0, le=1, description="Seconds of batch work between which a /filter may pass."
    )
    remembered: int = Field(
        default=5000, ge=1, le=1_000_000, description="Decisions kept for /v1/decisions: some minutes at 20 pods/s."
    )
    eviction: dict[str, float] = Field(
        default_factory=lambda: {MEMORY: 100.0 * 2**20},
        description="Hard eviction thresholds per kind, bytes for memory. Kubelet's default; no API shows them.",
    )
    score: str = Field(
        default="",
        description="A score of your own as module:function, asked in mode observe: the node it would have chosen is "
        "remembered beside ours, and nothing else changes.",
    )
    waiting: int = Field(
        default=50_000, ge=1, description="Refused pods kept for wake-up; beyond that the oldest is dropped (counted)."
    )


class LearnedSettings(Section):
    """Where what was learned about apps and risks outlives the process."""

    config_map: str = Field(
        default="",
        max_length=253,
        description="A ConfigMap of our namespace that exists and may be changed; empty: learned anew after a restart.",
    )
    interval: float = Field(
        default=60, ge=1, le=3600, description="Seconds between two writings, where something changed."
    )


class Settings(BaseSettings):
    """All settings of the extender."""

    model_config = program("extender", nested="__")
    content: ClassVar[dict[str, Any]] = {}  # of the file

    config: Path | None = Field(default=None, description="YAML file with any of these settings.")
    check: bool = Field(
        default=False, description="Validate, print what is in force, try Kubernetes and Prometheus, and end."
    )
    kubeconfig: Path | None = Field(
        default=None, description="A kubeconfig; else the pod's account, else ~/.kube/config."
    )
    context: str | None = Field(default=None, description="Context of that kubeconfig.")
    server: ServerSettings = ServerSettings()
    tls: Tls = Tls()
    callers: Callers = Callers()
    prometheus: Prometheus = Prometheus()
    decisions: Decisions = Decisions()
    learned: LearnedSettings = LearnedSettings()
    node_metrics: bool = Field(
        default=True, description="Series per node and resource in /metrics: 12 per node; off where that is too many."
    )
    log_format: Annotated[str, Field(pattern="^(json|console)$")] = Field(
        default="json", description="json for machines, console for people."
    )
    log_level: Annotated[str, Field(pattern="^(debug|info|warning|error)$")] = Field(
        default="info", description="debug logs every decision."
    )

    @model_validator(mode="after")
    def _safe(self) -> Settings:
        if self.tls.certificate is None and self.server.host not in ("127.0.0.1", "::1", "localhost"):
            raise ValueError(
                f"server.host {self.server.host} is reachable from outside and tls.certificate is not set; "
                "set tls.certificate and tls.key, or listen on 127.0.0.1"
            )
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags are put in front by `load`; no .env file is read."""
        del dotenv_settings, file_secret_settings
        return (init_settings, env_settings, InitSettingsSource(settings_cls, cls.content))


def load(arguments: Sequence[str]) -> Settings:
    """Read all sources; what is wrong is told field by field, with what to write."""
    model = type("Settings", (Settings,), {"content": _content(_file(arguments)), "__doc__": __doc__})
    with refusing("extender"):
        # A documented argument of BaseSettings that its signature does not show.
        return cast("Settings", model(_cli_settings_source=flags(model, arguments)))  # pyright: ignore[reportCallIssue]


def _content(file: Path | None) -> dict[str, Any]:
    """What the file says; nothing where there is none."""
    if file is None:
        return {}
    with parsing("config", f"{str(file)!r} is not YAML", "see slackwater-extender --help"):
        found = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    if not isinstance(found, dict):
        raise InvalidInput("config", f"{str(file)!r} holds no settings", "write `name: value`, one on each line")
    return {str(name): value for name, value in found.items()}


def _file(arguments: Sequence[str]) -> Path | None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--config", type=Path, default=os.environ.get(CONFIG))
    found = parser.parse_known_args(list(arguments))[0].config
    if found is not None and not Path(found).is_file():
        raise InvalidInput("config", f"there is no file {found}", "give the path of a YAML file")
    return Path(found) if found is not None else None
