"""One week in one real Prometheus for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.builders.assessed import Week, assessed
from support.builders.weeks import TOOLS, openmetrics, prometheus, week


@pytest.fixture(scope="session")
def served_week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Week]:
    """A week of three nodes, three web pods and fourteen Spark jobs."""
    if not TOOLS:
        pytest.skip("prometheus and promtool are not installed")
    raw = week()
    with prometheus(tmp_path_factory.mktemp("prometheus"), openmetrics(raw)) as url:
        yield assessed(raw, url, tmp_path_factory.mktemp("cache"))
