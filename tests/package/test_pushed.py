"""The push, as the release workflow types it, to a registry on this machine; and the chart rendered from there."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from slackwater import __version__
from support.lab.chart import CHART, NAMESPACE, ROOT, call, settled
from support.lab.registry import OWNER, crane, push_chart, registry

pytestmark = pytest.mark.package


@dataclass(frozen=True, slots=True)
class Pushed:
    """A registry that holds the chart."""

    registry: str
    said: str

    @property
    def chart(self) -> str:
        """Where helm finds it."""
        return f"oci://{self.registry}/{OWNER.lower()}/charts/slackwater"

    def helm(self, *line: str) -> str:
        """What helm says to a line that must succeed."""
        done = call(*line, "--version", __version__, "--plain-http")
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def pushed(chart: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pushed]:
    """The workflow's step, whole."""
    with registry(tmp_path_factory.mktemp("registry")) as address:
        yield Pushed(address, push_chart(chart.parents[2], address))


def test_the_workflow_s_push_arrives(pushed: Pushed) -> None:
    """Under the owner's name in small letters, as the version of the programs."""
    place = pushed.chart.removeprefix("oci://")
    assert f"Pushed: {place}:{__version__}" in pushed.said
    assert subprocess.run([crane(), "ls", place], capture_output=True, text=True, check=True).stdout.split() == [
        __version__
    ]


def test_what_is_pulled_is_what_was_packaged(pushed: Pushed, chart: Path, tmp_path: Path) -> None:
    """Byte for byte."""
    pushed.helm("pull", pushed.chart, "--destination", str(tmp_path))
    (pulled,) = tmp_path.iterdir()
    assert pulled.read_bytes() == chart.read_bytes()


def test_the_chart_renders_from_the_registry_as_from_its_folder(pushed: Pushed) -> None:
    """What `helm install slackwater oci://…` would install; only the image may be another."""
    options = ("--namespace", NAMESPACE, "--kube-version", "1.36.0", "--include-crds", "--set=policy.spec.mode=enforce")
    image = ("--set", "image.registry=", "--set", "image.repository=slackwater")
    folder = call("template", "slackwater", str(CHART), *options, *image)
    assert folder.returncode == 0, folder.stderr
    assert settled(pushed.helm("template", "slackwater", pushed.chart, *options, *image)) == settled(folder.stdout)


def test_the_line_of_the_page_finds_the_chart(pushed: Pushed) -> None:
    """As it stands there, but for registry and cluster: it renders what it would install."""
    page = (ROOT / "docs" / "install" / "index.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^helm install (.*?[^\\])$", page, re.MULTILINE | re.DOTALL)
    told = line.replace("\\\n", " ").replace("$PROMETHEUS_IN_CLUSTER", "http://prometheus.monitoring.svc")
    words = shlex.split(told.replace("ghcr.io/OWNER", f"{pushed.registry}/{OWNER.lower()}"))
    done = call("template", *words, "--kube-version", "1.36.0", "--plain-http")
    assert done.returncode == 0, done.stderr
    assert f"slackwater:{__version__}" in done.stdout
