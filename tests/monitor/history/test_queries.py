"""Every question is valid PromQL, in the words of the server it goes to."""

from __future__ import annotations

import pytest
from promql_parser import parse

from slackwater.errors import InvalidInput
from slackwater_cluster.frameworks import builtin
from slackwater_monitor.history.labels import METRICS, Names, choose, given, spelled
from slackwater_monitor.history.queries import questions, sanitised
from slackwater_monitor.sources import prometheus

USUAL = {"namespace": "a", "pod": "p", "container": "c", "node": "n"}
RENAMED = {"exported_namespace": "a", "exported_pod": "p", "exported_container": "c", "pod": "ksm", "instance": "i"}


@pytest.mark.parametrize("series", [USUAL, RENAMED, {"pod_name": "p", "container_name": "c", "namespace": "a"}])
def test_every_question_is_valid(series: dict[str, str]) -> None:
    """Whatever labels are called here."""
    present = {names[0] for names in METRICS.values()}
    metrics = choose(present)
    names = Names(metrics, {need: spelled(series, {}) for need in metrics})
    made = list(questions(names, builtin(), ("team",)))
    assert len(made) == 2 * 3 + len(METRICS) - 2  # three for CPU and memory each, one for everything else
    for question in made:
        parse(question.filled(300))


def test_nodes_belong_to_every_namespace() -> None:
    """The namespace on a metric about nodes is where the exporter runs: filtered by it, a cluster would have none."""
    metrics = choose({names[0] for names in METRICS.values()})
    names = Names(metrics, {need: spelled(USUAL, {}) for need in metrics})
    made = {question.name: question.promql for question in questions(names, builtin(), (), ("shop", "batch"))}
    assert {name for name, promql in made.items() if 'namespace=~"shop|batch"' not in promql} == {"allocatable"}


def test_queries_of_the_dashboard_are_valid() -> None:
    """With and without a namespace."""
    for use in prometheus.USE.values():
        parse(f"sum({use.replace('{more}', '')})")
        one = use.replace("{more}", ',namespace="a"')
        parse(f"sum by (pod) ({one})")
    parse(prometheus.REQUESTS.replace("{kind}", "cpu"))
    parse(prometheus.ALLOCATABLE.format(kind="cpu"))


def test_the_exporters_own_pod_is_not_mistaken_for_the_pod_it_speaks_of() -> None:
    """Where both labels are there, the exported one counts."""
    assert spelled(RENAMED, {})["pod"] == "exported_pod"
    assert spelled(RENAMED, {"pod": "pod"})["pod"] == "pod"


@pytest.mark.parametrize("text", ["pod", "pod=", "colour=red"])
def test_a_label_that_means_nothing_is_refused(text: str) -> None:
    """Naming the option."""
    with pytest.raises(InvalidInput, match="--label"):
        given([text])


def test_labels_are_spelled_as_kube_state_metrics_does() -> None:
    """Everything but letters and digits becomes an underscore."""
    assert sanitised("slackwater.io/role") == "label_slackwater_io_role"
