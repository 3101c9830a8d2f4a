"""What is built from, is named exactly: packages by hash, actions and base image by digest."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

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
    (first, check), *others = workflow["jobs"].items()
    assert "The tag is the version" in [step.get("name") for step in check["steps"]]
    before = {first: set[str]()}
    for name, job in others:
        needs = [job["needs"]] if isinstance(job["needs"], str) else job["needs"]
        before[name] = {*needs, *(each for need in needs for each in before[need])}
        assert first in before[name]
    assert before["publish"] == {first, "image", "package"}


def test_what_others_wrote_runs_in_no_job_that_may_publish() -> None:
    """One of a hundred packages that build, test and document would have the right to sign and to push as well."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yaml").read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    jobs = workflow["jobs"].items()
    writers = {name: job for name, job in jobs if "write" in (job.get("permissions") or {}).values()}
    assert set(writers) == {"image", "publish", "pages"}
    runs = "\n".join(step.get("run", "") for job in writers.values() for step in job["steps"])
    assert not re.search(r"\b(pip|make|pytest|mkdocs|go|npm|python3? -m)\b", runs)
    for name, job in workflow["jobs"].items():
        kept = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout")]
        assert all(step["with"]["persist-credentials"] is False for step in kept), name


@pytest.fixture(scope="module")
def audit() -> Any:
    """The command, as it lies beside the lists."""
    spec = importlib.util.spec_from_file_location("audit", ROOT / "image" / "audit.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def index(path: str) -> Any:
    """An index that tells of some versions themselves, and of others as the latest ones alone."""
    bad, gone = {"id": "PYSEC-1", "withdrawn": None}, {"id": "PYSEC-2", "withdrawn": "2026-01-01T00:00:00Z"}
    return {
        "bad/1/json": {"vulnerabilities": [bad, gone]},
        "good/1/json": {"vulnerabilities": []},
        "latest/json": {"info": {"version": "1"}, "vulnerabilities": [bad]},
        "older/json": {"info": {"version": "2"}, "vulnerabilities": []},
    }.get(path)


@pytest.mark.parametrize(
    ("name", "advisories"),
    [("bad", ("PYSEC-1",)), ("good", ()), ("latest", ("PYSEC-1",)), ("older", None), ("unheard-of", None)],
)
def test_advisories_are_those_of_the_pinned_version(audit: Any, name: str, advisories: tuple[str, ...] | None) -> None:
    """Those that were withdrawn do not count; of a version that nobody tells about nothing is said to be well."""
    assert audit.judged(name, "1", index).advisories == advisories


def test_every_package_of_the_image_is_looked_at(audit: Any) -> None:
    """As many as the lists name, and a line for each that is not well."""
    files = [ROOT / "image" / name for name in ("build.txt", "programs.txt")]
    found = audit.pins(*files)
    assert found
    assert set(found) == {
        name for file in files for name in re.findall(r"^([a-z0-9-]+)==", file.read_text(), re.MULTILINE)
    }
    lines = list(audit.told([audit.judged(name, "1", index) for name in ("bad", "good", "older")]))
    assert lines[-1] == "3 packages: 1 with advisories, 2 judged, 1 not"
    assert lines[0] == "bad 1: PYSEC-1"
    assert "older 1" in lines[1]
