"""Puts custom resources of other projects into a lab, from the files of their modules."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ApiClient
from slackwater_lab.controlplane.chart import kubectl
from slackwater_lab.processes.waiting import until
from slackwater_lab.site import Site


def install(site: Site, folder: Path, pattern: str = "*_*.yaml") -> None:
    """Apply every definition of a folder and wait until the API server serves them."""
    files = [f"--filename={path}" for path in sorted(folder.glob(pattern))]
    kubectl(site, "apply", "--server-side", *files)
    kubectl(site, "wait", "--for=condition=Established", "--timeout=60s", *files)


def namespace(api: ApiClient, name: str) -> None:
    """Make a namespace unless it is there."""
    api.create("/api/v1/namespaces", {"metadata": {"name": name}})


def create(api: ApiClient, path: str, body: Mapping[str, Any], patience: float = 60.0) -> None:
    """Create an object; its webhook may need some seconds until it answers."""
    problems: list[str] = []

    def done() -> bool:
        try:
            api.create(path, body)
        except Unavailable as problem:
            problems.append(str(problem))
            return False
        return True

    try:
        until(f"{body.get('kind', path)} is taken", done, patience, 0.5)
    except Unavailable as late:
        raise Unavailable(f"{late}: {problems[-1]}") from late
