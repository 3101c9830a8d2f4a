"""The framework table: what it contains, how it is extended, and which roles it gives."""

import pytest

from slackwater_cluster.frameworks import Framework, LabelTerm, builtin, extension, policy_rules, role_by_labels

NAMES = [row.name for row in builtin().frameworks]


def test_table_knows_the_promised_frameworks() -> None:
    """Every framework that the documentation names has a row."""
    assert {
        "spark", "spark-operator", "spark-application", "flink", "ray", "rayjob-submitter", "mpi", "training", "jobset",
        "leaderworkerset", "dask", "argo", "volcano", "job",
    } == set(NAMES)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_row_asks_for_an_owner(name: str) -> None:
    """A label alone is never enough to join an app."""
    row = builtin().named(name)
    assert row is not None
    assert row.owners


@pytest.mark.parametrize(
    ("labels", "role"),
    [
        ({"spark-app-selector": "s", "spark-role": "driver"}, "driver"),
        ({"spark-app-selector": "s", "spark-role": "executor"}, "task"),
        ({"spark-role": "driver"}, "unknown"),
        ({"ray.io/cluster": "r", "ray.io/node-type": "head"}, "driver"),
        ({"ray.io/cluster": "r", "ray.io/node-type": "redis-cleanup", "batch.kubernetes.io/job-name": "j"}, "unknown"),
        ({"spark-app-selector": "s", "batch.kubernetes.io/job-name": "j"}, "unknown"),
        ({"batch.kubernetes.io/job-name": "j"}, "task"),
        ({"batch.kubernetes.io/job-name": "j", "slackwater.io/role": "driver"}, "driver"),
        ({"batch.kubernetes.io/job-name": "j", "slackwater.io/role": "boss"}, "unknown"),
        ({"component": "jobmanager"}, "unknown"),
        ({}, "unknown"),
    ],
    ids=[
        "spark driver",
        "spark executor",
        "no app label",
        "ray head",
        "ray's clean-up in a job",
        "spark without a role",
        "job",
        "own word",
        "bad word",
        "stray",
        "none",
    ],
)
def test_roles_by_label(labels: dict[str, str], role: str) -> None:
    """A pod's own word wins; then the row that claims the pod, and no later one: what it does not know is unknown."""
    assert role_by_labels(labels, builtin().rules()) == role


@pytest.mark.parametrize(
    ("name", "driver"), [("spark", True), ("job", False), ("jobset", False)], ids=["always", "never", "some of them"]
)
def test_whose_apps_have_a_driver_as_a_rule(name: str, driver: bool) -> None:
    """Tasks of those wait for it unseen; a JobSet has a launcher or a coordinator only where somebody gave it one."""
    row = builtin().named(name)
    assert row is not None
    assert row.has_driver is driver


def test_policy_labels_come_before_the_table() -> None:
    """A SlackPolicy can call something a driver that the table calls a task."""
    rules = (*policy_rules([("batch.kubernetes.io/job-name", ["boss"])], []), *builtin().rules())
    assert role_by_labels({"batch.kubernetes.io/job-name": "boss"}, rules) == "driver"
    assert role_by_labels({"batch.kubernetes.io/job-name": "other"}, rules) == "task"


def test_a_row_that_names_no_roles_leaves_them_to_the_next() -> None:
    """It only says which pods form an app."""
    rules = builtin().extended([Framework(name="house", app=("example.com/run",))]).rules()
    assert role_by_labels({"example.com/run": "r", "batch.kubernetes.io/job-name": "j"}, rules) == "task"


def test_rows_of_a_config_map_come_first_and_replace() -> None:
    """A user's row wins over a built-in one, and one of the same name takes its place."""
    mine = Framework(name="spark", app=("my/app",), tasks=(LabelTerm(key="my/app"),))
    table = builtin().extended([mine])
    assert table.frameworks[0] is mine
    assert [row.name for row in table.frameworks].count("spark") == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("frameworks: [{name: x, app: [y], tasks: [{key: z, values: [2026-02-30]}]}]", id="no such day"),
        pytest.param(f"frameworks: [{{name: {'9' * 5000}}}]", id="a number of 5,000 digits"),
        pytest.param("[" * 1000, id="1,000 brackets"),
        pytest.param("frameworks: !!bool maybe", id="no such truth"),
        pytest.param("frameworks: !!timestamp x", id="no time"),
        pytest.param(f"frameworks: {':'.join(['1'] * 200)}.5", id="200 places of sixty"),
        pytest.param("&a [*a]", id="a list that holds itself"),
    ],
)
def test_what_yaml_itself_cannot_read_is_told_and_ends_nothing(text: str) -> None:
    """The programs that read such a ConfigMap would end with it, and again after each restart."""
    rows, problems = extension({"bad": text, "good": "frameworks: [{name: x, app: [y], tasks: [{key: z}]}]"}, "cm")
    assert [row.name for row in rows] == ["x"]
    assert "bad" in str(problems[0])


def test_a_bad_entry_is_told_and_the_others_count() -> None:
    """One mistake in the ConfigMap does not take the other rows away."""
    good = "frameworks: [{name: house, app: [example.com/run]}]"
    rows, problems = extension({"bad": "frameworks: [{name: x, ap: [y]}]", "good": good, "text": "a: b: c"}, "cm")
    assert [row.name for row in rows] == ["house"]
    assert [problem.field for problem in problems] == ["cm[bad].frameworks.0.app", "cm[text]"]


@pytest.mark.parametrize("key", ["a\nb", "it's", "x y", "", "a/b/c"])
def test_keys_that_cannot_be_labels_are_refused(key: str) -> None:
    """A key with a newline or a quote never reaches the admission policy."""
    rows, problems = extension({"x": f"frameworks: [{{name: x, app: [{key!r}]}}]"}, "cm")
    assert rows == ()
    assert len(problems) == 1
