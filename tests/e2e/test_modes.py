"""Scenario 8: each mode changes as much as it says, and going back lets everything go."""

import json
from typing import Any

import pytest

from support.lab.testcluster import Field
from support.lab.testnamespace import OURS, Ground, bound, gated, until

pytestmark = pytest.mark.lab
OWN = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "namespace")


def test_observe_changes_no_byte_of_a_pod(arena: Field) -> None:
    """The same pod in an observed and in an unmanaged namespace is stored alike, and stays so while it runs."""
    arena.policy("only-look", {"mode": "observe"})
    with (
        arena.ground("observed", nodes=1, policy="only-look") as seen,
        arena.ground("free", nodes=0, managed=False) as free,
    ):
        body = seen.pod("same", lasts=3, schedulerName="default-scheduler")
        pods = [ground.create([body])[0] for ground in (seen, free)]
        assert _bytes(pods[0]) == _bytes(pods[1])
        seen.until_done(1, 40)
        free.until_done(1, 40)
        assert _bytes(seen.get("same")) == _bytes(free.get("same"))


def test_observe_says_what_it_would_have_done(arena: Field) -> None:
    """A pod that names our scheduler is placed without us, and the decision is remembered as observed."""
    arena.policy("only-look", {"mode": "observe"})
    with arena.ground("observed", nodes=1, policy="only-look") as ground:
        ground.create([ground.pod("looked-at", schedulerName=OURS)])
        ground.until_bound(1, 40)
        results = until("a decision is remembered", lambda: _results(arena, ground), 10)
        assert results == {"observed"}


def test_score_prefers_and_holds_nothing(arena: Field) -> None:
    """No gate, no lowered request, no nomination; our points are asked for and the pod runs."""
    arena.policy("only-score", {"mode": "score"})
    with arena.ground("scored", nodes=2, policy="only-score") as ground:
        (pod,) = ground.create([ground.pod("scored", schedulerName=OURS)])
        assert not gated(pod)
        assert pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "1"
        ground.until_bound(1, 40)
        decisions = arena.ask(f"/v1/decisions?namespace={ground.name}")["decisions"]
        assert "prioritize" in {each["verb"] for each in decisions}
        assert not ground.get("scored")["status"].get("nominatedNodeName")


def test_switching_back_releases_everything(arena: Field) -> None:
    """30 pods for 14 places: the rest is held until the policy says observe; then no gate is left."""
    arena.policy("for-now", {"mode": "enforce"})
    with arena.ground("back", policy="for-now") as ground:
        ground.create(ground.pod(f"pod-{i:02}", app=f"app-{i % 3}", use=("1", "1Gi")) for i in range(30))
        ground.until_bound(10, 40)
        assert any(map(gated, ground.pods()))
        arena.policy("for-now", {"mode": "observe"})
        until("no gate is left", lambda: not any(map(gated, ground.pods())), 40, 0.3)
        until("the nodes are full by requests", lambda: len(bound(ground.pods())) == 30, 60, 0.3)


def _bytes(pod: dict[str, Any]) -> bytes:
    """Metadata and specification without what differs between any two pods: names of volumes, uid, times."""
    metadata = {key: value for key, value in pod["metadata"].items() if key not in OWN}
    spec = json.dumps({key: value for key, value in pod["spec"].items() if key not in ("volumes", "nodeName")})
    volume = next((each["name"] for each in pod["spec"].get("volumes", [])), "none")
    return json.dumps([metadata, spec.replace(volume, "token")], sort_keys=True).encode()


def _results(arena: Field, ground: Ground) -> set[str]:
    return {each["result"] for each in arena.ask(f"/v1/decisions?namespace={ground.name}")["decisions"]}
