"""What is advised for each workload: requests, risk, YAML and kubectl, told apart by what it is."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from slackwater.errors import InvalidInput, UnknownName
from slackwater.estimation.efficiency import Usage
from slackwater_monitor.assessment.advice import Advice, advise
from slackwater_monitor.assessment.assessment import Assessment
from slackwater_monitor.assessment.owners import Member
from slackwater_monitor.assessment.pods import PodHistory
from slackwater_monitor.assessment.prices import LIST_PRICES, Prices, about, chosen
from slackwater_monitor.assessment.usage import UsageStatistics
from slackwater_monitor.history.grid import grid

MIBI = 1024.0**2
HOUR = 3600


def assessment(kind: str = "Deployment", role: str = "", limits: dict[str, float] | None = None) -> Assessment:
    """Two pods of one workload that ask for two cores and 4 GiB, and use a tenth of it for an hour."""
    census = PodHistory()
    for name in ("web-1-a", "web-1-b"):
        pod = census.pod(("shop", name))
        pod.owner = ("ReplicaSet", "web-1") if kind == "Deployment" else ("Job", "web-1") if kind else ("", "")
        pod.limits = {("main", what): value for what, value in (limits or {}).items()}
    if kind in ("Deployment", "CronJob"):
        census.above["shop", "ReplicaSet" if kind == "Deployment" else "Job", "web-1"] = (kind, "web")

    def figures(asked: float, scale: float) -> UsageStatistics:
        used = (0.05 * asked, 0.09 * asked, 0.1 * asked * scale, 0.15 * asked, 0.2 * asked * scale)
        return UsageStatistics(0.05 * asked, used[2], used[4], asked, HOUR, Usage(0.05 * asked, asked), used)

    pods = (("shop", "web-1-a", "main"), ("shop", "web-1-b", "main"))
    levels: dict[str, Any] = {
        "container": {
            "cpu": {key: figures(2.0, 1 + at) for at, key in enumerate(pods)},
            "memory": {key: figures(4096 * MIBI, 1.0) for key in pods},
        }
    }
    members = {key[:2]: Member("web", role, "", "ann", "n0") for key in pods}
    total = {"cpu": 64.0, "memory": 256 * 1024 * MIBI}
    return Assessment(grid(2 * HOUR, HOUR, 60), 15.0, total, levels, members, census, {}, {}, [], {}, [], {}, {})


def one(found: Assessment, **more: Any) -> Advice:
    """The only advice."""
    (made,) = advise(found, **more)
    return made


def test_requests_are_what_sufficed_for_the_pod_that_needs_most() -> None:
    """CPU for 95 % of the time, memory for all that was seen and 15 % more; what it gives back is a mean."""
    made = one(assessment())
    (container,) = made.containers
    assert container.requests["cpu"] == pytest.approx(0.4)
    assert container.requests["memory"] == pytest.approx(943 * MIBI)
    assert made.cores == pytest.approx(2 * (2 - 0.4))
    assert "in 5 % of the time at most" in made.risk


def test_a_smaller_risk_asks_for_more() -> None:
    """Never above it: the most that was seen."""
    assert one(assessment(), risk=0.0).containers[0].requests["cpu"] == pytest.approx(0.8)


def test_a_deployment_is_a_service_with_a_patch_and_a_line() -> None:
    """Found through its ReplicaSet; nobody is advised to call it a task."""
    made = one(assessment())
    assert (made.kind, made.name, made.batch) == ("Deployment", "web", False)
    patch = yaml.safe_load(made.yaml)
    (container,) = patch["spec"]["template"]["spec"]["containers"]
    assert container == {"name": "main", "resources": {"requests": {"cpu": "400m", "memory": "943Mi"}}}
    assert made.kubectl == ("kubectl -n shop set resources deployment/web -c main --requests=cpu=400m,memory=943Mi")
    assert "role=task" not in str(made)


def test_jobs_are_batch_and_their_template_is_where_it_is() -> None:
    """A CronJob has a line, a Job must be written anew; both may be left as they are in a managed namespace."""
    cron = one(assessment("CronJob", role="task"))
    assert cron.batch
    assert yaml.safe_load(cron.yaml)["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert "set resources cronjob/web" in cron.kubectl
    assert any("slackwater.io/managed=true" in note for note in cron.notes)
    assert one(assessment("Job", role="task")).kubectl == ""


def test_pods_that_a_driver_starts_are_told_by_their_app() -> None:
    """They have no object of their own: executors of all runs are one workload, without a line."""
    made = one(assessment("", role="task"))
    assert (made.kind, made.name, made.kubectl) == ("Tasks", "web", "")
    assert yaml.safe_load(made.yaml)["spec"]["containers"]


def test_drivers_are_batch_and_must_be_rewritten() -> None:
    """Only requests of tasks are lowered in a managed namespace."""
    made = one(assessment("", role="driver"))
    assert (made.kind, made.batch) == ("Driver", True)
    assert not any("slackwater.io/managed" in note for note in made.notes)


def test_of_a_workload_with_a_driver_only_the_tasks_may_be_left_as_they_are() -> None:
    """One object makes both."""
    found = assessment("Job", role="task")
    found.members["shop", "web-1-a"] = Member("web", "driver", "", "ann", "n0")  # type: ignore[index]
    (note,) = (note for note in one(found).notes if "slackwater.io/managed=true" in note)
    assert note.startswith("1 of 2 pods is a task pod: for it, ")


def test_pods_that_a_pod_starts_are_its_tasks() -> None:
    """Without labels that say so, too: they are batch, and the file to try them with has a name that can be written."""
    found = assessment("", role="unknown")
    for key, pod in found.census.pods.items():
        pod.owner = ("Pod", "etl-driver")
        found.members[key] = Member("pod/etl-driver", "unknown", "", "ann", "n0")  # type: ignore[index]
    made = one(found)
    assert (made.kind, made.name, made.batch) == ("Tasks", "pod/etl-driver", True)
    assert "export etl-driver.jsonl.gz" in made.what_if
    assert not any("task pods" in note for note in made.notes)


def test_a_pod_without_owner_and_driver_is_a_pod() -> None:
    """Under its own name."""
    made = advise(assessment("", role="unknown"))
    assert [(each.kind, each.name, each.batch) for each in made] == [
        ("Pod", "web-1-a", False),
        ("Pod", "web-1-b", False),
    ]


def test_static_pods_are_told_by_the_file_their_kubelets_read() -> None:
    """One of that name on each node; their owner, the node, is nothing to write requests into."""
    found = assessment("", role="unknown")
    for (_, name), pod in found.census.pods.items():
        pod.owner = ("Node", name.removeprefix("web-"))
    made = one(found)
    assert (made.kind, made.name, made.pods, made.kubectl) == ("StaticPod", "web", 2, "")
    assert yaml.safe_load(made.yaml)["spec"]["containers"]


@pytest.mark.parametrize("kind", ["Job", "CronJob"])
def test_jobs_without_labels_are_batch(kind: str) -> None:
    """Managing their namespace would lower nothing, so it is not advised."""
    made = one(assessment(kind, role="unknown"))
    assert made.batch
    assert not any("slackwater.io/managed" in note for note in made.notes)


def test_containers_that_prepare_a_pod_are_left_out() -> None:
    """Their requests stand under initContainers."""
    found = assessment()
    for pod in found.census.pods.values():
        pod.initial.add("main")
    assert advise(found) == []


def test_no_request_is_advised_above_its_limit() -> None:
    """An API server would refuse it; the limit is to be raised as well."""
    made = one(assessment(limits={"memory": 900 * MIBI}))
    assert made.containers[0].requests["memory"] == 900 * MIBI
    assert any("needs all of its memory limit" in note for note in made.notes)
    assert not any("Guaranteed" in note for note in made.notes)


def test_a_container_that_is_held_by_its_limit_is_told() -> None:
    """Request, limit and use are the same: nothing else is advised, but that it may need more."""
    found = assessment(limits={"memory": 820 * MIBI})
    for pod in found.census.pods.values():
        pod.requests = {("main", "cpu"): 0.4, ("main", "memory"): 820 * MIBI}
    made = one(found)
    assert made.containers[0].requests["memory"] == 820 * MIBI
    assert any("needs all of its memory limit" in note for note in made.notes)


def test_a_limit_that_is_no_whole_number_of_mebibytes_is_not_exceeded() -> None:
    """954Mi would be more than 1G."""
    made = one(assessment(limits={"memory": 0.9e9}))
    assert made.containers[0].requests["memory"] == 858 * MIBI < 0.9e9
    assert "858Mi" in made.yaml


def test_the_limit_of_the_newest_pod_counts() -> None:
    """It was lowered since."""
    found = assessment()
    for at, pod in enumerate(found.census.pods.values()):
        pod.created = 100.0 * at
        pod.limits = {("main", "memory"): (900 * MIBI, 850 * MIBI)[at]}
    assert one(found).containers[0].requests["memory"] == 850 * MIBI


def test_advice_that_was_followed_is_not_given_again() -> None:
    """What the newest pod of a template asks for counts, not what was asked for before."""
    found = assessment()
    for at, pod in enumerate(found.census.pods.values()):
        pod.created = 100.0 * at
        pod.requests = {("main", "cpu"): (2.0, 0.4)[at], ("main", "memory"): (4096 * MIBI, 943 * MIBI)[at]}
    assert advise(found) == []
    next(iter(found.census.pods.values())).created = 200.0
    assert one(found).cores == pytest.approx(2 * (2 - 0.4))


def test_a_lowered_pod_asks_for_what_it_declares() -> None:
    """Advice is for the author, who wrote what is declared; of several containers each has its part of it."""
    found = assessment()
    for pod in found.census.pods.values():
        pod.requests = {("main", "cpu"): 0.25, ("main", "memory"): 512 * MIBI, ("proxy", "cpu"): 0.75}
        pod.declared = {"cpu": 4.0, "memory": 2048 * MIBI}
    made = one(found)
    assert made.containers[0].asked == pytest.approx({"cpu": 1.0, "memory": 2048 * MIBI})
    assert made.cores == pytest.approx(2 * (1.0 - 0.4))
    assert made.memory == pytest.approx(2 * (2048 - 943) * MIBI)


def test_limits_are_noticed() -> None:
    """One that use reaches, and one that equals the request."""
    notes = one(assessment(limits={"cpu": 0.8, "memory": 4096 * MIBI})).notes
    assert any("use reaches its cpu limit" in note for note in notes)
    assert any("memory request and limit are equal" in note for note in notes)


def test_an_autoscaler_is_noticed() -> None:
    """Its target is a share of requests."""
    found = assessment()
    found.census.scalers["shop", "Deployment", "web"] = "web-scaler"
    assert any("HorizontalPodAutoscaler web-scaler" in note for note in one(found).notes)


def test_each_row_names_its_what_if() -> None:
    """Ready to be copied."""
    assert "slackwater export web.jsonl.gz --namespace shop" in one(assessment()).what_if


def test_money_is_what_is_given_back_for_a_month() -> None:
    """3.2 cores and 6.2 GiB at a dollar for a thousand core-hours."""
    made = one(assessment(), prices=Prices(0.001, 0.0))
    assert made.month == pytest.approx(730 * 0.001 * made.cores)


@pytest.mark.parametrize("name", LIST_PRICES)
def test_a_price_that_nobody_gave_is_called_an_example_with_its_date(name: str) -> None:
    """And the way to give one's own stands beside it; no digit pretends to be exact."""
    prices = LIST_PRICES[name]
    assert all(word in prices.source for word in ("example", "January 2025", "--cpu-price"))
    assert (float(f"{prices.core:.2g}"), float(f"{prices.gib:.2g}")) == (prices.core, prices.gib)
    given = chosen(name, 0.02, 0.002)
    assert given == Prices(0.02, 0.002, "given")


def test_sums_are_told_in_two_digits() -> None:
    """What is known to two digits is not told in six, also where more is needed than is given back."""
    assert [about(each) for each in (123456.0, 1234.0, 47.3, 0.126, 0.0, -0.001, -0.126, -459.34)] == [
        "$120,000",
        "$1,200",
        "$47",
        "$0.13",
        "$0.00",
        "$0.00",
        "-$0.13",
        "-$460",
    ]


def test_a_price_that_is_not_given_follows_from_the_other() -> None:
    """By the ratio of most price lists, and it says so: memory is not free because nobody named its price."""
    cores, memory = chosen(None, 0.09, None), chosen(None, None, 0.01)
    assert cores is not None
    assert memory is not None
    assert [cores.core, cores.gib] == pytest.approx([0.09, 0.01])
    assert [memory.core, memory.gib] == pytest.approx([0.09, 0.01])
    assert cores.source == "given for a core; for a GiB not given, and taken as a ninth of that"
    assert "for a core not given" in memory.source


def test_list_prices_can_be_overridden() -> None:
    """In part or in whole; a stranger's name is refused."""
    assert chosen(None, None, None) is None
    assert chosen("aws", None, None) == LIST_PRICES["aws"]
    mixed = chosen("aws", 0.02, None)
    assert mixed is not None
    assert (mixed.core, mixed.gib) == (0.02, LIST_PRICES["aws"].gib)
    assert mixed.source == LIST_PRICES["aws"].source
    with pytest.raises(UnknownName, match="aws, azure, gcp"):
        chosen("ibm", None, None)
    with pytest.raises(InvalidInput):
        chosen(None, -1.0, None)
