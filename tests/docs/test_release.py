"""One version for programs, image and chart, and the programs show it; what a release is put together from."""

from __future__ import annotations

import importlib
import importlib.util
import re
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from slackwater import __version__
from slackwater_cli.main import app
from slackwater_extender.components import assemble
from slackwater_extender.settings import Settings
from slackwater_lab.programs.artefacts import notes, with_image
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


def test_what_is_released_is_what_make_package_tried_out() -> None:
    """The workflow builds nothing of its own: it calls the command that anybody can run, and pushes its results."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yaml").read_text(encoding="utf-8"))["jobs"]
    made, pushed = (
        [step.get("run", step.get("uses", "")) for step in jobs[name]["steps"]] for name in ("package", "publish")
    )
    assert made[-2] == "make package"
    assert "upload-artifact" in made[-1]
    assert "download-artifact" in pushed[0]
    assert jobs["package"]["steps"][-1]["with"]["path"] == jobs["publish"]["steps"][0]["with"]["path"] == "dist"
    assert len([line for line in pushed if re.search(r"push dist|pypi-publish|gh release", line)]) == 3
    assert not any("build" in line for line in [*made, *pushed])


def test_the_pages_are_published_once_no_link_is_broken() -> None:
    """By the same command that every submission runs."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yaml").read_text(encoding="utf-8"))
    lines = [step.get("run", "") for step in workflow["jobs"]["documentation"]["steps"]]
    assert lines.index("make docs") == len(lines) - 2
    published = workflow["jobs"]["pages"]
    assert "documentation" in published["needs"]
    assert "gh-pages" in published["steps"][-1]["run"]


def test_notes_are_the_changelog_of_the_version() -> None:
    """Before the heading of the version is written, what is not released yet."""
    text = "# Changes\n\n## Unreleased\n- new\n\n## 0.2.0 - 2026-12-01\n- old\n\n## 0.1.0\n- older\n"
    assert notes(text, "0.2.0") == "- old\n"
    assert notes(text, "0.1.0") == "- older\n"
    assert notes(text, "0.3.0") == "- new\n"


def test_the_published_chart_asks_for_the_published_image() -> None:
    """Nobody has to name it; a chart packaged by hand stays as it is."""
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    image = yaml.safe_load(with_image(text, "ghcr.io/owner/slackwater"))["image"]
    assert (image["registry"], image["repository"]) == ("ghcr.io/owner", "slackwater")
    assert with_image(text, "") == text


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_packages_describe_themselves_in_words_that_every_uploader_knows(kind: str) -> None:
    """The release workflow's knows the fields of 2.4, and refuses a newer version whatever is in it."""
    pytest.importorskip("hatchling")
    builder: Any = importlib.import_module(f"hatchling.builders.{kind}")
    made = getattr(builder, {"wheel": "WheelBuilder", "sdist": "SdistBuilder"}[kind])(str(ROOT))
    said = made.config.core_metadata_constructor(made.metadata)
    assert said.startswith("Metadata-Version: 2.4\nName: slackwater\n")


@pytest.mark.parametrize(
    ("address", "link", "picture"),
    [
        ("", "see page, below", ""),
        (
            "https://example.org/o/p",
            "see [page](https://example.org/o/p/blob/v1/docs/a.md), below",
            "![Drawn](https://example.org/o/p/raw/v1/docs/b.svg)\n\n",
        ),
    ],
    ids=["no address", "an address"],
)
def test_links_of_the_package_s_description_lead_somewhere_or_are_words(address: str, link: str, picture: str) -> None:
    """The index shows README.md alone: a path in it must not lead nowhere."""
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    readme = "see [page](docs/a.md), [below](#there)\n\n![Drawn](docs/b.svg)\n\n[out](https://example.com)\n"
    assert module.description(readme, address, "v1") == f"{link}\n\n{picture}[out](https://example.com)\n"
