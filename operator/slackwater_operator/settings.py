"""The operator's settings: environment variables SLACKWATER_OPERATOR_…, or flags of the same name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings

from slackwater_cluster import names
from slackwater_cluster.settings import flags, program, refusing


class Settings(BaseSettings):
    """Everything that can be set, with unit and the reason for the number."""

    model_config = program("operator")

    kubeconfig: Path | None = Field(
        default=None, description="A kubeconfig; else the pod's account, else ~/.kube/config."
    )
    namespace: str = Field(default=names.SYSTEM_NAMESPACE, description="Where Lease and framework ConfigMaps live.")
    watchdog_namespace: str = Field(default=names.WATCHDOG_HOME, description="Where the watchdog runs; never managed.")
    identity: str = Field(default="", description="Name under which this replica leads; its host name by default.")

    extender_url: str = Field(
        default=f"http://127.0.0.1:{names.EXTENDER_PORT}",
        description="Where the extender answers /v1/place and /v1/nodes.",
    )
    extender_token_file: Path | None = Field(
        default=None, description="Bearer token for the extender, if it wants one."
    )
    extender_ca_file: Path | None = Field(default=None, description="Authority of the extender's certificate.")
    extender_timeout: float = Field(
        default=5.0, gt=0, description="Seconds. A batch of 500 pods on 5,000 nodes takes about one."
    )
    grace: float = Field(
        default=60.0,
        ge=0,
        description="Seconds without an extender before pods are released against declared sums: a restart takes less.",
    )

    period: float = Field(
        default=0.25,
        gt=0,
        le=60,
        description="Seconds between rounds while there is news, at most: rounds that are short come sooner.",
    )
    idle_period: float = Field(
        default=5.0,
        gt=0,
        le=300,
        description="Seconds between rounds without news, for what neither watches nor the extender tell.",
    )
    window: int = Field(
        default=200,
        ge=1,
        le=100_000,
        description="Pods released but not bound at once. A scheduler binds some 300 a second: more would only wait. "
        "Pods that are tried again take at most half of it from others.",
    )
    batch: int = Field(default=100, ge=1, le=10_000, description="Pods placed and released in one round at most.")
    in_flight: int = Field(
        default=16, ge=1, le=256, description="Writes at once; more made the API server slower, not faster."
    )
    steer_nodes: int = Field(
        default=100,
        ge=0,
        description="Up to so many nodes no nomination is written: the extender answers with the pod's node "
        "alone. Above 100 nodes the scheduler must look at all of them (percentageOfNodesToScore: 100).",
    )
    steer_lowered: bool = Field(
        default=False,
        description="The same for tasks whose requests were lowered. Only where the scheduler does not go on without "
        "an answer (extender.ignorable: false): else it would place them by what is left of their requests.",
    )
    open_nodes: int = Field(
        default=100,
        ge=0,
        description="From so many nodes on new tasks come without a gate while nobody waits and half of the cluster is "
        "free: two writes less for each. Below, the API server has time enough.",
    )
    retry: float = Field(default=2.0, gt=0, description="Seconds before a pod that found no node is asked about again.")

    track_seconds: float = Field(default=10.0, ge=1, description="Seconds between two writes of one TrackedApp.")
    track_rate: float = Field(default=10.0, gt=0, description="TrackedApp writes per second, all apps together.")
    keep_finished: float = Field(default=600.0, ge=0, description="Seconds a TrackedApp stays after its app ended.")
    reason_after: float = Field(
        default=5.0, ge=0, description="Seconds without a release before reasons are written on pods."
    )
    reason_rate: float = Field(default=20.0, gt=0, description="Reason annotations per second.")
    event_rate: float = Field(default=2.0, gt=0, description="Events per second in the long run; 50 at once.")

    record: Path | None = Field(
        default=None,
        description="Append what each round saw and decided to this file, as JSON lines (gzip where it ends in .gz): "
        "`slackwater replay` decides the same again. Some 100 kB per round and thousand held pods.",
    )

    lease_seconds: int = Field(
        default=8,
        ge=5,
        le=300,
        description="A dead leader is replaced after this time; one that is told to stop, at once.",
    )
    lead_alone: bool = Field(default=False, description="Lead without a Lease. For one replica in tests only.")
    health_port: int = Field(default=8090, ge=0, le=65535, description="/healthz; 0 switches it off.")
    metrics_port: int = Field(default=9090, ge=0, le=65535, description="/metrics; 0 switches it off.")
    host: str = Field(default="0.0.0.0", description="Address of both; in a pod the kubelet asks from outside.")  # noqa: S104
    log_format: Annotated[str, Field(pattern="^(json|console)$")] = Field(
        default="json", description="json or console."
    )
    log_level: Annotated[str, Field(pattern="^(debug|info|warning|error)$")] = Field(
        default="info", description="Least level."
    )


def load(arguments: Sequence[str]) -> Settings:
    """Read flags and environment; what is wrong is told with its name and what to write."""
    with refusing("operator"):
        return Settings(_cli_settings_source=flags(Settings, arguments))  # pyright: ignore[reportCallIssue]
