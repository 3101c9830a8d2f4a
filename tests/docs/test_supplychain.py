"""What is built from, is named exactly: packages by hash, actions and base image by digest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from slackwater_lab.programs.requirements import versions, wanted
from support.lab.chart import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yaml"))


@pytest.mark.parametrize("file", ["build.txt", "programs.txt"])
def test_the_image_installs_what_the_project_needs_by_hash(file: str) -> None:
    """Every package of the extras and what it needs, in the version of constraints.txt, and nothing else."""
    text = (ROOT / "image" / file).read_text(encoding="utf-8")
    pins = re.findall(r"^([a-z0-9-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, re.MULTILINE)
    known = versions()
    assert {name: version for name, version, _ in pins} == {name: known[name] for name in wanted()[file]}
    assert text.count("==") == len(pins)


def test_the_dockerfile_takes_no_package_without_a_hash() -> None:
    """Neither to run nor to build; our own wheel is made there."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    installs = re.findall(r"pip (?:install|wheel) (.*)", text)
    assert len(installs) == 4
    assert all("--require-hashes" in each or "--no-deps" in each for each in installs)
    assert re.search(r"^ARG BASE=\S+@sha256:[0-9a-f]{64}$", text, re.MULTILINE)


def test_the_build_sees_every_file_that_the_dockerfile_copies() -> None:
    """What .dockerignore leaves out is not there to be copied."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = {word for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE) for word in line.split()[:-1]}
    shown = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert copied == {line.removeprefix("!") for line in shown if line.startswith("!")}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_named_by_commit(path: Path) -> None:
    """A tag can be moved."""
    text = path.read_text(encoding="utf-8")
    steps = [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
    used = [step["uses"] for step in steps if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", each) for each in used)


def test_nothing_is_pushed_before_the_tag_is_known_to_be_the_version() -> None:
    """An image that is pushed and signed under another version's name cannot be called back."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yaml").read_text(encoding="utf-8"))
    first, *others = workflow["jobs"].items()
    assert all(job["needs"] == first[0] for _, job in others)
    names = [step.get("name", "") for step in first[1]["steps"]]
    checked = names.index("The tag is the version")
    assert checked < names.index("Log in") < names.index("Build and push")
