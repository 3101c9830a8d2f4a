"""How fast held pods are released on a real control plane, beside what the same API server gives at all in that minute.

`SLACKWATER_SCALE_PODS=10000 pytest -m lab tests/operator/lab/test_scale.py -s` is the size the design speaks of.
"""

import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import psutil
import pytest

from slackwater_cluster.api.contenttypes import JSON, STRATEGIC

pytestmark = [pytest.mark.lab, pytest.mark.bench, pytest.mark.timeout(1800)]

PODS = int(os.environ.get("SLACKWATER_SCALE_PODS", "800"))
PER_APP = 20
PER_NODE = 280  # pods of 50m in the 14 of 16 cpu that the allowance leaves
NODES = max(2, PODS // 2 // PER_NODE)
ROOM = NODES * PER_NODE  # for half of the pods: the others wait for them to end
NAMESPACE = "scale"
WHERE = f"/api/v1/namespaces/{NAMESPACE}/pods"
METRICS = 24_990
RELEASES = "slackwater_operator_releases_total"
FREED = 100  # pods that end, ten a second, to see how fast others follow
REST = 20.0  # seconds without anything to do


@dataclass(frozen=True, slots=True)
class Scene:
    """A lab full of held pods, the operator that releases them, and the rate of plain gate removal just before."""

    lab: Any
    pid: int
    plain: float
    before: Counter[tuple[str, str]]


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """Held pods of many apps, all waiting; then the operator."""
    labs = pytest.importorskip("slackwater_lab.lab", reason="the lab is not installed here")
    builds = pytest.importorskip("slackwater_lab.programs.build")
    plans = pytest.importorskip("slackwater_lab.plan")
    parts = frozenset({"kwok", "slackwater-scheduler", "extender"})
    if builds.missing(plans.Plan(parts=parts).programs()):
        pytest.skip("the lab's programs are not built; run: python -m slackwater_lab build")
    from support.bench.heldpods import writes  # noqa: PLC0415 - needs the lab

    with labs.Lab.start("operator-scale", parts=parts, nodes=NODES) as lab:
        plain = _fill(lab)
        before = writes(lab)
        process = _operator(lab)
        try:
            yield Scene(lab, process.pid, plain, before)
        finally:
            process.terminate()
            process.wait(30)


def _fill(lab: Any) -> float:
    """A managed namespace full of held pods; returns the rate at which the gates of some others went."""
    from support.bench.heldpods import UNGATE, task, write_all  # noqa: PLC0415
    from support.lab.installing import install  # noqa: PLC0415 - needs the lab
    from support.lab.session import CUSTOM, Kube, until  # noqa: PLC0415

    with Kube(lab.site) as kube:
        install(kube, lab)
        policy = {"apiVersion": "slackwater.io/v1alpha1", "kind": "SlackPolicy", "metadata": {"name": "scale"}}
        assert kube.apply({**policy, "spec": {"mode": "enforce"}}, f"{CUSTOM}/slackpolicies").ok
        _queue(kube, nominate=True)
        kube.namespace("slackwater-system")
        kube.namespace(NAMESPACE, slackwater_io__managed="true", slackwater_io__policy="scale")
        probe = task("probe", "probe")
        until(lambda: "schedulingGates" in kube.post(f"{WHERE}?dryRun=All", probe).body.get("spec", {}))
    sample = max(100, PODS // 10)
    paths = [f"{WHERE}/plain-{number}" for number in range(sample)]
    write_all(lab, "POST", [WHERE] * sample, [task(f"plain-{number}", "plain") for number in range(sample)], JSON)
    plain = write_all(lab, "PATCH", paths, [UNGATE] * sample, STRATEGIC)
    write_all(lab, "DELETE", [f"{path}?gracePeriodSeconds=0" for path in paths], [{}] * sample, JSON)
    bodies = [task(f"p{number}", f"app{number // PER_APP}") for number in range(PODS)]
    made = write_all(lab, "POST", [WHERE] * PODS, bodies, JSON)
    say(f"{PODS} pods of {PODS // PER_APP} apps made ({made:.0f}/s) on {NODES} nodes with room for {ROOM}")
    return plain


def _queue(kube: Any, *, nominate: bool) -> None:
    queue = {"apiVersion": "slackwater.io/v1alpha1", "kind": "AdmissionQueue", "metadata": {"name": "default"}}
    body = {**queue, "spec": {"release": {"nominate": nominate}}}
    assert kube.apply(body, "/apis/slackwater.io/v1alpha1/admissionqueues").ok


def _operator(lab: Any) -> "subprocess.Popen[bytes]":
    settings = {
        "KUBECONFIG": str(lab.site.kubeconfig),
        "HOST": "127.0.0.1",
        "HEALTH_PORT": "0",
        "METRICS_PORT": str(METRICS),
        "EXTENDER_URL": lab.site.url("extender"),
        "REASON_RATE": "100",  # thousands stay held: their reasons are written before the rest begins
        "TRACK_RATE": "50",
    }
    environment = {**os.environ, **{f"SLACKWATER_OPERATOR_{key}": value for key, value in settings.items()}}
    with (lab.site.folder / "operator.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "slackwater_operator.main"], env=environment, stdout=log, stderr=log
        )


def say(words: str) -> None:
    """Tell whoever looks on."""
    sys.stdout.write(f"\n{words}\n")
    sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class Stretch:
    """Releases from one count to another: how fast, and CPU seconds of every process meanwhile."""

    rate: float
    still: float  # share of half seconds without a release
    count: float
    cpu: dict[str, float]

    def words(self, what: str) -> str:
        """For people: the rate, and what one release cost in milliseconds of CPU."""
        each = {name: 1000 * seconds / self.count for name, seconds in self.cpu.items()}
        costs = ", ".join(f"{name} {cost:.1f}" for name, cost in each.items() if cost >= 0.05)
        total = sum(each.values())
        return (
            f"{what}: {self.rate:.0f}/s, {self.still:.0%} of half seconds without one; CPU ms per release: {costs}; "
            f"{total:.1f} in all, so two cores give {2000 / total:.0f}/s at most and the operator alone "
            f"{1000 / each['operator']:.0f}/s"
        )


def _stretch(scene: Scene, begin: float, end: float) -> Stretch:
    """Watch the releases go from one count to another."""
    from support.bench.heldpods import Shares, scraped  # noqa: PLC0415 - needs the lab

    seen: list[tuple[float, float]] = []
    shares: Shares | None = None
    while not seen or seen[-1][1] < end:
        time.sleep(0.5)
        done = scraped(METRICS, RELEASES)
        if done >= begin:
            shares = shares or Shares.of(scene.lab, operator=scene.pid)
            seen.append((time.monotonic(), done))
    assert shares is not None
    span, count = seen[-1][0] - seen[0][0], seen[-1][1] - seen[0][1]
    still = sum(late[1] == early[1] for early, late in pairwise(seen)) / len(seen)
    return Stretch(count / span, still, count, {name: share * span for name, share in shares.taken().items()})


def test_releases_are_bound_by_the_api_server(scene: Scene) -> None:
    """Nominated releases (two writes) reach at least half the rate of gate removal alone in the same run."""
    from support.bench.heldpods import scraped, writes  # noqa: PLC0415
    from support.lab.session import Kube  # noqa: PLC0415 - needs the lab

    nominated = _stretch(scene, ROOM * 0.1, ROOM * 0.5)
    say(nominated.words("nominated releases"))
    with Kube(scene.lab.site) as kube:
        _queue(kube, nominate=False)
        gates = _stretch(scene, ROOM * 0.6, ROOM * 0.95)
        _queue(kube, nominate=True)
    say(gates.words("gate removal alone"))
    memory = psutil.Process(scene.pid).memory_info().rss / 2**20
    spent, done = writes(scene.lab) - scene.before, scraped(METRICS, RELEASES)
    say(f"{scene.plain:.0f} gate removals/s by a plain client before; operator {memory:.0f} MB")
    say(
        f"writes for {done:.0f} releases: "
        + ", ".join(f"{verb} {what} {n}" for (verb, what), n in spent.most_common(9))
    )
    assert nominated.rate >= gates.rate / 2
    assert memory < 250
    assert spent["PATCH", "pods"] <= done * 1.05


def test_room_that_becomes_free_is_given_away_at_once(scene: Scene) -> None:
    """With thousands waiting, pods end ten a second; the 95th percentile until the next gate goes is below 2 s."""
    from support.bench.heldpods import Witness, scraped  # noqa: PLC0415
    from support.lab.session import Kube, until  # noqa: PLC0415 - needs the lab

    until(lambda: scraped(METRICS, RELEASES) >= ROOM, 60)
    time.sleep(5)
    with Kube(scene.lab.site) as kube, Witness(scene.lab) as witness:
        running = kube.get(WHERE, fieldSelector="status.phase=Running", limit=str(FREED)).body["items"]
        began = time.monotonic()
        for number, each in enumerate(running):
            kube.delete(f"{WHERE}/{each['metadata']['name']}")
            time.sleep(max(0.0, began + (number + 1) / 10 - time.monotonic()))
        until(lambda: len(witness.lifted) >= len(running), 30)
        ended, lifted = sorted(witness.gone.values()), sorted(witness.lifted.values())
    lags = sorted(late - early for early, late in zip(ended, lifted, strict=True))
    p95 = statistics.quantiles(lags, n=20)[-1]
    say(f"from room to gate: median {statistics.median(lags):.2f} s, p95 {p95:.2f} s, longest {lags[-1]:.2f} s")
    assert p95 < 2


def test_at_rest_only_leases_are_written(scene: Scene) -> None:
    """Nothing moves any more: neither pods nor events nor custom resources are written."""
    from support.bench.heldpods import Shares, writes  # noqa: PLC0415 - needs the lab

    before = writes(scene.lab)
    for _ in range(20):  # until the last words are said
        time.sleep(12)
        now = writes(scene.lab)
        if not _moved(now - before):
            break
        before = now
    shares = Shares.of(scene.lab, operator=scene.pid)
    before, told = writes(scene.lab), _told(scene)
    time.sleep(REST)
    spent = writes(scene.lab) - before
    later = _told(scene)
    changed = {key: (told.get(key), later[key]) for key in later if told.get(key) != later[key]}
    say(f"what the queue's status says differently: {changed}")
    say(f"in {REST:.0f} s at rest: {dict(spent)}, operator {shares.taken()['operator']:.3f} cores")
    assert not _moved(spent)
    assert spent["PUT", "leases"]


def _told(scene: Scene) -> dict[str, Any]:
    """The queue's status."""
    from support.lab.session import CUSTOM, Kube  # noqa: PLC0415 - needs the lab

    with Kube(scene.lab.site) as kube:
        return dict(kube.get(f"{CUSTOM}/admissionqueues/default").body.get("status", {}))


def _moved(spent: Counter[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """What was written but for leases and what kwok writes about its nodes."""
    return {what: count for what, count in spent.items() if what[1] not in ("leases", "nodes", "nodes/status")}
