"""A cluster that lives on the chart of commit 639cd46, with its custom resources in use, is upgraded and rolled back.

The real helm installs the recorded chart (`tests/chart/earlier.tgz`). Owners apply manifests of that version, apps come
and are held. Then helm upgrades to this chart with the values of the release, and the programs of this version take
over what is there.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest
import yaml

from slackwater_lab.controlplane.chart import kubectl
from slackwater_lab.controlplane.schedulers import Extender
from slackwater_lab.lab import Lab
from slackwater_lab.plan import Plan
from slackwater_lab.programs.build import missing
from support.lab.chart import CHART, EARLIER, NAMESPACE, call
from support.lab.hooks import Standin
from support.lab.session import CUSTOM, PODS, Answer, Kube, until

pytestmark = pytest.mark.lab

Object = dict[str, Any]
GATE = "slackwater.io/admission"
KIND = {"apiVersion": "slackwater.io/v1alpha1"}
# What owners wrote then, every field that their version knew among them.
OWNED: tuple[Object, ...] = (
    {
        **KIND,
        "kind": "SlackPolicy",
        "metadata": {"name": "thrifty"},
        "spec": {
            "mode": "enforce",
            "ceiling": {"cpuPercent": 400, "memoryPercent": 200},
            "taskLabels": [{"key": "house/part", "values": ["worker"]}],
        },
    },
    {
        **KIND,
        "kind": "AdmissionQueue",
        "metadata": {"name": "night"},
        "spec": {"namespaces": ["night"], "order": "fair"},
    },
    {
        **KIND,
        "kind": "ReservationPool",
        "metadata": {"name": "night"},
        "spec": {"queue": "night", "theta": 0.25, "smoothingSeconds": 30},
    },
)
PLURALS = {"SlackPolicy": "slackpolicies", "AdmissionQueue": "admissionqueues", "ReservationPool": "reservationpools"}
# Namespaces with the policy that each names: none, one that its owner made by hand, and the default by its name.
NAMESPACES = {"day": "", "night": "thrifty", "spelt": "default"}
VALUES = "--set=policy.spec.mode=enforce,pool.spec.smoothingSeconds=15,hooks.leave.waitSeconds=3"
TASKS = 4
# What a task of 400m gets under the ceiling of its namespace's policy.
LOWERED = {"day": "200m", "night": "100m", "spelt": "200m"}
BINDINGS = ("slackwater-pods-others", "slackwater-policy-default")
Tell = Callable[[str], None]


class Release:
    """Helm at work on the lab."""

    def __init__(self, lab: Lab) -> None:
        self._options = ("--namespace", NAMESPACE, "--kubeconfig", str(lab.site.kubeconfig))

    def must(self, verb: str, *arguments: str) -> str:
        """`helm VERB slackwater …`, which must succeed."""
        done = call(verb, "slackwater", *arguments, *self._options, seconds=240)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A lab of its own without our programs, stopped afterwards."""
    plan = Plan(frozenset({"kwok", "scheduler"}), nodes=3)
    if missing([*plan.programs(), "helm"]):
        pytest.skip("the lab's programs are not built; run: python -m slackwater_lab build")
    with Lab.start("earlier-chart", parts=plan.parts, nodes=plan.nodes) as started:
        yield started


@pytest.fixture(scope="module")
def kube(lab: Lab) -> Iterator[Kube]:
    """An administrator's session."""
    with Kube(lab.site) as session:
        yield session


class Onlooker:
    """Somebody who creates tasks all the time, as a dry run, and notes what becomes of them in each namespace."""

    def __init__(self, lab: Lab) -> None:
        self._lab, self._over = lab, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.seen: Counter[str] = Counter()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.wait(4)  # an API server sees the last change within three seconds
        self._over.set()
        self._thread.join(30)

    def _look(self) -> None:
        with Kube(self._lab.site) as kube:
            while not self._over.wait(0.05):
                for namespace, lowered in LOWERED.items():
                    made = kube.post(
                        f"{PODS.format(namespace)}?dryRun=All", pod("seen", {"slackwater.io/role": "task"})
                    )
                    self.seen[_became(made, lowered)] += 1


def _became(made: Answer, lowered: str) -> str:
    if not made.ok:
        return "refused"
    cpu = made.body["spec"]["containers"][0]["resources"]["requests"]["cpu"]
    held = gates(made.body) == [GATE]
    return {("400m", False): "not held", (lowered, True): "held"}.get((cpu, held), f"held: {held}, cpu: {cpu}")


def apply_owned(lab: Lab, folder: Path) -> str:
    """What an owner does: `kubectl apply` of the manifests, which refuses a field that it does not know."""
    path = folder / "owned.yaml"
    path.write_text(yaml.safe_dump_all(OWNED), encoding="utf-8")
    return kubectl(lab.site, "apply", "-f", str(path))


def app(name: str, **labels: str) -> list[Object]:
    """A driver and its tasks, each running for two seconds."""
    roles = {f"{name}-driver": "driver", **{f"{name}-{number}": "task" for number in range(TASKS)}}
    return [
        pod(each, {"slackwater.io/app": name, "slackwater.io/role": role, **labels}) for each, role in roles.items()
    ]


def pod(name: str, labels: dict[str, str]) -> Object:
    """A pod of an app."""
    requests = {"cpu": "400m", "memory": "400Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels, "annotations": {"slackwater.io/lab-duration": "2"}},
        "spec": {
            "restartPolicy": "Never",
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}],
        },
    }


def create(kube: Kube, name: str) -> None:
    """An app in each namespace."""
    for namespace in NAMESPACES:
        for body in app(name):
            answer = kube.post(PODS.format(namespace), body)
            assert answer.ok, answer.message


def until_held(kube: Kube) -> None:
    """Wait until new pods are held in every namespace: an API server learns of policies some time after."""

    def held(namespace: str) -> bool:
        made = kube.post(f"{PODS.format(namespace)}?dryRun=All", pod("probe", {}))
        return made.ok and gates(made.body) == [GATE]

    for namespace in NAMESPACES:
        until(lambda where=namespace: held(where), 60)  # type: ignore[misc]  # mypy infers no type of a default


def gates(body: Object) -> list[str]:
    """The gates of a pod."""
    return [gate["name"] for gate in body["spec"].get("schedulingGates", [])]


def sealed(kube: Kube, name: str) -> dict[str, Object]:
    """What holds for each pod of an app: requests, scheduler, gates and our annotations, by namespace and pod."""
    found = {}
    for namespace in NAMESPACES:
        for body in kube.get(PODS.format(namespace), labelSelector=f"slackwater.io/app={name}").body["items"]:
            notes = body["metadata"]["annotations"]
            found[f"{namespace}/{body['metadata']['name'].removeprefix(name)}"] = {
                "requests": body["spec"]["containers"][0]["resources"]["requests"],
                "scheduler": body["spec"]["schedulerName"],
                "gates": gates(body),
                **{key: notes[key] for key in notes if key.startswith("slackwater.io/") and "reason" not in key},
            }
    return found


def specs(kube: Kube) -> dict[str, Object]:
    """The specs of all our objects, by kind and name."""
    return {
        f"{plural}/{body['metadata']['name']}": body["spec"]
        for plural in PLURALS.values()
        for body in kube.get(f"{CUSTOM}/{plural}").body["items"]
    }


def test_a_cluster_on_the_earlier_chart_is_upgraded_with_all_that_is_in_use(
    lab: Lab, kube: Kube, tmp_path: Path, tell: Tell
) -> None:
    """Held pods go on, objects keep their meaning, owners' manifests are still accepted; and a rollback is no trap."""
    release = Release(lab)
    release.must("install", str(EARLIER), "--create-namespace", VALUES)
    apply_owned(lab, tmp_path)
    for namespace, policy in NAMESPACES.items():
        label = {"slackwater_io__policy": policy} if policy else {}
        kube.namespace(namespace, slackwater_io__managed="true", **label)
    until_held(kube)
    create(kube, "before")
    before, written = sealed(kube, "before"), specs(kube)
    assert {tuple(each["gates"]) for each in before.values()} == {(GATE,)}

    with Standin(lab.site, tmp_path / "hooks") as hooks:
        with Onlooker(lab) as onlooker:
            release.must("upgrade", str(CHART), "--reuse-values", "--wait", "--timeout=120s")
        tell(f"tasks created during the upgrade: {dict(onlooker.seen)}")
        assert set(onlooker.seen) <= {"held", "not held"}, "none is refused, none is lowered twice"
        assert "up to date" in hooks.said["slackwater-definitions"]
        assert sealed(kube, "before") == before
        assert all(kept(spec, specs(kube)[name]) for name, spec in written.items())
        assert "refused" not in apply_owned(lab, tmp_path)
        create(kube, "after")
        assert sealed(kube, "after") == before, "what a namespace's pods get did not change"

        start_programs(lab)
        until_done(kube)

        kubectl(lab.site, "delete", "mutatingadmissionpolicybinding", *BINDINGS)
        with Onlooker(lab) as onlooker:
            release.must("rollback", "1", "--wait", "--timeout=120s")
        tell(f"tasks created during the rollback: {dict(onlooker.seen)}")
        assert set(onlooker.seen) <= {"held", "not held", "refused"}, "none is lowered twice"
        back(lab, kube, before, tmp_path)


def kept(before: Object, after: Object) -> bool:
    """Whether everything that was said is still said."""
    return all(
        kept(value, after[key]) if isinstance(value, dict) and value else after.get(key) == value
        for key, value in before.items()
    )


def start_programs(lab: Lab) -> None:
    """Extender, scheduler and operator of this version, with the accounts and rights of the release."""
    lab.restart("extender")
    lab.call_extender(Extender(lab.site.url("extender")))
    lab.restart("operator")


def until_done(kube: Kube) -> None:
    """All pods of every namespace have run to their end: nothing is stranded."""

    def unfinished() -> dict[str, str]:
        return {
            f"{namespace}/{body['metadata']['name']}": f"{gates(body)} {body['status'].get('phase')}"
            for namespace in NAMESPACES
            for body in kube.get(PODS.format(namespace)).body["items"]
            if body["status"].get("phase") != "Succeeded"
        }

    end = time.monotonic() + 180
    while left := unfinished():
        assert time.monotonic() < end, left
        time.sleep(1)


def back(lab: Lab, kube: Kube, before: dict[str, Object], folder: Path) -> None:
    """Rolled back, the earlier policies act as they did; the programs of this version still free what they hold."""
    until_held(kube)
    apply_owned(lab, folder)
    create(kube, "back")
    until(lambda: len(sealed(kube, "back")) == len(before), 10)
    shown = sealed(kube, "back")
    for each in (*shown.values(), *before.values()):
        each.pop("gates")  # the operator may have lifted them already
    assert shown == before
    until_done(kube)
