"""Pods as the real controllers wrote them (recorded by `make frameworks`): one app each, with the right roles."""

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from slackwater_cluster.apps.resolver import Member, Resolver
from slackwater_cluster.frameworks import builtin
from slackwater_cluster.objects import wire
from slackwater_cluster.watch import trim
from support.builders.owners import Owners

FOLDER = Path(__file__).parent / "recorded"
RESOLVER = Resolver.of(builtin())
# By the beginning of a recording's name: the app's framework, and its pods by role.
EXPECTED = {
    "spark-operator": ("spark-operator", {"driver": 1, "task": 2}),
    "spark": ("spark", {"driver": 1, "task": 2}),
    "job": ("job", {"task": 13}),
    "dask-operator": ("dask", {"driver": 1, "task": 2}),
    "kuberay": ("ray", {"driver": 1, "task": 2}),
    "jobset": ("jobset", {"task": 4}),
    "argo": ("argo", {"task": 8}),
    "rayjob-submitter": ("job", {"task": 1}),
    "mpi-operator": ("mpi", {"driver": 1, "task": 2}),
    "trainer": ("jobset", {"task": 4}),
    "flink": ("flink", {"driver": 1, "task": 2}),
}
# By the end of a recording's name, where its pods are others.
OTHERS = {"client-mode": {"task": 2}, "adaptive": {"driver": 1, "task": 3}, "mpi": {"driver": 1, "task": 2}}


class Recording(msgspec.Struct):
    """Pods, and by uid the owners of owners that are no pods."""

    pods: list[wire.Pod]
    above: dict[str, list[wire.Owner]]

    def members(self) -> list[Member]:
        """What each pod is to its app."""
        pods = [trim.pod(each) for each in self.pods]
        owners = Owners(pods, {uid: trim.owners(above, pods[0].namespace) for uid, above in self.above.items()})
        return [RESOLVER.resolve(pod, owners) for pod in pods]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_the_pods_of_one_run_are_one_app_with_the_right_roles(path: Path) -> None:
    """By labels and owners alone."""
    members = msgspec.json.decode(path.read_bytes(), type=Recording).members()
    framework, roles = next(found for start, found in EXPECTED.items() if path.name.startswith(f"{start}-"))
    assert len({member.app for member in members}) == 1
    assert {member.framework for member in members} == {framework}
    roles = next((found for end, found in OTHERS.items() if path.stem.endswith(end)), roles)
    assert Counter(member.role for member in members) == roles
    assert not any(member.doubts for member in members)


CALLED = {
    "kuberay-v1.6.0-rayjob": "nightly",
    "kuberay-v1.6.0-raycluster": "squares",
    "rayjob-submitter-v1.6.0": "nightly",
    "spark-4.3.0-cluster-mode": "shuffle",
    "spark-operator-v2.5.1": "etl",
    "trainer-v2.3.0-torch": "mnist",
}


@pytest.mark.parametrize("recording", sorted(CALLED))
def test_an_app_has_the_name_that_people_gave_it(recording: str) -> None:
    """And not one that a controller made up for this run."""
    members = msgspec.json.decode((FOLDER / f"{recording}.json").read_bytes(), type=Recording).members()
    assert {member.name for member in members} == {CALLED[recording]}
