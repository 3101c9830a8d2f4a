"""Renders the chart with the real helm binary."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
CHART = ROOT / "helm" / "slackwater"
NAMESPACE = "slackwater-system"
# The chart as it was at commit 639cd46: `git archive --prefix=slackwater/ 639cd46:helm/slackwater | gzip -9n`.
EARLIER = ROOT / "tests" / "chart" / "earlier.tgz"
POLICY_KIND = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"
# What helm knows of a cluster that it talks to; `helm template` knows nothing of the kind.
LIVE = ("--api-versions=v1/Pod", f"--api-versions={POLICY_KIND}")
# Where the lab keeps what it built, in a home; a helm on the path serves as well.
BUILT = Path(".cache") / "slackwater-lab" / "bin"
RENDERED = ROOT / ".pytest_cache" / "rendered"
DAY = 86_400.0  # seconds
# A program that lives half a second needs neither threads nor its garbage collected: a quarter less time.
SMALL = os.environ | {"GOMAXPROCS": "1", "GOGC": "off"}

Object = dict[str, Any]


def helm() -> str | None:
    """The helm binary, if there is one."""
    found = sorted((Path.home() / BUILT).glob("helm-v*"))
    return str(found[-1]) if found else shutil.which("helm")


def call(*arguments: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    """Run helm; the caller looks at what came of it.

    Where there is none, the test is skipped, whichever of its fixtures asked first.
    """
    program = helm()
    if program is None:
        pytest.skip("no helm binary; fetch it (make tools) or put helm on the path")
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, timeout=seconds, check=False, env=SMALL
    )


def template(version: str, *options: str, release: str = "slackwater") -> subprocess.CompletedProcess[str]:
    """`helm template` for one version of Kubernetes."""
    return call("template", release, str(CHART), "--namespace", NAMESPACE, "--kube-version", version, *options)


@cache
def text(version: str, *options: str) -> str:
    """What helm would install, as YAML; rendered once for all processes that test the same chart."""
    return _kept(f"{_digest(version, *options)}.yaml", lambda: _rendered(version, *options))


def _rendered(version: str, *options: str) -> str:
    done = template(version, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _kept(name: str, make: Callable[[], str]) -> str:
    """What was made under this name, by whichever process was first."""
    kept = RENDERED / name
    if kept.exists():
        return kept.read_text(encoding="utf-8")
    made = make()
    _make_place()
    with tempfile.NamedTemporaryFile("w", dir=RENDERED, delete=False, encoding="utf-8") as half:
        half.write(made)
    Path(half.name).replace(kept)  # whole or not at all
    return made


def _make_place() -> None:
    """Somewhere to keep renderings, without those of charts of other days."""
    RENDERED.mkdir(parents=True, exist_ok=True)
    for old in RENDERED.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process was first
            if time.time() - old.stat().st_mtime > DAY:
                old.unlink()


def _digest(*arguments: str) -> str:
    """Everything that a rendering depends on: the program, the chart's files, the arguments and files they name."""
    digest = hashlib.sha256(repr((helm(), arguments)).encode())
    for path in (*_files(), *(Path(each) for each in arguments if each.endswith(".yaml"))):
        digest.update(f"{path}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:32]


@cache
def _files() -> tuple[Path, ...]:
    return tuple(path for path in sorted(CHART.rglob("*")) if path.is_file())


def objects(version: str, *options: str) -> list[Object]:
    """What helm would install."""
    # Kept as JSON, which is read many times as quickly as YAML.
    found: list[Object] = json.loads(_kept(f"{_digest(version, *options)}.json", lambda: _parsed(version, *options)))
    return found


def _parsed(version: str, *options: str) -> str:
    # libyaml's loader: the plain one takes a second for a chart.
    return json.dumps([each for each in yaml.load_all(text(version, *options), Loader=yaml.CSafeLoader) if each])


def settled(text: str) -> list[object]:
    """The objects without what differs from one rendering to the next: a new certificate, and sums over it."""
    same = re.sub(r"LS0tLS1[A-Za-z0-9+/=]+|[0-9a-f]{64}", "", text)
    return list(yaml.load_all(same, yaml.CSafeLoader))


def named(items: list[Object], kind: str, name: str) -> Object:
    """The one object of this kind and name."""
    found = [each for each in items if each["kind"] == kind and each["metadata"]["name"] == name]
    assert len(found) == 1, f"{len(found)} objects {kind}/{name}"
    return found[0]


def pod_specs(items: list[Object]) -> dict[str, Object]:
    """The pod specification of every workload, by kind and name."""
    return {
        f"{each['kind']}/{each['metadata']['name']}": each["spec"]["template"]["spec"]
        for each in items
        if each["kind"] in ("Deployment", "Job")
    }
