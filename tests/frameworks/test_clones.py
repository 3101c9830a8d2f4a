"""Further runs of recorded apps are apps of their own, and are recognised as the recorded one was."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from slackwater_cluster.apps.resolver import Resolver
from slackwater_cluster.frameworks import builtin
from slackwater_cluster.objects import wire
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.watch import trim
from support.builders.owners import Owners
from support.frameworks.clones import Object, Recording, Run
from support.frameworks.results import RECORDED

RESOLVER = Resolver.of(builtin())
EVERY = pytest.mark.parametrize("path", sorted(RECORDED.glob("*.json")), ids=lambda path: path.stem)


def owned(run: Run) -> dict[str, list[Object]]:
    """Give the run's owners uids as an API server would; by uid the owners above each."""
    above = {}
    for recorded in run.recording.owners:
        uid = run.uids[recorded["uid"]] = f"{run.id}-{recorded['kind']}-{recorded['name']}"
        above[uid] = run.owner(recorded)["metadata"]["ownerReferences"]
    return above


def bodies(run: Run) -> list[Object]:
    """All pods of the run, named as the player names them."""
    leader = {"name": f"{run.id}-driver", "uid": f"{run.id}-driver"}
    found = {f"{run.id}-task-{n}": run.task(n, leader) for n in range(len(run.recording.tasks))}
    if run.recording.drivers:
        found[f"{run.id}-driver"] = run.driver()
    for name, body in found.items():
        body["metadata"] |= {"name": name, "uid": name, "namespace": "team"}
    return list(found.values())


def record(body: Object) -> PodRecord:
    """As a watch would tell it."""
    return trim.pod(msgspec.convert(body, wire.Pod))


def lineage(pods: list[PodRecord], above: Mapping[str, list[Object]]) -> Owners:
    """Owners as look-ups would find them."""
    found = {uid: msgspec.convert(each, list[wire.Owner]) for uid, each in above.items()}
    return Owners(pods, {uid: trim.owners(each, pods[0].namespace) for uid, each in found.items()})


@EVERY
def test_two_runs_are_two_apps_with_the_recorded_roles(path: Path) -> None:
    """No label, id or owner of one run is left in the other."""
    recording = Recording.read(path)
    runs = [Run(recording, f"etl-{number}") for number in (1, 2)]
    above = owned(runs[0]) | owned(runs[1])
    pods = [record(body) for run in runs for body in bodies(run)]
    members = [RESOLVER.resolve(pod, lineage(pods, above)) for pod in pods]
    assert not any(member.doubts for member in members)
    assert len({member.app for member in members}) == 2
    roles = Counter(member.role for member in members)
    assert roles == {
        role: 2 * count for role, count in (("driver", len(recording.drivers)), ("task", len(recording.tasks))) if count
    }


@EVERY
def test_a_run_asks_for_what_its_owner_declared(path: Path) -> None:
    """The recorded pods carry requests that Slackwater had lowered, and its annotations; a new run carries neither."""
    recording = Recording.read(path)
    run = Run(recording, "etl-1")
    owned(run)
    for body in bodies(run):
        assert not [key for key in body["metadata"]["annotations"] if key.startswith("slackwater.io/")]
        assert "schedulerName" not in body["spec"]
    declared = recording.tasks[0]["metadata"]["annotations"]["slackwater.io/declared-cpu"]
    asking = [each for each in run.task(0, None)["spec"]["containers"] if each["resources"].get("requests")]
    assert [each["resources"]["requests"]["cpu"] for each in asking] == [declared]
