"""How to reach one Prometheus (or Thanos, Mimir, VictoriaMetrics), as a group of settings."""

from __future__ import annotations

import math
from pathlib import Path

from pydantic import AnyHttpUrl, Field, SecretStr, field_validator

from slackwater_cluster.api.credentials import Credentials
from slackwater_cluster.prometheus.matchers import checked
from slackwater_cluster.prometheus.transport import QueryConnection
from slackwater_cluster.settings import Section


class Connection(Section):
    """Address and secrets. Files are read anew for each round, so that a rotated secret is used at once."""

    url: AnyHttpUrl | None = Field(default=None, description="Base URL; none: no samples, so no overcommit.")
    timeout: float = Field(
        default=4, gt=0, le=60, description="Seconds per query; below the heartbeat, or rounds pile up."
    )
    token_file: Path | None = Field(default=None, description="File with a bearer token, read anew for each round.")
    username: str = Field(default="", description="Basic auth.")
    password_file: Path | None = Field(default=None, description="File with the basic-auth password.")
    ca: Path | None = Field(default=None, description="PEM file of the CA that signed Prometheus's certificate.")
    insecure: bool = Field(default=False, description="Skip verification of that certificate.")
    tenant: str = Field(default="", description="X-Scope-OrgID for Mimir or Thanos.")
    headers: dict[str, SecretStr] = Field(default_factory=dict, description="Further headers.")
    matchers: dict[str, str] = Field(
        default_factory=dict,
        description="Labels of this cluster's series where Prometheus knows several clusters, such as cluster=prod; "
        "every selector of every query gets them, those of your own queries too.",
    )

    @field_validator("matchers")
    @classmethod
    def _labels(cls, given: dict[str, str]) -> dict[str, str]:
        return checked("prometheus.matchers", given)

    def query(self) -> QueryConnection:
        """The connection, for queries that are asked at every heartbeat anyway: at any pace, each once."""
        return QueryConnection(
            str(self.url or "http://127.0.0.1:9090").rstrip("/"),
            rate=math.inf,
            timeout=self.timeout,
            credentials=Credentials(self.token_file, self.username, self.password_file, self.ca, self.insecure),
            tenant=self.tenant,
            headers={name: value.get_secret_value() for name, value in self.headers.items()},
            tries=1,
            matchers=self.matchers,
        )
