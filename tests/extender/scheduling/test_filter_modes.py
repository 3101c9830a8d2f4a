"""How much the extender does is the namespace's policy, at any moment."""

from __future__ import annotations

from support.fakes.extender import custom
from support.fakes.placing import task, two

CPU = "slackwater: measured cpu room too small"


def test_observe_changes_nothing_and_remembers_what_it_would_have_done() -> None:
    """Every node passes, every score is 0, nothing is charged."""
    made = two()
    made.policy(mode="observe")
    assert made.filter(task(), "idle", "busy")["NodeNames"] == ["idle", "busy"]
    assert made.prioritize(task(), "idle", "busy") == {"idle": 0, "busy": 0}
    assert len(made.parts.cache.ledger) == 0
    decision = made.get("/v1/decisions")["decisions"][-1]
    assert (decision["result"], decision["node"], decision["counts"]) == ("observed", "idle", {CPU: 1})


def test_score_prefers_and_refuses_nobody() -> None:
    """Nodes without room get 0, the others more."""
    made = two()
    made.policy(mode="score")
    assert made.filter(task(), "idle", "busy")["NodeNames"] == ["idle", "busy"]
    assert made.prioritize(task(), "idle", "busy") == {"idle": 10, "busy": 0}


def test_modes_change_at_run_time() -> None:
    """A policy's edit acts on the next question."""
    made = two()
    assert made.filter(task(), "busy")["NodeNames"] == []
    made.policy(mode="observe")
    assert made.filter(task(), "busy")["NodeNames"] == ["busy"]
    made.policy(mode="enforce")
    assert made.filter(task(), "busy")["NodeNames"] == []


def test_each_namespace_follows_its_own_policy() -> None:
    """The label slackwater.io/policy chooses."""
    made = two()
    made.namespace("trial", policy="gentle")
    made.policy("gentle", mode="observe")
    assert made.filter(task(namespace="trial"), "busy")["NodeNames"] == ["busy"]
    assert made.filter(task(namespace="batch"), "busy")["NodeNames"] == []


def test_a_broken_policy_leaves_the_last_good_one() -> None:
    """And readiness says so."""
    made = two()
    made.policy(mode="everything")
    assert made.filter(task(), "busy")["NodeNames"] == []
    assert ("SlackPolicy", "default") in made.parts.cache.governance.broken


def test_a_deleted_policy_means_observe() -> None:
    """Nothing is held that nobody asked to hold."""
    made = two()
    made.parts.cache.governance.drop("SlackPolicy", [custom("default", {})])
    assert made.filter(task(), "busy")["NodeNames"] == ["busy"]


def test_other_terms_make_a_new_ledger() -> None:
    """The allowance of the policy `default` changes what every node may take; pods stay where they are."""
    made = two()
    made.show(task("r", node="idle"))
    made.policy(mode="enforce", estimation={"allowance": 0.5})
    made.sample({"idle": (0.0, 0.0)})
    assert made.get("/v1/nodes/idle")["resources"]["memory"]["allowed"] == 32 * 2**30
    assert made.charged("idle") == {"uid-batch-r"}
