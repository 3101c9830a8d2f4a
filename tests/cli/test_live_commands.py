"""apps, queues, explain, top and check against a small cluster, through the API server's service proxy."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from slackwater.errors import InvalidInput, Unavailable
from slackwater_cli.main import app
from support.fakes.httpcluster import DEPLOYMENTS, GROUP, PROXY, Cluster, deployment, tracked

Run = Callable[..., Result]


def test_apps_are_listed_with_place_and_reason(run: Run) -> None:
    """The namespace comes from the kubeconfig's context."""
    result = run("apps")
    assert result.exit_code == 0
    assert "pool-closed" in result.stdout
    assert "90 s" in result.stdout
    assert "the large pool" not in result.stdout
    assert "the large pool" in run("apps", "-A", "-o", "wide").stdout


def test_top_keeps_heads_and_numbers_whole_on_80_columns(cluster: Cluster, tmp_path: Path) -> None:
    """Only the sentence at the end of a line gives way."""
    env = {"KUBECONFIG": str(cluster.kubeconfig(tmp_path)), "SLACKWATER_EXTENDER_URL": "", "COLUMNS": "80"}
    lines = CliRunner().invoke(app, ["top"], env=env, catch_exceptions=False).stdout.splitlines()
    heads = next(line for line in lines if line.startswith("APP"))
    assert heads.split() == ["APP", "PHASE", "POS", "WAIT", "HELD", "BOUND", "USED", "WHY"]
    etl = next(line for line in lines if line.startswith("team-a/etl"))
    assert etl.split()[:6] == ["team-a/etl", "Waiting", "1", "90", "s", "2"]
    assert max(map(len, lines)) <= 80


def test_apps_that_do_not_exist_are_exit_code_1(run: Run) -> None:
    """So that a script can wait for an app to appear."""
    assert run("apps", "nonesuch").exit_code == 1
    assert run("apps", "etl", "--waiting").exit_code == 0


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_json_and_yaml_hold_every_field(run: Run, output: str, read: Callable[[str], object]) -> None:
    """Numbers in base units."""
    found = read(run("apps", "etl", "-o", output).stdout)
    assert isinstance(found, list)
    assert found[0]["declared"] == {"cpu": 4.0, "memory": 8.0 * 2**30}
    assert found[0]["wait"] == 90


def test_queues_show_the_admission_test(run: Run) -> None:
    """Capacity, what is kept for tasks, what is left, and the pool's border."""
    text = run("queues").stdout
    assert "96c" in text
    assert "64c" in text
    assert "22c" in text
    assert "10 %" in text
    assert run("queues", "nonesuch").exit_code == 1


def test_queues_tell_no_forecast_that_has_passed(run: Run, cluster: Cluster) -> None:
    """It was made when an app last came or started there: years ago, for nine seconds at most."""
    queue = cluster.answers[f"{GROUP}/admissionqueues/default"]
    assert isinstance(queue, dict)
    made = {"lowSeconds": 1, "middleSeconds": 5, "highSeconds": 9, "source": "pace", "at": "2020-01-01T00:00:00.000Z"}
    queue["status"] |= {"nextLarge": made}
    (found,) = json.loads(run("queues", "-o", "json").stdout)["queues"]
    assert found["next_large"]["high"] is None
    assert "nothing has come to its queue" in found["next_large"]["unknown"]


def test_explain_gives_the_sentence_and_the_arithmetic(run: Run) -> None:
    """A held pod: the app's reason, the nodes that would serve it, the room of the best; exit code 3."""
    result = run("explain", "etl-0")
    assert result.exit_code == 3
    assert "it is held: the large pool has 20.0 of 23.0 slots" in result.stdout
    assert "number 1 in queue default, about 90 s to go" in result.stdout
    assert "room 7 cores = min(allowed 14, real 16) − estimate 5 − drivers 2" in result.stdout


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (
            {"lowSeconds": 20.0, "middleSeconds": 60.0, "highSeconds": 180.0},
            "in 20 s to 3 min, most likely in about 60 s",
        ),
        ({"unknown": "only 4 apps like it have waited"}, "not known yet: only 4 apps like it have waited"),
    ],
    ids=["known", "unknown"],
)
def test_explain_tells_when_a_held_pod_starts(run: Run, cluster: Cluster, start: dict[str, object], said: str) -> None:
    """An interval, or why there is none."""
    listed = cluster.answers[f"{GROUP}/trackedapps"]
    assert isinstance(listed, dict)
    listed["items"][0]["status"]["start"] = start
    text = run("explain", "etl-0").stdout
    assert said in text
    assert "about 90 s to go" not in text
    assert said in run("apps", "-o", "wide").stdout


def test_apps_count_forecasts_from_when_they_were_written(run: Run, cluster: Cluster) -> None:
    """As `top` and the dashboard do: what was to start within three minutes, said ten minutes ago, is late."""
    listed = cluster.answers[f"{GROUP}/trackedapps"]
    assert isinstance(listed, dict)
    written = (datetime.now(UTC) - timedelta(minutes=10)).isoformat()
    interval = {"lowSeconds": 20.0, "middleSeconds": 60.0, "highSeconds": 180.0, "at": written}
    listed["items"][0]["status"]["start"] = interval
    (found,) = json.loads(run("apps", "etl", "-o", "json").stdout)
    assert found["wait"] == 0
    assert "longer than was expected" in found["start"]["unknown"]


def test_apps_go_on_beside_one_that_cannot_be_read(run: Run, cluster: Cluster) -> None:
    """It is told beside the list."""
    listed = cluster.answers[f"{GROUP}/trackedapps"]
    assert isinstance(listed, dict)
    listed["items"].append(tracked("odd") | {"status": {"declared": {"cpu": "four"}}})
    done = run("apps")
    assert "etl" in done.stdout
    assert "1 of the trackedapps cannot be read and is left out: odd" in done.stderr


def test_explain_says_that_room_came_free_after_the_reason(run: Run, cluster: Cluster) -> None:
    """The reason is of the last round, the nodes are of now: that is no contradiction, but one has to say it."""
    assert "since then" not in run("explain", "etl-0").stdout
    listed = cluster.answers[f"{GROUP}/trackedapps"]
    assert isinstance(listed, dict)
    listed["items"][0]["status"] |= {"reason": "no-node-has-room", "message": "no single node has room for 2 cores"}
    assert "room has come free after the round that gave this reason" in run("explain", "etl-0").stdout


def test_explain_tells_running_from_missing_by_exit_code(run: Run) -> None:
    """0 on a node, 1 no such pod."""
    assert run("explain", "team-a/ran").exit_code == 0
    assert run("explain", "nonesuch").exit_code == 1


@pytest.mark.parametrize("words", [("pod", "team-a/ran"), ("pod/team-a/ran",), ("pods", "team-a/ran")])
def test_explain_takes_a_pod_as_kubectl_users_write_it(run: Run, words: tuple[str, ...]) -> None:
    """The kind may stand before the name."""
    assert run("explain", *words).exit_code == 0


def test_explain_node_shows_its_arithmetic_and_its_pods(run: Run, cluster: Cluster) -> None:
    """Every number behind the room, and who is charged there, largest first."""
    cluster.answers[f"{PROXY}/v1/nodes/nonesuch"] = (404, {"error": "there is no node nonesuch"})
    text = run("explain", "node", "n0").stdout
    assert "room 7 cores = min(allowed 14, real 16) − estimate 5 − drivers 2" in text
    assert text.index("u2 (driver, bound): 4 cores") < text.index("team-a/ran (task, running): 2 cores")
    assert run("explain", "node", "nonesuch").exit_code == 1


def test_explain_node_shows_what_a_stated_risk_keeps_back(run: Run, cluster: Cluster) -> None:
    """The margin, the peak it comes from, and how often such promises were exceeded; or that it is too early."""
    answer = cluster.answers[f"{PROXY}/v1/nodes/n0"]
    assert isinstance(answer, dict)
    promise = {
        "asked": 0.01,
        "realised": 0.008,
        "compared": 500.0,
        "centre": 3.0,
        "spread": 0.5,
        "factor": 2.0,
        "peak": 4.0,
        "least": 0.0,
    }

    def told(**terms: object) -> str:
        line = answer["resources"]["cpu"] | {"margin": -1.0, "room": 8.0, "promise": promise} | terms
        cluster.answers[f"{PROXY}/v1/nodes/n0"] = answer | {"resources": {"cpu": line}}
        return " ".join(run("explain", "node", "n0").stdout.split())

    assert "room 8 cores = min(allowed 14, real 16) − estimate 5 − drivers 2 − margin -1" in told()
    assert "at a risk of 1% its pods use at most 4 = expected 3 + 2 × spread 0.5" in told()
    assert "0.8% of 500 promises for such machines were exceeded of late" in told()
    assert "too few promises were compared yet" in told(promise=promise | {"factor": None})
    full = told(margin=0.0, room=7.0, crowded=True)
    assert "more is in use than allowed: no promise gives room" in full


def test_explain_without_a_name_says_what_to_write(run: Run) -> None:
    """A kind alone is no name."""
    with pytest.raises(InvalidInput, match="node NAME"):
        run("explain", "node")


def test_explain_goes_on_without_the_extender(run: Run, cluster: Cluster) -> None:
    """What is missing is told; what is known is shown."""
    for path in [path for path in cluster.answers if path.startswith(PROXY)]:
        cluster.answers[path] = (503, {"message": "no endpoints available"})
    result = run("explain", "etl-0")
    assert result.exit_code == 3
    assert "the extender's part is missing" in result.stdout
    assert "the large pool" in result.stdout


def test_a_user_without_the_right_is_told_which(run: Run, cluster: Cluster) -> None:
    """services/proxy, or the extender's own address."""
    cluster.answers[f"{PROXY}/v1/explain/team-a/etl-0"] = (403, {"message": "forbidden"})
    assert "services/proxy" in run("explain", "etl-0").stdout


def test_top_prints_once_where_there_is_no_terminal(run: Run) -> None:
    """Nodes as bars, queues, the waiting app."""
    text = run("top").stdout
    assert "█" in text
    assert "closed" in text
    assert "team-a/etl" in text
    seen = json.loads(run("top", "-o", "json").stdout)
    assert [node["name"] for node in seen["nodes"]] == ["n0", "n1"]


def test_top_on_a_cluster_without_slackwater_says_so(run: Run, cluster: Cluster) -> None:
    """Problems are told; nothing to see is exit code 1."""
    cluster.answers.clear()
    result = run("top")
    assert result.exit_code == 1
    assert "is Slackwater installed?" in result.stdout


def test_check_finds_nothing_wrong_in_a_good_cluster(run: Run) -> None:
    """Exit code 0."""
    result = run("check")
    assert result.exit_code == 0, result.stdout
    assert "op-1 leads" in result.stdout


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (f"{GROUP}/admissionqueues", "install the chart"),
        (f"{GROUP}/trackedapps", "install the chart"),
        (f"{PROXY}/readyz", "extender"),
        ("/apis/coordination.k8s.io/v1/namespaces/slackwater-system/leases", "operator"),
    ],
    ids=["resources", "apps", "extender", "operator"],
)
def test_check_fails_where_a_part_is_missing(run: Run, cluster: Cluster, path: str, words: str) -> None:
    """Exit code 1, with the part's name."""
    del cluster.answers[path]
    result = run("check")
    assert result.exit_code == 1
    assert words in result.stdout


@pytest.mark.parametrize(
    ("version", "deployments", "code", "words"),
    [
        ("36", [deployment("watchdog", namespace="rescue")], 0, ["watchdog", "runs in rescue"]),
        ("36", [], 0, ["watchdog", "there is none: when no operator leads, held pods stay held"]),
        (
            "36",
            [deployment("watchdog", available=0, refused="PriorityClass refused")],
            1,
            ["no pod of it runs in slackwater-system", "PriorityClass refused"],
        ),
        ("35+", [deployment("watchdog")], 0, ["webhook", "new pods are not held"]),
        ("35", [deployment("watchdog"), deployment("webhook")], 0, ["webhook", "runs in slackwater-system"]),
        ("35", [deployment("watchdog"), deployment("webhook", available=0)], 1, ["webhook", "no pod of it runs"]),
    ],
    ids=["elsewhere", "no watchdog", "refused", "no webhook", "webhook", "webhook down"],
)
def test_check_says_whether_watchdog_and_webhook_run(
    run: Run, cluster: Cluster, version: str, deployments: list[Any], code: int, words: list[str]
) -> None:
    """Wherever the watchdog lives; a webhook is looked for before 1.36."""
    cluster.answers["/version"] = {"gitVersion": f"v1.{version}", "minor": version}
    cluster.put(DEPLOYMENTS, *deployments)
    result = run("check")
    assert result.exit_code == code, result.stdout
    assert all(each in result.stdout for each in words), result.stdout
    assert ("webhook" in result.stdout) == version.startswith("35")


def test_check_says_that_it_may_not_see_the_watchdog(run: Run, cluster: Cluster) -> None:
    """A tenant lists no Deployments of other namespaces."""
    cluster.answers[DEPLOYMENTS] = (403, {"message": "deployments.apps is forbidden"})
    result = run("check")
    assert result.exit_code == 0
    assert "whether it runs cannot be read" in result.stdout


@pytest.mark.parametrize(
    ("watchdog", "words"),
    [
        ([deployment("watchdog")], "the watchdog lets held pods go"),
        ([deployment("watchdog", available=0)], "without a watchdog, held pods stay held"),
        ([], "without a watchdog, held pods stay held"),
    ],
    ids=["watchdog", "watchdog down", "no watchdog"],
)
def test_an_old_lease_means_that_no_operator_releases(
    run: Run, cluster: Cluster, watchdog: list[Any], words: str
) -> None:
    """What becomes of held pods depends on the watchdog; the way out is named either way."""
    cluster.put(DEPLOYMENTS, *watchdog)
    leases = cluster.answers["/apis/coordination.k8s.io/v1/namespaces/slackwater-system/leases"]
    assert isinstance(leases, dict)
    leases["items"][0]["spec"]["renewTime"] = "2020-01-01T00:00:00Z"
    result = run("check")
    assert result.exit_code == 1
    assert "slackwater release" in result.stdout
    assert words in result.stdout


def test_an_unreachable_api_server_is_one_sentence(tmp_path: Path) -> None:
    """Raised as Unavailable, which the entry point prints with exit code 2."""
    nowhere = Cluster(url="http://127.0.0.1:1").kubeconfig(tmp_path)
    with pytest.raises(Unavailable, match=r"API server http://127\.0\.0\.1:1"):
        CliRunner().invoke(app, ["apps"], env={"KUBECONFIG": str(nowhere)}, catch_exceptions=False)


def test_the_context_says_which_cluster_and_namespace(cluster: Cluster, tmp_path: Path) -> None:
    """The current context of the kubeconfig, or the one that is named; a wrong name is one sentence."""
    path = cluster.kubeconfig(tmp_path)
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    other = {"name": "away", "context": {"cluster": "c", "user": "u", "namespace": "team-b"}}
    path.write_text(yaml.safe_dump(config | {"contexts": [*config["contexts"], other]}), encoding="utf-8")
    cluster.put(f"{GROUP}/namespaces/team-b/trackedapps")

    def names(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["apps", *arguments], env={"KUBECONFIG": str(path)}, catch_exceptions=False)
        return done.output

    assert "etl" in names()
    assert "no app is tracked there" in names("--context", "away")
    with pytest.raises(Unavailable, match="nonesuch"):
        names("--context", "nonesuch")


def test_top_is_renewed_on_a_terminal_until_interrupted(cluster: Cluster, tmp_path: Path) -> None:
    """A whole screen every second; Ctrl-C is exit code 130 and leaves no traceback."""
    ours, theirs = pty.openpty()
    env = os.environ | {"KUBECONFIG": str(cluster.kubeconfig(tmp_path)), "TERM": "xterm", "COLUMNS": "120"}
    command = [sys.executable, "-c", "from slackwater_cli.main import run; run()", "top", "--interval", "1"]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs, env=env) as top:
        os.close(theirs)
        seen, limit = b"", time.monotonic() + 60
        while seen.count(b"n1") < 2 and time.monotonic() < limit:
            seen += os.read(ours, 65536)
        top.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # a terminal whose program has ended cannot be read
            while part := os.read(ours, 65536):
                seen += part
    os.close(ours)
    assert top.returncode == 130
    assert seen.count(b"n1") >= 2
    assert b"Traceback" not in seen
