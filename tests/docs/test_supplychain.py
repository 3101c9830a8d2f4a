"""What is built from, is named exactly: packages by hash, actions and base image by digest."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import sys
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


def command(name: str) -> Any:
    """A command that lies beside the lists."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "image" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def audit() -> Any:
    """What judges versions."""
    return command("audit")


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


def test_the_bill_of_materials_names_each_file_that_the_image_may_install(capsys: pytest.CaptureFixture[str]) -> None:
    """As the release attests it, from the same list; the same list gives the same bill."""
    bom = command("bom")
    bills = []
    for _ in range(2):
        assert bom.main() == 0
        bills.append(capsys.readouterr().out)
    assert bills[0] == bills[1]
    told = json.loads(bills[0])
    assert (told["bomFormat"], told["specVersion"]) == ("CycloneDX", "1.6")
    pinned = versions()
    found = {each["name"]: each for each in told["components"]}
    assert {name: each["version"] for name, each in found.items()} == {
        name: pinned[name] for name in wanted()["programs.txt"]
    }
    hashes = [each["content"] for name in found for each in found[name]["externalReferences"][0]["hashes"]]
    assert hashes == re.findall(r"sha256:(\w+)", (ROOT / "image" / "programs.txt").read_text(encoding="utf-8"))
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", told["serialNumber"])


def test_a_changed_file_of_a_package_makes_another_bill() -> None:
    """A number of its own: nobody takes one bill for the other."""
    bom = command("bom")
    bills = [bom.bill("1", [bom.Package("a", "1", (digest * 64,))]) for digest in "ab"]
    assert bills[0]["serialNumber"] != bills[1]["serialNumber"]


def test_the_bill_that_a_release_signs_is_made_by_python_alone() -> None:
    """A package that came without a hash could write into it whatever it likes."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yaml").read_text(encoding="utf-8"))
    runs = [step["run"] for step in workflow["jobs"]["check"]["steps"] if "run" in step]
    assert "make bom" in runs
    assert not any("pip" in run for run in runs)
    tree = ast.parse((ROOT / "image" / "bom.py").read_text(encoding="utf-8"))
    used = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    used |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in used} <= sys.stdlib_module_names
