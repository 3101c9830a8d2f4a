"""A small cluster that serves, and commands run against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from slackwater_cli.main import app
from support.fakes.httpcluster import Cluster, served, usual


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A cluster that serves."""
    with served(usual()) as made:
        yield made


@pytest.fixture
def run(cluster: Cluster, tmp_path: Path) -> Callable[..., Result]:
    """Run a command against the cluster on a wide terminal; its exceptions are raised."""
    env = {"KUBECONFIG": str(cluster.kubeconfig(tmp_path)), "SLACKWATER_EXTENDER_URL": ""}

    def invoke(*arguments: str, columns: int = 300) -> Result:
        return CliRunner().invoke(app, list(arguments), env=env | {"COLUMNS": str(columns)}, catch_exceptions=False)

    return invoke
