"""Whole Kubernetes objects, mutated: what a tenant, a broken controller or a bad disk could put before us. Seeded."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

from slackwater_cluster import names
from support.builders.longtexts import enlarged

LARGE = 0.04  # how many objects have something long, too: a dozen in a batch

LONG = 4301  # digits that int() refuses
WORDS: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e308,
    "", " ", "0", "-1", "1", "NaN", "inf", "1e400", "1e-400", "500m", "3Gi", "9" * LONG, "1" * 100_000, "x" * 300,
    "a,b,c", ",,,", "s0,s1", "../../pods?watch=true", ".", "..", "./v1", "batch/v1", "v1",
    "\n", "victim\n", "\x00", "é", "\ud7ff",
    "true", "strict", "driver", "task", "100/100", "200/150", "99900/99900",
    "slackwater", "default-scheduler", names.GATE,
    "Pending", "Running", "Succeeded", "Failed", "Pod", "Job", "node-0", "2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z", "not a date",
    [], {}, [None], [[]], [{}], {"": ""}, {"cpu": "1e400"}, {"cpu": -1}, {"a": {"b": {}}},
)  # fmt: skip
OURS = (
    names.APP, names.ROLE, names.STAGE, names.PARENTS, names.DAG, names.ITERATIVE, names.GANG, names.TASKS,
    names.TASK_CPU, names.TASK_MEMORY, names.PAUSE, names.REASON, names.PARKED, names.OUTPUT, *names.SEALED,
    "spark-app-selector", "spark-role", "ray.io/cluster", "ray.io/node-type", "batch.kubernetes.io/job-name",
    "yunikorn.apache.org/app-id", "kueue.x-k8s.io/pod-group-name", "jobset.sigs.k8s.io/jobset-name",
)  # fmt: skip


class Chance(Random):
    """What a batch draws from. Sizes have a source of their own, so that what else a seed means stays as it was."""

    def __init__(self, seed: int, *, plain: bool = False) -> None:
        super().__init__(seed)
        self.sizes, self.plain = Random(~seed), plain


def pod(rng: Random, number: int, *, whole: bool = False) -> dict[str, Any]:
    """A plausible pod of one of a few apps, in one of its states; a whole one says all that pods may say of nodes."""
    bound = rng.random() < 0.4
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": f"j{rng.randrange(3)}", "uid": f"j{rng.randrange(3)}"}
    return {
        "metadata": {
            "name": f"p{number}",
            "namespace": "team" if whole else rng.choice(("team", "other", "plain")),
            "uid": f"u{number}",
            "resourceVersion": str(number),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {
                names.APP: f"a{rng.randrange(4)}",
                names.ROLE: rng.choice(("task", "driver")),
                names.STAGE: "s0",
            },
            "annotations": {
                names.TASKS: "4",
                names.PARENTS: "s0",
                names.ADMITTED_ROLE: "task",
                names.SHRUNK: "200/150",
            },
            "ownerReferences": [owner] if rng.random() < 0.5 or whole else [],
        },
        "spec": {
            "schedulerName": names.SCHEDULER,
            "schedulingGates": [] if bound else [{"name": names.GATE}],
            "nodeName": "node-0" if bound else "",
            "priority": 0,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}],
            "initContainers": [{"name": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1m"}}}],
            "nodeSelector": {"zone": "a"} if rng.random() < 0.1 or whole else {},
            **({"affinity": _affinity()} if whole else {}),
            "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
        },
        "status": {
            "phase": rng.choice(("Pending", "Running", "Succeeded", "Failed")),
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
            "containerStatuses": [{"name": "c", "state": {"running": {"startedAt": "2026-01-01T00:00:01Z"}}}],
        },
    }


def _affinity() -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    field = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-0"]}]}
    number = {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["4"]}]}
    return {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term, number, field]}}
    }


def node(rng: Random, number: int) -> dict[str, Any]:
    """A plausible node."""
    amounts = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    return {
        "metadata": {
            "name": f"node-{rng.randrange(3)}",
            "uid": f"n{number}",
            "resourceVersion": str(number),
            "labels": {},
        },
        "spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
        "status": {
            "capacity": dict(amounts),
            "allocatable": dict(amounts),
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def custom(rng: Random, number: int) -> tuple[str, dict[str, Any]]:
    """A plausible custom resource of one of our kinds, and the kind."""
    kind = rng.choice(("SlackPolicy", "AdmissionQueue", "ReservationPool"))
    specs: dict[str, dict[str, Any]] = {
        "SlackPolicy": {"mode": "enforce", "ceiling": {"cpuPercent": 200, "memoryPercent": 150}},
        "AdmissionQueue": {"order": "fifo", "namespaces": ["team"], "weights": {"team": 1}, "nodeSelector": {}},
        "ReservationPool": {"queue": "default", "delta": {"initial": 0.1}},
    }
    meta = {"name": rng.choice(("default", "extra")), "uid": f"c{number}", "resourceVersion": str(number)}
    return kind, {"metadata": meta, "spec": specs[kind], "status": {"delta": 0.1}}


def mutated(rng: Chance, body: dict[str, Any]) -> dict[str, Any]:
    """The object with a few of its values, keys and list entries replaced, dropped, doubled, added or made long."""
    changed = copy.deepcopy(body)
    if rng.plain:
        return changed
    for _ in range(rng.randrange(4)):
        _mutate(rng, changed)
    if rng.random() < 0.5:
        where = rng.choice(("labels", "annotations"))
        meta = changed.get("metadata")
        strings = meta.get(where) if isinstance(meta, dict) else None
        if isinstance(strings, dict):
            strings[rng.choice(OURS)] = rng.choice([word for word in WORDS if isinstance(word, str)])
    return enlarged(rng.sizes, changed, OURS) if rng.sizes.random() < LARGE else changed


def _mutate(rng: Random, value: Any) -> None:
    """One change somewhere below a dict or list."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(value[key], dict | list) and value[key] and rng.random() < 0.8:
            value = value[key]
            continue
        if rng.random() < 0.15:
            del value[key]
        elif isinstance(value, list) and rng.random() < 0.2:
            value.extend(copy.deepcopy(value) * rng.choice((1, 50)))
        else:
            value[key] = copy.deepcopy(rng.choice(WORDS))
        return
