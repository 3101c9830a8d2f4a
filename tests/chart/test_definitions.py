"""The hook before an upgrade: definitions are applied so that helm can apply others later."""

from __future__ import annotations

import asyncio
import importlib.util
from types import ModuleType
from urllib.parse import parse_qs, urlsplit

from slackwater_cluster.api.endpoint import Endpoint
from slackwater_cluster.api.session import Session
from support.fakes.httpcluster import Cluster, served
from support.lab.chart import CHART

SERVED = {"status": {"conditions": [{"type": "Established", "status": "True"}]}}


def hook() -> ModuleType:
    """The script, as the chart holds it."""
    spec = importlib.util.spec_from_file_location("definitions", CHART / "files" / "hooks" / "definitions.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_definitions_are_applied_in_the_name_of_helm() -> None:
    """Helm 4 applies crds/ at an install without force: fields of another manager would be a conflict then."""
    module = hook()
    definitions = module.read(CHART / "crds")
    with served(Cluster({f"{module.PATH}/{name}": SERVED for name in definitions})) as cluster:

        async def run() -> None:
            async with Session(Endpoint(cluster.url, False, dict)) as session:
                await module.bring(session, definitions)

        asyncio.run(run())
    asked = [urlsplit(path) for path, _, _ in cluster.patched]
    assert [each.path.rpartition("/")[2] for each in asked] == list(definitions)
    for each in asked:
        assert parse_qs(each.query) == {"fieldManager": ["helm"], "force": ["true"]}
