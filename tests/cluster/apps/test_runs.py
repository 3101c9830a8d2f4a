"""The name that runs of an app share."""

from time import process_time

import pytest

from slackwater_cluster.apps.runs import series, unscheduled


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("job/backup-29112345", "job/backup"),
        ("etl-2026-01-31", "etl"),
        ("spark/spark-697870a6d7a34b0f8e2f3c5d6a7b8c9d", "spark/spark"),
        ("argo/flow-x7k2p", "argo/flow"),
        ("replicaset/web-5d4c8b7f6z-x7k2p", "replicaset/web"),
        ("nightly_7", "nightly"),
        ("train-first", "train-first"),
        ("model-large", "model-large"),
        ("job/2026", "job/2026"),
        ("-1", "-1"),
    ],
)
def test_what_changes_from_run_to_run_is_left_out(name: str, expected: str) -> None:
    """Counters, times, digests and generated suffixes go; words that people chose stay."""
    assert series(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("backup-29112345", "backup"),
        ("flow-1767225600", "flow"),
        ("pi-1767225600000000000", "pi"),
        ("train-7", "train-7"),
    ],
    ids=["CronJob", "CronWorkflow", "ScheduledSparkApplication", "numbered by hand"],
)
def test_the_time_of_a_schedule_is_no_part_of_a_name(name: str, expected: str) -> None:
    """A number that a person wrote is."""
    assert unscheduled(name) == expected


@pytest.mark.parametrize("name", [f"job{'-1' * 22}-x", f"job{'-1' * 5000}-x", f"job{'.-' * 5000}", "-" * 10_000])
def test_a_name_of_many_numbers_is_read_in_no_time(name: str) -> None:
    """Each way to divide them was tried: 50 letters took 2 s, 52 took 4, and one pod stopped every release for good."""
    began = process_time()
    series(name)
    assert process_time() - began < 0.5


@pytest.mark.parametrize(
    ("name", "stem"),
    [("etl-1--2", "etl"), ("etl-1-", "etl"), ("etl-", "etl-"), ("etl--1", "etl-"), ("etl-1_-2", "etl-1_")],
)
def test_dashes_between_numbers_go_with_them(name: str, stem: str) -> None:
    """Only behind a number: others are part of the name."""
    assert series(name) == stem
