"""How large an app will be before its tasks exist."""

from time import process_time
from typing import Any

import pytest

from slackwater.errors import InvalidInput
from slackwater.resources import Resources
from slackwater_cluster.apps.size import AppSize, announced, from_object
from slackwater_cluster.frameworks import Framework, builtin

GIB = 2**30


def named(framework: str) -> Framework:
    """The row of a framework."""
    row = builtin().named(framework)
    assert row is not None
    return row


def stated(framework: str, body: dict[str, Any]) -> AppSize | None:
    """What an object states by its framework's row."""
    row = named(framework)
    assert row.size is not None
    return from_object(row.size, body, row.driver_names)


def template(cpu: str, memory: str) -> dict[str, Any]:
    """A pod template with one container."""
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu, "memory": memory}}}]}}


def test_annotations_state_the_size() -> None:
    """The user's own word needs no framework."""
    size = announced(
        {"slackwater.io/tasks": "20", "slackwater.io/task-cpu": "500m", "slackwater.io/task-memory": "2Gi"}
    )
    assert size is not None
    assert (size.tasks, size.request) == (20, Resources(cpu=0.5, memory=2 * GIB))


def test_no_annotation_states_nothing() -> None:
    """Silence is not zero tasks."""
    assert announced({}) is None


@pytest.mark.parametrize("text", ["-1", "many", "1e3", "", "1\n", "99999999"])
def test_unreadable_counts_are_refused(text: str) -> None:
    """A count that is no count is an error that names the annotation."""
    with pytest.raises(InvalidInput, match=r"slackwater\.io/tasks"):
        announced({"slackwater.io/tasks": text})


OBJECTS: dict[str, tuple[str, dict[str, Any], int, Resources]] = {
    "spark-operator": (
        "spark-operator",
        {"spec": {"executor": {"instances": 4, "cores": 2, "memory": "4g"}}},
        4,
        Resources(cpu=2, memory=4 * GIB * 1.1),
    ),
    "spark-operator, whose executors request less than their cores": (
        "spark-operator",
        {"spec": {"executor": {"instances": 4, "cores": 2, "coreRequest": "500m", "memory": "4g"}}},
        4,
        Resources(cpu=0.5, memory=4 * GIB * 1.1),
    ),
    "ray": (
        "ray",
        {
            "spec": {
                "workerGroupSpecs": [
                    {"replicas": 3, "template": template("2", "4Gi")},
                    {"replicas": 1, "template": template("6", "8Gi")},
                ]
            }
        },
        4,
        Resources(cpu=3, memory=5 * GIB),
    ),
    "ray on groups of hosts": (
        "ray",
        {"spec": {"workerGroupSpecs": [{"replicas": 2, "numOfHosts": 4, "template": template("2", "4Gi")}]}},
        8,
        Resources(cpu=2, memory=4 * GIB),
    ),
    "jobset with a launcher": (
        "jobset",
        {
            "spec": {
                "replicatedJobs": [
                    {"name": "launcher", "template": {"spec": {"template": template("1", "1Gi")}}},
                    {"name": "node", "template": {"spec": {"parallelism": 4, "template": template("2", "4Gi")}}},
                ]
            }
        },
        4,
        Resources(cpu=2, memory=4 * GIB),
    ),
    "jobset": (
        "jobset",
        {
            "spec": {
                "replicatedJobs": [
                    {"replicas": 2, "template": {"spec": {"parallelism": 4, "template": template("1", "1Gi")}}}
                ]
            }
        },
        8,
        Resources(cpu=1, memory=GIB),
    ),
    "job": (
        "job",
        {"spec": {"parallelism": 7, "template": template("250m", "64Mi")}},
        7,
        Resources(cpu=0.25, memory=2**26),
    ),
    "job that completes fewer than it could run": (
        "job",
        {"spec": {"parallelism": 100, "completions": 3, "template": template("250m", "64Mi")}},
        3,
        Resources(cpu=0.25, memory=2**26),
    ),
    "job that runs fewer than it completes": (
        "job",
        {"spec": {"parallelism": 7, "completions": 30, "template": template("250m", "64Mi")}},
        7,
        Resources(cpu=0.25, memory=2**26),
    ),
    "jobset whose Jobs complete fewer than they could run": (
        "jobset",
        {
            "spec": {
                "replicatedJobs": [
                    {
                        "replicas": 2,
                        "template": {"spec": {"parallelism": 9, "completions": 3, "template": template("1", "1Gi")}},
                    }
                ]
            }
        },
        6,
        Resources(cpu=1, memory=GIB),
    ),
    "mpi": (
        "mpi",
        {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 2, "template": template("1", "1Gi")}}}},
        2,
        Resources(cpu=1, memory=GIB),
    ),
}


@pytest.mark.parametrize(("framework", "body", "tasks", "request_"), OBJECTS.values(), ids=OBJECTS)
def test_framework_objects_state_the_size(
    framework: str, body: dict[str, Any], tasks: int, request_: Resources
) -> None:
    """Counts and templates are where the table says."""
    size = stated(framework, body)
    assert size is not None
    assert size.tasks == tasks
    assert dict(size.request) == pytest.approx(dict(request_))


@pytest.mark.parametrize(
    "body", [{}, {"spec": None}, {"spec": {"executor": {"cores": 1}}}], ids=["empty", "null", "no count"]
)
def test_objects_that_say_nothing(body: dict[str, Any]) -> None:
    """Dynamic allocation leaves the count open: then nothing is known, and the app counts as large."""
    assert stated("spark-operator", body) is None


def test_thousands_of_groups_of_as_many_kinds_are_added_up_in_no_time() -> None:
    """Each sum looked at all kinds before it: a RayCluster of 740 kB held up the operator for 38 s."""
    containers = [
        {"resources": {"requests": {"cpu": "1"} | {f"made/up-{each}-{kind}": "1" for kind in range(15)}}}
        for each in range(1000)
    ]
    groups = [{"replicas": 2, "template": {"spec": {"containers": [each]}}} for each in containers]
    rule = next(row.size for row in builtin().frameworks if row.name == "ray")
    assert rule is not None
    began = process_time()
    size = from_object(rule, {"spec": {"workerGroupSpecs": groups}})
    assert process_time() - began < 1.0
    assert size is not None
    assert (size.tasks, size.request["cpu"]) == (2000, 1.0)
    assert len(size.request) < 20


def test_malformed_template_is_an_error_with_its_path() -> None:
    """A template that is no template names its place."""
    body = {"spec": {"parallelism": 1, "template": {"spec": {"containers": "none"}}}}
    with pytest.raises(InvalidInput, match=r"spec\.template\.spec"):
        stated("job", body)


MIB = 2**20


@pytest.mark.parametrize(
    ("executor", "spec", "mebibytes"),
    [
        pytest.param({"memory": "4g"}, {"type": "Scala"}, 4096 * 1.1, id="a tenth"),
        pytest.param({"memory": "512m"}, {}, 512 + 384, id="at least 384 MiB"),
        pytest.param({"memory": "4096"}, {"type": "Java"}, 4096 * 1.1, id="a number alone is MiB"),
        pytest.param({"memory": "4294967296b"}, {}, 4096 * 1.1, id="bytes"),
        pytest.param({"memory": "4GB"}, {}, 4096 * 1.1, id="capitals"),
        pytest.param({"memory": "4g"}, {"type": "Python"}, 4096 * 1.4, id="Python takes more"),
        pytest.param({"memory": "4g"}, {"type": "R"}, 4096 * 1.4, id="so does R"),
        pytest.param({"memory": "4g"}, {"type": "R", "memoryOverheadFactor": "0.2"}, 4096 * 1.2, id="a stated share"),
        pytest.param({"memory": "4g", "memoryOverhead": "4g"}, {"memoryOverheadFactor": "0.2"}, 8192, id="stated"),
        pytest.param({"memory": "4g", "memoryOverhead": "100"}, {"type": "Python"}, 4196, id="less than the least"),
    ],
)
def test_memory_of_executors_is_what_spark_makes_of_it(
    executor: dict[str, Any], spec: dict[str, Any], mebibytes: float
) -> None:
    """Their heap and its overhead: as stated, by the stated share of the heap, or as Spark adds by itself."""
    found = stated("spark-operator", {"spec": {**spec, "executor": {"instances": 2, "cores": 1, **executor}}})
    assert found is not None
    assert found.request["memory"] == pytest.approx(mebibytes * MIB)


@pytest.mark.parametrize(
    ("field", "executor"),
    [("memory", {"memory": "4 gigs"}), ("memoryOverhead", {"memory": "4g", "memoryOverhead": "-1"})],
)
def test_memory_that_is_none_is_an_error_with_its_path(field: str, executor: dict[str, Any]) -> None:
    """It names what to mend in the object."""
    with pytest.raises(InvalidInput, match=rf"spec\.executor\.{field}\b"):
        stated("spark-operator", {"spec": {"executor": {"instances": 2, **executor}}})
