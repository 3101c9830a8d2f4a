"""How fast held pods are released on a real control plane, beside what the same API server gives at all in that minute.

`SLACKWATER_SCALE_PODS=10000 pytest -m lab tests/operator/lab/test_scale.py -s` is the size the design speaks of.
"""

import asyncio
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from slackwater_cluster.endpoint import endpoint
from slackwater_cluster.session import STRATEGIC, Session

pytestmark = [pytest.mark.lab, pytest.mark.bench]

PODS = int(os.environ.get("SLACKWATER_SCALE_PODS", "600"))
PER_APP = 20
NAMESPACE = "scale"
WHERE = f"/api/v1/namespaces/{NAMESPACE}/pods"
UNGATE = {"spec": {"schedulingGates": [{"$patch": "delete", "name": "slackwater.io/admission"}]}}
METRICS = 24_990


def pod(name: str, app: str) -> dict[str, Any]:
    """A task of an app."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {"slackwater.io/app": app, "slackwater.io/role": "task"},
            "annotations": {"slackwater.io/lab-duration": "100000"},
        },
        "spec": {
            "restartPolicy": "Never",
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "m", "image": "none", "resources": {"requests": {"cpu": "50m", "memory": "8Mi"}}}],
        },
    }


async def _all(lab: Any, method: str, paths: list[str], bodies: list[Any], kind: str) -> float:
    """Write everything, sixteen at once; returns writes per second."""
    async with Session(endpoint(lab.site.kubeconfig), in_flight=16) as session:
        began = time.monotonic()
        writes = (session.write(method, p, b, content_type=kind) for p, b in zip(paths, bodies, strict=True))
        answers = await asyncio.gather(*writes)
        assert all(answer.ok for answer in answers), answers[0].message()
        return len(paths) / (time.monotonic() - began)


@pytest.fixture(scope="module")
def held(lab: Any, kube: Any) -> Iterator[float]:
    """Held pods of many apps; gives the rate at which plain gate removal of some others went just now."""
    policy = {"apiVersion": "slackwater.io/v1alpha1", "kind": "SlackPolicy", "metadata": {"name": "scale"}}
    assert kube.apply({**policy, "spec": {"mode": "enforce"}}, "/apis/slackwater.io/v1alpha1/slackpolicies").ok
    kube.namespace("slackwater-system")
    kube.namespace(NAMESPACE, slackwater_io__managed="true", slackwater_io__policy="scale")
    for _ in range(100):
        if "schedulingGates" in kube.post(f"{WHERE}?dryRun=All", pod("probe", "probe")).body.get("spec", {}):
            break
        time.sleep(0.2)
    sample = max(100, PODS // 10)
    plain = [pod(f"plain-{number}", "plain") for number in range(sample)]
    asyncio.run(_all(lab, "POST", [WHERE] * sample, plain, "application/json"))
    paths = [f"{WHERE}/plain-{number}" for number in range(sample)]
    rate = asyncio.run(_all(lab, "PATCH", paths, [UNGATE] * sample, STRATEGIC))
    bodies = [pod(f"p{number}", f"app{number // PER_APP}") for number in range(PODS)]
    asyncio.run(_all(lab, "POST", [WHERE] * PODS, bodies, "application/json"))
    yield rate
    kube.delete(f"/api/v1/namespaces/{NAMESPACE}")


def scraped(name: str) -> float:
    """The sum of one metric of the operator."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{METRICS}/metrics", timeout=5) as answer:
            text = answer.read().decode()
    except OSError:
        return 0.0
    return sum(float(value) for value in re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE))


@pytest.mark.timeout(1800)
def test_releases_are_bound_by_the_api_server(lab: Any, kube: Any, held: float) -> None:
    """Nominated releases (two writes) reach at least half the rate of plain gate removal (one write) just before."""
    settings = {
        "KUBECONFIG": str(lab.site.kubeconfig),
        "HOST": "127.0.0.1",
        "HEALTH_PORT": "0",
        "METRICS_PORT": str(METRICS),
        "EXTENDER_URL": lab.site.url("extender"),
        "LEAD_ALONE": "true",
    }
    environment = {**os.environ, **{f"SLACKWATER_OPERATOR_{key}": value for key, value in settings.items()}}
    process = subprocess.Popen([sys.executable, "-m", "slackwater_operator.main"], env=environment)
    try:
        rate, memory = _measure(process.pid)
    finally:
        process.terminate()
        process.wait(30)
    words = f"{PODS} pods: {rate:.0f} nominated releases/s, {held:.0f} gate removals/s, {memory:.0f} MB"
    sys.stdout.write(f"\n{words}\n")
    assert rate >= held / 2
    assert memory < 250


def _measure(pid: int) -> tuple[float, float]:
    """Releases per second from the first tenth to the last one, and resident memory in MB."""
    began, first = 0.0, 0.0
    while True:
        done = scraped("slackwater_operator_releases_total")
        if done >= PODS / 10 and not began:
            began, first = time.monotonic(), done
        if done >= PODS * 0.95:
            break
        time.sleep(0.1)
    rate = (done - first) / (time.monotonic() - began)
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:  # noqa: PTH123 - a file of the kernel
        memory = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    return rate, memory / 1024
