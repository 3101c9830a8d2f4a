"""Node selector, affinity and taints, judged as kube-scheduler judges them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from slackwater_cluster.objects import wire
from slackwater_cluster.objects.records import ANYWHERE
from slackwater_cluster.pods import nodeterms
from slackwater_cluster.pods.nodefit import allows, in_time
from slackwater_cluster.watch import trim
from support.builders import objects

LABELS = {"pool": "batch", "cores": "16"}
TAINT = {"key": "batch", "value": "only", "effect": "NoSchedule"}


def judged(pod_spec: dict[str, Any], taints: list[dict[str, str]] | None = None) -> bool:
    node = objects.node("n1", labels=LABELS, spec={"taints": taints or []})
    constraints, _ = nodeterms.constraints(msgspec.convert(pod_spec, wire.PodSpec))
    return allows(constraints, trim.node(msgspec.convert(node, wire.Node)))


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def term(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        pytest.param({}, True, id="no-wish"),
        pytest.param({"nodeSelector": {"pool": "batch"}}, True, id="selector-matches"),
        pytest.param({"nodeSelector": {"pool": "web"}}, False, id="selector-differs"),
        pytest.param(affinity(term("pool", "In", "web", "batch")), True, id="in"),
        pytest.param(affinity(term("pool", "NotIn", "batch")), False, id="not-in"),
        pytest.param(affinity(term("zone", "NotIn", "a")), True, id="not-in-absent-key"),
        pytest.param(affinity(term("zone", "Exists")), False, id="exists"),
        pytest.param(affinity(term("zone", "DoesNotExist")), True, id="does-not-exist"),
        pytest.param(affinity(term("cores", "Gt", "8")), True, id="gt"),
        pytest.param(affinity(term("cores", "Lt", "8")), False, id="lt"),
        pytest.param(affinity(term("pool", "Gt", "8")), False, id="gt-of-words"),
        pytest.param(affinity(term("cores", "Gt", "1_0")), False, id="gt-of-what-kubernetes-reads-as-no-number"),
        pytest.param(affinity(term("cores", "Lt", "9" * 5000)), False, id="lt-of-more-than-64-bits"),
        pytest.param(affinity(term("pool", "Near", "8")), False, id="unknown-operator"),
        pytest.param(affinity(term("zone", "Exists"), term("pool", "Exists")), True, id="one-term-of-two"),
        pytest.param(affinity({}), False, id="empty-term-matches-nothing"),
        pytest.param(affinity(), False, id="no-terms-match-nothing"),
        pytest.param(
            affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}),
            True,
            id="by-name",
        ),
    ],
)
def test_labels_decide(spec: dict[str, Any], allowed: bool) -> None:
    """Selector and required affinity."""
    assert judged(spec) is allowed


@pytest.mark.parametrize(
    ("toleration", "allowed"),
    [
        pytest.param(None, False, id="none"),
        pytest.param({"key": "batch", "operator": "Exists"}, True, id="exists"),
        pytest.param({"operator": "Exists"}, True, id="everything"),
        pytest.param({"key": "batch", "value": "only"}, True, id="equal"),
        pytest.param({"key": "batch", "value": "other"}, False, id="other-value"),
        pytest.param({"key": "batch", "operator": "Exists", "effect": "NoExecute"}, False, id="other-effect"),
        pytest.param({"key": "web", "operator": "Exists"}, False, id="other-key"),
    ],
)
def test_taints_need_tolerations(toleration: dict[str, str] | None, allowed: bool) -> None:
    """A hard taint keeps out who does not tolerate it."""
    assert judged({"tolerations": [toleration] if toleration else []}, [TAINT]) is allowed


@pytest.mark.parametrize(
    ("operator", "bound", "allowed"),
    [
        ("Gt", "900", True),
        ("Gt", "950", False),
        ("Lt", "1000", True),
        ("Lt", "950", False),
        ("Gt", "many", False),
        ("Near", "7", True),
    ],
)
def test_tolerations_may_compare_numbers(operator: str, bound: str, allowed: bool) -> None:
    """As whole numbers, not as text; an operator that we do not know is left to the scheduler."""
    taint = {"key": "sla", "value": "950", "effect": "NoSchedule"}
    toleration = {"key": "sla", "operator": operator, "value": bound}
    assert judged({"tolerations": [toleration]}, [taint]) is allowed


def test_soft_taints_keep_nobody_out() -> None:
    """PreferNoSchedule is the scheduler's scoring business."""
    assert judged({}, [{**TAINT, "effect": "PreferNoSchedule"}])


@pytest.mark.parametrize(
    ("taint", "passes"),
    [("memory-pressure", True), ("unschedulable", False), ("not-ready", False), ("unreachable", False)],
)
def test_what_kubernetes_lifts_by_itself_keeps_nobody_out_for_good(taint: str, passes: bool) -> None:
    """A node that is lost may never come back, and nobody knows how long people keep one cordoned."""
    tainted = objects.node("n1", spec={"taints": [{"key": f"node.kubernetes.io/{taint}", "effect": "NoSchedule"}]})
    node = trim.node(msgspec.convert(tainted, wire.Node))
    assert not allows(ANYWHERE, node)
    assert allows(in_time(ANYWHERE), node) is passes
