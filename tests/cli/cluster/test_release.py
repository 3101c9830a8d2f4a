"""`slackwater release`: pods freed by hand, against a small cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from slackwater.errors import InvalidInput, Unavailable
from slackwater_cli.main import app
from support.fakes.httpcluster import GROUP, Cluster

Run = Callable[..., Result]


def test_release_lifts_only_our_gate(run: Run, cluster: Cluster) -> None:
    """By name and with the pod's uid, as the operator does; parking is taken back."""
    assert run("release", "--all", "--yes").exit_code == 0
    patches = {path.rpartition("/")[2]: body for path, body, _ in cluster.patched}
    assert patches["etl-0"]["spec"] == {"schedulingGates": [{"$patch": "delete", "name": "slackwater.io/admission"}]}
    assert patches["etl-0"]["metadata"]["uid"]
    assert patches["etl-1"]["metadata"]["annotations"] == {"slackwater.io/parked": None}
    assert "spec" not in patches["etl-1"]
    assert "ran" not in patches
    assert {kind for _, _, kind in cluster.patched} == {"application/strategic-merge-patch+json"}


def test_release_changes_nothing_on_a_dry_run(run: Run, cluster: Cluster) -> None:
    """It says what it would do."""
    assert "would be freed" in run("release", "--app", "etl", "--dry-run").stdout
    assert cluster.patched == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["etl-0", "nonesuch", "-y"], 3), (["etl-0", "--app", "nonesuch", "-y"], 3), (["nonesuch", "-y"], 1)],
    ids=["some", "not the app", "nothing"],
)
def test_release_tells_by_exit_code_what_it_could_not_free(run: Run, arguments: list[str], code: int) -> None:
    """3 some, 1 nothing."""
    assert run("release", *arguments).exit_code == code


@pytest.mark.parametrize(
    ("arguments", "what"), [(["nonesuch"], "nonesuch"), (["--app", "nonesuch"], "app nonesuch")], ids=["pod", "app"]
)
def test_release_does_not_say_that_nothing_is_held_where_only_this_is_not(
    run: Run, arguments: list[str], what: str
) -> None:
    """Two other pods are."""
    done = run("release", *arguments, "-y")
    assert done.exit_code == 1
    assert done.stderr == f"{what} is not held by Slackwater in team-a\n"


def test_release_says_that_nothing_is_held(run: Run, cluster: Cluster) -> None:
    """Where that is so."""
    cluster.put("/api/v1/namespaces/team-a/pods")
    done = run("release", "--all", "-y")
    assert (done.exit_code, done.stderr) == (1, "nothing is held\n")


@pytest.mark.parametrize("arguments", [["--app", "Nightly ETL"], ["--app", "team-a/etl"], ["team-a/etl-0", "etl-1"]])
def test_release_knows_apps_and_pods_as_they_are_shown(run: Run, cluster: Cluster, arguments: list[str]) -> None:
    """An app by what `apps` calls it or by its id, a pod as `explain` takes it."""
    listed = cluster.answers[f"{GROUP}/namespaces/team-a/trackedapps"]
    assert isinstance(listed, dict)
    listed["items"][0]["spec"]["name"] = "Nightly ETL"
    rows = json.loads(run("release", *arguments, "--dry-run", "-o", "json").stdout)
    assert {row["name"] for row in rows} == {"etl-0", "etl-1"}
    assert {row["title"] for row in rows} == {"Nightly ETL"}


def test_release_looks_for_a_name_alone_in_one_namespace(run: Run, cluster: Cluster) -> None:
    """The pod of the same name elsewhere stays held, also where that namespace is asked about."""
    pods = cluster.answers["/api/v1/namespaces/team-a/pods"]
    assert isinstance(pods, dict)
    others = json.loads(json.dumps(pods["items"]).replace("team-a", "team-b"))
    cluster.put("/api/v1/namespaces/team-b/pods", *others)
    done = run("release", "etl-0", "team-b/etl-1", "--dry-run", "-o", "json")
    rows = json.loads(done.stdout)
    assert {(row["namespace"], row["name"]) for row in rows} == {("team-a", "etl-0"), ("team-b", "etl-1")}
    run("release", "team-b/nowhere", "--dry-run")


def test_release_looks_only_into_the_namespaces_that_are_written(run: Run, cluster: Cluster) -> None:
    """Who names NAMESPACE/POD need not be allowed to list that of the context, or all."""
    pods = cluster.answers["/api/v1/namespaces/team-a/pods"]
    assert isinstance(pods, dict)
    cluster.put("/api/v1/namespaces/team-b/pods", *json.loads(json.dumps(pods["items"]).replace("team-a", "team-b")))
    for path in ("/api/v1/pods", "/api/v1/namespaces/team-a/pods"):
        cluster.answers[path] = (403, {"message": "you cannot list pods"})
    for where in ((), ("-A",)):
        (row,) = json.loads(run("release", "team-b/etl-0", *where, "--dry-run", "-o", "json").stdout)
        assert (row["namespace"], row["name"]) == ("team-b", "etl-0")
    for more in (("etl-1",), ("--app", "etl")):
        with pytest.raises(Unavailable, match="you cannot list pods"):
            run("release", "team-b/etl-0", *more, "--dry-run")


def test_release_reports_a_refusal_of_the_server(run: Run, cluster: Cluster) -> None:
    """In the server's own words."""
    cluster.answers["PATCH /api/v1/namespaces/team-a/pods/etl-0"] = (403, {"message": "verb release is needed"})
    result = run("release", "etl-0", "-y")
    assert result.exit_code == 3
    assert "verb release is needed" in result.stdout


def test_release_tells_programs_what_happened_to_each_pod(run: Run, cluster: Cluster) -> None:
    """Whether it was freed, and why not where it was not."""
    cluster.answers["PATCH /api/v1/namespaces/team-a/pods/etl-0"] = (403, {"message": "verb release is needed"})
    done = run("release", "--all", "-y", "-o", "json")
    assert done.exit_code == 3
    rows = {row["name"]: (row["result"], row["problem"]) for row in json.loads(done.stdout)}
    assert rows == {"etl-0": ("not freed", "verb release is needed"), "etl-1": ("freed", "")}
    dry = run("release", "--all", "--dry-run", "-o", "json")
    assert [row["result"] for row in json.loads(dry.stdout)] == ["would be freed"] * 2
    assert json.loads(run("release", "nonesuch", "-y", "-o", "json").stdout) == []


@pytest.mark.parametrize("answer", ["n\n", ""], ids=["no", "end of input"])
def test_release_asks_beside_what_programs_read(cluster: Cluster, tmp_path: Path, answer: str) -> None:
    """And tells by its exit code that it got no yes: 1 would mean that nothing is held."""
    env = {"KUBECONFIG": str(cluster.kubeconfig(tmp_path))}
    done = CliRunner().invoke(app, ["release", "--all", "-o", "json"], env=env, input=answer)
    assert done.exit_code == 4
    assert done.stdout == ""
    assert "Free 2 pods now" in done.stderr
    assert "nothing was freed" in done.stderr
    assert ("add --yes" in done.stderr) == (not answer)  # where nobody can answer
    assert cluster.patched == []


def test_release_that_is_confirmed_writes_nothing_but_rows(cluster: Cluster, tmp_path: Path) -> None:
    """So that a program can read them."""
    env = {"KUBECONFIG": str(cluster.kubeconfig(tmp_path))}
    done = CliRunner().invoke(app, ["release", "--all", "-o", "json"], env=env, input="y\n")
    assert done.exit_code == 0
    assert [row["result"] for row in json.loads(done.stdout)] == ["freed"] * 2


def test_release_leaves_out_a_pod_that_cannot_be_read_and_says_so(run: Run, cluster: Cluster) -> None:
    """Beside what programs read; the others are freed."""
    pods = cluster.answers["/api/v1/namespaces/team-a/pods"]
    assert isinstance(pods, dict)
    odd = json.loads(json.dumps(pods["items"][0]).replace("etl-0", "odd"))
    odd["spec"]["containers"] = [{"name": "c", "resources": {"requests": {"cpu": "-1"}}}]
    pods["items"].insert(0, odd)
    result = run("release", "--all", "-n", "team-a", "--dry-run", "-o", "json")
    assert {row["name"] for row in json.loads(result.stdout)} == {"etl-0", "etl-1"}
    assert "team-a/odd" in result.stderr


def test_release_without_a_name_frees_nothing(run: Run, cluster: Cluster) -> None:
    """Everything must be asked for."""
    with pytest.raises(InvalidInput, match="--all"):
        run("release")
    assert cluster.patched == []
