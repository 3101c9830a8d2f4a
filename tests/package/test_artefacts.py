"""Wheel and chart as they would be published: what they say of themselves and what is in them."""

from __future__ import annotations

import email
import re
import subprocess
import zipfile
from configparser import ConfigParser
from email.message import Message
from pathlib import Path

import pytest

from slackwater import __version__
from support.lab.chart import CHART, NAMESPACE, call, settled

pytestmark = pytest.mark.package
PACKAGES = {
    "slackwater",
    "slackwater_cli",
    "slackwater_cluster",
    "slackwater_extender",
    "slackwater_monitor",
    "slackwater_operator",
    "slackwater_simulator",
}


def inside(wheel: Path, ending: str) -> str:
    """A file of the wheel's own description."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(f"slackwater-{__version__}.dist-info/{ending}").decode()


@pytest.fixture
def metadata(wheel: Path) -> Message:
    """What the index will show."""
    return email.message_from_string(inside(wheel, "METADATA"))


def test_the_wheel_says_what_it_is(metadata: Message) -> None:
    """Name, version, licence, Pythons, that it has types, and what is optional."""
    assert (metadata["Name"], metadata["Version"]) == ("slackwater", __version__)
    assert metadata["Metadata-Version"] == "2.4"
    assert (metadata["License-Expression"], metadata["License-File"]) == ("Apache-2.0", "LICENSE")
    assert metadata["Description-Content-Type"] == "text/markdown"
    listed = metadata.get_all("Classifier") or []
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)} <= set(listed)
    assert "Typing :: Typed" in listed
    assert {"cluster", "extender", "operator", "monitor", "sim"} <= set(metadata.get_all("Provides-Extra") or [])


def test_no_link_of_the_description_leads_nowhere(metadata: Message) -> None:
    """On the index a path inside the project means nothing."""
    text = str(metadata.get_payload())
    assert "## Try it" in text
    assert [target for target in re.findall(r"\]\(([^)]+)\)", text) if not target.startswith("https://")] == []


def test_the_wheel_holds_our_packages_with_their_types_and_no_tests(wheel: Path) -> None:
    """Nothing of the lab or of the tests; py.typed in every package."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.partition("/")[0] for name in names}
    assert tops == {*PACKAGES, f"slackwater-{__version__}.dist-info"}
    assert {name.partition("/")[0] for name in names if name.endswith("/py.typed")} == PACKAGES


def test_every_program_has_its_command(wheel: Path) -> None:
    """The four programs, and the plug-in of kubectl."""
    points = ConfigParser()
    points.read_string(inside(wheel, "entry_points.txt"))
    programs = {"slackwater", "slackwater-extender", "slackwater-operator", "slackwater-monitor", "kubectl-slackwater"}
    assert set(points["console_scripts"]) == programs


def rendered(chart: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What helm would install from a chart."""
    line = ("slackwater", str(chart), "--namespace", NAMESPACE, "--kube-version", "1.36.0", *options)
    return call("template", *line)


def test_the_packaged_chart_is_clean(chart: Path) -> None:
    """Nothing is found in the packaged file by helm lint --strict."""
    done = call("lint", "--strict", str(chart))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_packaged_chart_installs_what_the_folder_installs(chart: Path) -> None:
    """Definitions and policies are in it, too; only the image may be another."""
    image = ("--set", "image.registry=", "--set", "image.repository=slackwater")
    values = ("policy.spec.mode=enforce", "monitor.enabled=true", "prometheus.url=http://prometheus.monitoring.svc")
    options = (*image, *(word for each in values for word in ("--set", each)), "--include-crds")
    packaged, folder = rendered(chart, *options), rendered(CHART, *options)
    assert packaged.returncode == 0, packaged.stderr
    assert packaged.stdout.count("kind: CustomResourceDefinition") >= 4
    assert settled(packaged.stdout) == settled(folder.stdout)
