"""One version for programs, image and chart, and the programs show it."""

from __future__ import annotations

import re

import yaml
from typer.testing import CliRunner

from slackwater import __version__
from slackwater_cli.main import app
from slackwater_extender.components import assemble
from slackwater_extender.settings import Settings
from support.lab.chart import CHART, ROOT


def test_chart_and_image_have_the_version_of_the_programs() -> None:
    """A release is one number."""
    about = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    image = re.search(r"^ARG VERSION=(\S+)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert image
    assert (about["version"], about["appVersion"], image[1]) == (__version__,) * 3


def test_the_command_line_says_its_version() -> None:
    """`slackwater --version`."""
    assert CliRunner().invoke(app, ["--version"]).stdout == f"slackwater {__version__}\n"


def test_the_extender_s_metrics_carry_the_version() -> None:
    """As a label of a series that is always 1."""
    registry = assemble(Settings()).metrics.registry
    assert registry.get_sample_value("slackwater_extender_build_info", {"version": __version__}) == 1


def test_the_changelog_begins_with_what_is_not_released_yet() -> None:
    """Its first section is the one that new lines go into."""
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == "Unreleased" or headings[0].startswith(__version__)
