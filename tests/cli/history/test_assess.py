"""`slackwater assess`, `export` and `what-if` from the outside."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from rich.text import Text
from typer.testing import CliRunner, Result

from slackwater.errors import InvalidInput, UnknownName
from slackwater.estimation.efficiency import Usage as Efficiency
from slackwater_cli.main import app
from slackwater_monitor.assessment.assessment import Assessment, RequestedAndUsed
from slackwater_monitor.assessment.pods import PodHistory
from slackwater_monitor.assessment.prices import Prices
from slackwater_monitor.assessment.report.tables import idle_cost
from slackwater_monitor.assessment.report.values import idle_month, rows
from slackwater_monitor.assessment.usage import UsageStatistics
from slackwater_monitor.export import Export, Happened, write
from slackwater_monitor.history.grid import grid
from slackwater_simulator.workload.readers import parquet
from slackwater_simulator.workload.workload import GIBI, Driver, Job, Stage, Usage, Workload
from support.builders.weeks import TOOLS, openmetrics, prometheus, week
from support.fakes.httpcluster import Cluster, served

UNTIL = "2026-01-12T00:00:00Z"


def run(*arguments: str) -> Result:
    """Run a command; its exceptions are raised."""
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False, env={"COLUMNS": "160"})


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A day in a real Prometheus."""
    if not TOOLS:
        pytest.skip("prometheus and promtool are not installed")
    with prometheus(tmp_path_factory.mktemp("prometheus"), openmetrics(week(days=1))) as address:
        yield address


def test_a_cluster_is_assessed_in_one_command(url: str, tmp_path: Path) -> None:
    """A table on the screen, a page and a JSON file on disk, the same numbers in JSON."""
    options = ["--prometheus", url, "--since", "1d", "--until", UNTIL, "--cache", str(tmp_path / "c"), "--rate", "1000"]
    shown = run("assess", *options, "--report", str(tmp_path / "r"))
    assert "best places to start" in shown.stdout
    assert (tmp_path / "r" / "index.html").exists()
    printed = json.loads(run("assess", *options, "-o", "json").stdout)
    assert printed == json.loads((tmp_path / "r" / "assessment.json").read_text(encoding="utf-8"))
    assert printed["summary"]["cpu"]["efficiency"] == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize("level", ["container", "pod", "app", "namespace", "user", "node"])
def test_a_table_is_made_of_any_level(url: str, tmp_path_factory: pytest.TempPathFactory, level: str) -> None:
    """Requested, mean, p95, max and efficiency of each; limits in the wide table."""
    cache = tmp_path_factory.getbasetemp() / "levels"
    options = ["--prometheus", url, "--since", "1d", "--until", UNTIL, "--cache", str(cache), "--rate", "1000"]
    shown = run("assess", *options, "--by", level).stdout
    assert f"{level}s that waste most" in shown
    assert all(head in shown for head in ("CPU asked", "mean", "p95", "max", "eff.", "MEM asked"))
    assert "limit" not in shown
    assert "limit" in run("assess", *options, "--by", level, "-o", "wide").stdout


@pytest.mark.parametrize("command", [("assess",), ("export", "day.parquet")])
def test_a_namespace_without_pods_is_told(url: str, tmp_path: Path, command: tuple[str, ...]) -> None:
    """In a sentence, which is exit code 2."""
    options = ["--prometheus", url, "--since", "1d", "--until", UNTIL, "--cache", str(tmp_path / "c"), "--rate", "1000"]
    with pytest.raises(InvalidInput, match="--namespace: no pod of shpo was measured"):
        run(*command, *options, "-n", "shpo")


def test_use_without_a_request_takes_nothing_off_what_is_idle() -> None:
    """Two cores are asked for and one of them used; three more are used by whoever asks for nothing."""
    course = RequestedAndUsed(used=np.array([4.0, 4.0]), asked=np.array([2.0, 2.0]))
    levels: dict[str, Any] = {
        "namespace": {"cpu": {("shop",): UsageStatistics(4.0, 4.0, 4.0, 2.0, 60.0, Efficiency(60.0, 120.0))}}
    }
    found = Assessment(
        grid(120, 120, 60), 30.0, {}, levels, {}, PodHistory(), {"cpu": course}, {}, [], {}, [], {}, {}
    )  # fmt: skip
    assert "about $730 a month" in idle_cost(found, Prices(1.0, 0.0))


def test_rows_and_their_sum_are_means_over_the_same_time() -> None:
    """Where Prometheus is younger than the period asked for, too: a day of samples in a week."""
    day, windows = 86_400.0, grid(7 * 86_400, 7 * 86_400, 3600)
    asked, used = (np.full(windows.count, np.nan) for _ in range(2))
    asked[-24:], used[-24:] = 10.0, 3.0
    shop = UsageStatistics(3.0, 3.0, 3.0, 10.0, day, Efficiency(3.0 * day, 10.0 * day))
    levels: dict[str, Any] = {"namespace": {"cpu": {("shop",): shop}}}
    levels |= {"container": {}}  # of which limits are told
    courses = {"cpu": RequestedAndUsed(used, asked)}
    found = Assessment(windows, 30.0, {}, levels, {}, PodHistory(), courses, {}, [], {}, [], {}, {})
    (row,) = rows(found, "namespace", Prices(1.0, 0.0))
    assert row["idle_month"] == pytest.approx(7.0 * 730) == pytest.approx(idle_month(found, Prices(1.0, 0.0)))


def test_yaml_holds_what_json_holds(url: str, tmp_path: Path) -> None:
    """Every level, the curves of efficiency, what is reclaimable at which risk, and where to start."""
    options = ["--prometheus", url, "--since", "1d", "--until", UNTIL, "--cache", str(tmp_path / "c"), "--rate", "1000"]
    found = yaml.safe_load(run("assess", *options, "-o", "yaml").stdout)
    assert found == json.loads(run("assess", *options, "-o", "json").stdout)
    assert set(found["levels"]) == set(found["efficiency_cdf"])
    assert {"share", "tasks", "others", "alone", "pooled"} <= set(found["reclaimable"]["cpu"][0])
    assert len(found["start_here"]) <= 10


def test_an_interrupted_assessment_goes_on_where_it_stopped(url: str, tmp_path: Path) -> None:
    """Ctrl-C is exit code 130; the second run asks for nothing that the first one has."""
    cache = tmp_path / "c"
    options = ["assess", "--prometheus", url, "--since", "1d", "--until", UNTIL, "--cache", str(cache)]
    program = [sys.executable, "-c", "from slackwater_cli.main import run; run()", *options]
    with subprocess.Popen([*program, "--rate", "20"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as first:
        limit = time.monotonic() + 60
        while len(list(cache.rglob("*.npz"))) < 3 and time.monotonic() < limit:
            time.sleep(0.05)
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=30)
    assert first.returncode == 130
    kept = {path: path.stat().st_mtime_ns for path in cache.rglob("*.npz")}
    assert len(kept) >= 3
    second = subprocess.run([*program, "--rate", "1000"], capture_output=True, text=True, check=True)
    assert "best places to start" in second.stdout
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert len(list(cache.rglob("*.npz"))) > len(kept)


def test_progress_is_shown_on_the_error_stream_of_a_terminal_only(url: str, tmp_path: Path) -> None:
    """So that results can be piped on."""
    options = ["assess", "--prometheus", url, "--since", "1d", "--until", UNTIL, "--rate", "1000", "-o", "json"]
    program = [sys.executable, "-c", "from slackwater_cli.main import run; run()", *options]
    said = {}
    for name, more in (("terminal", {"FORCE_COLOR": "1", "TERM": "xterm"}), ("pipe", {})):
        env = {key: value for key, value in os.environ.items() if key not in ("FORCE_COLOR", "TTY_INTERACTIVE")} | more
        done = subprocess.run(
            [*program, "--cache", str(tmp_path / name)], env=env, capture_output=True, text=True, check=True
        )
        json.loads(done.stdout)
        said[name] = done.stderr
    assert "asking Prometheus" in said["terminal"]
    assert said["pipe"] == ""


def test_a_past_is_exported_and_replayed(url: str, tmp_path: Path) -> None:
    """Export, then what-if, with the error of the replay."""
    options = ["--prometheus", url, "--since", "1d", "--until", UNTIL, "--cache", str(tmp_path / "c"), "--rate", "1000"]
    trace = str(tmp_path / "day.parquet")
    assert run("export", trace, *options).exit_code == 0
    found = json.loads(run("what-if", trace, "-p", "kube,fair", "-o", "json").stdout)
    assert set(found["policies"]) == {"kube", "fair"}
    assert found["was"] == "kube"
    assert set(found["replay_error"]) == {"makespan", "completion", "wait"}


def test_jobs_that_would_not_have_finished_have_a_column(tmp_path: Path) -> None:
    """They are in no time of the table, so that a cluster that refuses them would look like a quick one."""
    jobs = tuple(Job(f"j{cores}", 0.0, (Stage("m", (cores, GIBI), np.full(4, 10.0)),)) for cores in (1.0, 9.0))
    trace = str(tmp_path / "two.parquet")
    write(Export(Workload("two", jobs), {"n": (16.0, 64 * GIBI)}, []), tmp_path / "two.parquet")
    assert "unfinished" not in run("what-if", trace, "-p", "kube").stdout
    assert "unfinished" in run("what-if", trace, "-p", "kube", "--cluster", "2x4c16Gi").stdout


def test_a_terminal_of_80_columns_has_room_for_the_numbers_of_what_if(tmp_path: Path) -> None:
    """The names of policies take two lines there; in a pipe every row is one."""
    stage = Stage("m", (1.0, GIBI), np.full(40, 400.0), usage=Usage(np.full(40, 0.5), np.full(40, 0.05)))
    job = Job("j", 0.0, (stage,), Driver((1.0, GIBI)))
    trace = str(tmp_path / "one.parquet")
    write(Export(Workload("one", (job,)), {"n": (16.0, 64 * GIBI)}, []), tmp_path / "one.parquet")
    terminal = {"COLUMNS": "80", "TTY_COMPATIBLE": "1"}
    asked = ["what-if", trace, "-p", "kube,capacity"]
    shown = Text.from_ansi(CliRunner().invoke(app, asked, env=terminal).stdout).plain
    assert max(map(len, shown.splitlines())) <= 80
    assert "capacity (world yarn)" not in shown
    assert "capacity (world yarn)" in CliRunner().invoke(app, asked).stdout


def test_an_uncontended_day_is_replayed_as_it_happened(tmp_path: Path) -> None:
    """Two jobs on an empty node: the replay's makespan is that of the record, but for pod start-up."""
    stage = Stage("tasks-1", (1.0, GIBI), np.full(4, 100.0))
    jobs = tuple(Job(f"j{n}", 50.0 * n, (stage,), Driver((1.0, GIBI))) for n in range(2))
    seen = [Happened(f"j{n}", 50.0 * n, 50.0 * n + 2, 50.0 * n + 102) for n in range(2)]
    write(Export(Workload("two", jobs), {"n": (16.0, 64 * GIBI)}, seen), tmp_path / "two.parquet")
    result = run("what-if", str(tmp_path / "two.parquet"), "-p", "kube", "-o", "json")
    assert abs(json.loads(result.stdout)["replay_error"]["makespan"]) < 0.05
    assert "error of the replay" in run("what-if", str(tmp_path / "two.parquet"), "-p", "kube").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["assess"], "--prometheus"),
        (["assess", "--prometheus", "here"], "http://HOST:PORT"),
        (["assess", "--prometheus", "http://h", "--since", "soon"], "--since"),
        (["assess", "--prometheus", "http://h", "--until", "soon"], "--until"),
        (["assess", "--prometheus", "http://h", "--label", "x=y"], "--label"),
        (["export", "week.csv", "--prometheus", "http://h"], ".jsonl.gz"),
        (["export", "week.parquet"], "--prometheus"),
    ],
    ids=["no address", "no scheme", "since", "until", "label", "ending", "export"],
)
def test_what_is_wrong_is_named_before_anything_is_asked(arguments: list[str], words: str) -> None:
    """With what to write instead."""
    with pytest.raises(InvalidInput, match=words):
        run(*arguments)


def test_an_unknown_policy_is_refused(tmp_path: Path) -> None:
    """With those that exist."""
    write(
        Export(Workload("none", (Job("j", 0.0, (Stage("s", (1.0, GIBI), np.ones(1)),)),)), {"n": (4.0, GIBI)}, []),
        tmp_path / "t.parquet",
    )
    with pytest.raises(UnknownName, match="slackwater"):
        run("what-if", str(tmp_path / "t.parquet"), "-p", "nonesuch")


def test_without_prometheus_and_cluster_one_short_sentence_says_what_to_give(tmp_path: Path) -> None:
    """It does not tell what was tried on the way."""
    command = [sys.executable, "-c", "from slackwater_cli.main import run; run()", "assess"]
    env = {name: text for name, text in os.environ.items() if not name.startswith("KUBE")}
    env |= {"HOME": str(tmp_path), "NO_COLOR": "1"}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    remedy = "add --prometheus http://HOST:PORT, or --trace FILE"
    assert result.stderr == f"--prometheus: no address is given, and no cluster to look for one in; {remedy}\n"


def test_an_unreachable_prometheus_is_one_red_sentence_and_exit_code_2(tmp_path: Path) -> None:
    """No traceback."""
    command = [sys.executable, "-c", "from slackwater_cli.main import run; run()", "assess", "--prometheus"]
    result = subprocess.run(
        [*command, "http://127.0.0.1:1", "--cache", str(tmp_path)],
        capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    assert result.returncode == 2
    assert "Prometheus at http://127.0.0.1:1: it cannot be reached (Connection refused); check" in result.stderr
    assert "Traceback" not in result.stderr


def test_assess_ends_in_what_to_write(url: str, tmp_path: Path) -> None:
    """A patch and a line for each workload of a namespace, with its cost; other namespaces are not asked about."""
    options = ["--prometheus", url, "--since", "1d", "--until", UNTIL, "--cache", str(tmp_path / "c"), "--rate", "1000"]
    rows = json.loads(run("assess", *options, "--advice", "--prices", "aws", "-o", "json").stdout)
    assert rows
    assert all(yaml.safe_load(row["yaml"])["spec"] and row["what_if"] and row["month"] is not None for row in rows)
    chosen = rows[0]["namespace"]
    shown = run("assess", *options, "--advice", "--prices", "aws", "-n", chosen).stdout
    assert "workload that is worth a change" in shown
    assert "Prices: example: about the list price of AWS Fargate, us-east-1 in January 2025" in shown
    assert "resources:" in shown
    few = json.loads(run("assess", *options, "-n", chosen, "-o", "json").stdout)
    assert {row["namespace"] for row in few["levels"]["namespace"]} == {chosen}


def test_csv_has_the_rows_of_the_level_that_was_asked_for(url: str, tmp_path: Path) -> None:
    """`--by` is no matter of the terminal only; money is told where prices are given."""
    options = ["--prometheus", url, "--since", "1d", "--until", UNTIL, "--cache", str(tmp_path / "c"), "--rate", "1000"]
    assert run("assess", *options, "--by", "node", "-o", "csv").stdout.startswith("node,")
    priced = run("assess", *options, "--cpu-price", "0.03", "--report", str(tmp_path / "page")).stdout
    assert "a month (given for a core" in priced
    assert "a month" in next(line for line in priced.splitlines() if line.startswith("namespace  app "))
    page = (tmp_path / "page" / "index.html").read_text()
    assert "a month (given for a core" in page
    assert "a month</th>" in page
    assert "--prices" not in priced
    assert "add --prices aws, azure or gcp" in run("assess", *options).stdout


def test_money_is_in_every_form(url: str, tmp_path: Path) -> None:
    """For programs too: the sum with its prices in JSON, and of each row in CSV; neither where no price is given."""
    options = ["--prometheus", url, "--since", "1d", "--until", UNTIL, "--cache", str(tmp_path / "c"), "--rate", "1000"]
    prices = ["--cpu-price", "0.03", "--gib-price", "0.004"]
    report = ["--report", str(tmp_path / "r")]
    idle = json.loads(run("assess", *options, *prices, *report, "-o", "json").stdout)["idle"]
    assert json.loads((tmp_path / "r" / "assessment.json").read_text(encoding="utf-8"))["idle"] == idle
    assert (idle["core"], idle["gib"], idle["source"]) == (0.03, 0.004, "given")
    printed = csv.DictReader(io.StringIO(run("assess", *options, *prices, "-o", "csv").stdout))
    assert sum(float(row["idle_month"]) for row in printed) == pytest.approx(idle["a_month"], rel=0.05)
    assert "idle" not in json.loads(run("assess", *options, "-o", "json").stdout)
    assert "idle_month" not in run("assess", *options, "-o", "csv").stdout


def test_a_trace_is_reported_and_knows_no_levels(tmp_path: Path) -> None:
    """A page and a JSON file; what a trace cannot have is refused."""
    stage = Stage("map", (1.0, GIBI), np.full(4, 10.0), usage=Usage(cpu=np.full(4, 0.5), memory=np.full(4, 0.5)))
    path = tmp_path / "small.parquet"
    parquet.write(Workload("small", (Job("j", 0.0, (stage,)),)), path)
    run("assess", "--trace", str(path), "--report", str(tmp_path / "r"))
    assert "used of requested" in (tmp_path / "r" / "index.html").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "r" / "trace.json").read_text(encoding="utf-8"))["rows"] > 0
    for unread in (
        ("--by", "app"),
        ("--advice",),
        ("-n", "a"),
        ("--since", "7d"),
        ("--cpu-price", "1"),
        ("--rows", "3"),
    ):
        with pytest.raises(InvalidInput, match=r"it is for clusters, not for --trace; leave --.* out"):
            run("assess", "--trace", str(path), *unread)
    with pytest.raises(InvalidInput, match="--namespace: "):
        run("assess", "--trace", str(path), "-n", "a")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--risk", "often"), "write 5%"),
        (("--risk", "90%"), "not between"),
        (("-n", 'a"b'), "no name of a namespace"),
        (("--prices", "ibm"), "aws"),
    ],
)
def test_wishes_that_make_no_sense_are_refused(arguments: tuple[str, ...], said: str) -> None:
    """Before anybody is asked."""
    with pytest.raises(InvalidInput, match=said):
        run("assess", "--prometheus", "http://127.0.0.1:1", *arguments)


def test_prometheus_is_found_through_the_api_server(tmp_path: Path) -> None:
    """Among the Services of the kubeconfig's cluster; without one, the error says what was looked for."""
    from slackwater_cli.history.prometheus import Server  # noqa: PLC0415 - the options of the command

    with served(Cluster()) as cluster:
        server = Server(kubeconfig=cluster.kubeconfig(tmp_path), match=["cluster=prod"])
        cluster.put("/api/v1/services")
        with pytest.raises(InvalidInput, match=r"looks like Prometheus.*--prometheus http"):
            server.connection(None)
        ports = [{"name": "http", "port": 80}]
        cluster.put(
            "/api/v1/services", {"metadata": {"name": "prometheus-server", "namespace": "m"}, "spec": {"ports": ports}}
        )
        found = server.connection(None)
        assert found.url == f"{cluster.url}/api/v1/namespaces/m/services/prometheus-server:http/proxy"
        assert found.credentials.headers() == {"Authorization": "Bearer t"}
        assert found.matchers == server.connection("http://p").matchers == {"cluster": "prod"}
