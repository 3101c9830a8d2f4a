"""One week in one real Prometheus for all tests of this folder, and templates that are compiled once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

from support.builders.assessed import Week, assessed
from support.builders.weeks import TOOLS, openmetrics, prometheus, week


class CompiledTemplates(BytecodeCache):
    """In memory: every dashboard has the same templates, and compiling them takes longer than all that is tested."""

    def __init__(self) -> None:
        self._known: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """What was compiled from the same source."""
        if bucket.key in self._known:
            bucket.bytecode_from_string(self._known[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled."""
        self._known[bucket.key] = bucket.bytecode_to_string()


@pytest.fixture(scope="session", autouse=True)
def _templates_compiled_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Flask, "jinja_options", {"bytecode_cache": CompiledTemplates()})
        yield


@pytest.fixture(scope="session")
def served_week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Week]:
    """A week of three nodes, three web pods and fourteen Spark jobs."""
    if not TOOLS:
        pytest.skip("prometheus and promtool are not installed")
    raw = week()
    with prometheus(tmp_path_factory.mktemp("prometheus"), openmetrics(raw)) as url:
        yield assessed(raw, url, tmp_path_factory.mktemp("cache"))
