"""Records and policies of the cluster as core wants them: nodes, claims and asks by kind, and how to charge them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from slackwater.estimation.mode import Mode as Estimation
from slackwater.ledger.types import Amounts, ClaimState, LedgerConfig, NodeSpec, PodClaim
from slackwater.nodetable import PodAsk
from slackwater.placement.rowmasks import rows_of
from slackwater.placement.score import Weights
from slackwater.resources import CPU, MEMORY, Kinds, Resources
from slackwater.roles import Role
from slackwater_cluster import names
from slackwater_cluster.apps.resolver import Member
from slackwater_cluster.customresources import SlackPolicySpec
from slackwater_cluster.governance import Governance
from slackwater_cluster.objects.records import NodeRecord, PodRecord
from slackwater_cluster.pods.declared import ceiling

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.nodetable import NodeTable
    from slackwater.placement.rowmasks import Rows

INSTANCE_TYPE = "node.kubernetes.io/instance-type"


@lru_cache(maxsize=16_384)
def amounts(resources: Resources, kinds: Kinds) -> Amounts:
    """The amounts in the ledger's order; equal ones are one tuple."""
    return tuple(resources[kind] for kind in kinds)


@lru_cache(maxsize=256)
def ceilings(shrunk: str, kinds: Kinds) -> Amounts:
    """The sealed ceiling per kind; kinds that are never shrunk have 1."""
    factors = ceiling(shrunk)
    return tuple(factors.get(kind, 1.0) for kind in kinds)


def learned_as(pod: PodRecord, member: Member) -> str:
    """The name under which a pod's use is learned: what the runs of its app share, and its stage."""
    return sys.intern(f"{pod.namespace}/{member.series or member.app}/{member.stage}")


def node_spec(node: NodeRecord, kinds: Kinds, eviction: Mapping[str, float]) -> NodeSpec:
    """A node for the ledger. The API does not show the hard eviction threshold, so it is a setting."""
    return NodeSpec(
        name=node.name,
        allocatable=amounts(node.allocatable, kinds),
        capacity=amounts(node.capacity, kinds),
        eviction=tuple(min(eviction.get(kind, 0.0), node.capacity[kind]) for kind in kinds),
        ready=node.ready,
        cordoned=node.cordoned,
        machine=machine(node),
        created=node.created,
    )


def machine(node: NodeRecord) -> str:
    """The type of a node's machine, as its cloud calls it; else its size."""
    size = node.allocatable
    return node.labels.get(INSTANCE_TYPE) or f"{size['cpu']:.0f} cpu, {size['memory'] / 2**30:.0f} GiB"


def claim(pod: PodRecord, kinds: Kinds, *, role: Role, app: str, managed: bool, node: str = "") -> PodClaim:
    """A pod's claim on its node, or on the one it is about to get."""
    placed = bool(node) and not pod.node
    return PodClaim(
        uid=pod.uid,
        node=node or pod.node,
        # Only pods of managed namespaces passed our admission policy: elsewhere anybody may write its annotations.
        declared=amounts(pod.declared if managed else pod.native, kinds),
        native=amounts(pod.native, kinds),
        role=role,
        app=app,
        state=ClaimState.RESERVED if placed else state(pod),
        # Age counts from the container's start: an image may be pulled for minutes after the bind.
        started=None if placed else pod.started or None,
        ceiling=ceilings(pod.annotations.get(names.SHRUNK, ""), kinds) if managed else (),
        managed=managed,
        guaranteed=pod.guaranteed,
    )


def in_kinds(claim: PodClaim, before: Kinds, kinds: Kinds) -> PodClaim:
    """A claim in the kinds of another ledger; of those it did not know it takes nothing."""

    def moved(values: Amounts, missing: float) -> Amounts:
        known = dict(zip(before, values, strict=True))
        return tuple(known.get(kind, missing) for kind in kinds)

    return claim._replace(
        declared=moved(claim.declared, 0.0),
        native=moved(claim.native, 0.0),
        ceiling=moved(claim.ceiling, 1.0) if claim.ceiling else (),
    )


def state(pod: PodRecord) -> ClaimState:
    """Where a pod is in its life on a node."""
    if pod.deleted:
        return ClaimState.TERMINATING
    return ClaimState.RUNNING if pod.started else ClaimState.BOUND


def serving(pod: PodRecord, table: NodeTable, rows: Rows) -> Rows:
    """Those of these rows that have all kinds the pod asks for; one that is not in the table no node offers."""
    return rows if pod.native.within(table.kinds) else rows_of((), table)


def ask(pod: PodRecord, kinds: Kinds, *, driver: bool, allowed: NDArray[np.bool_] | None = None) -> PodAsk:
    """A pod that wants a node."""
    return PodAsk(
        uid=pod.uid,
        declared=amounts(pod.declared, kinds),
        native=amounts(pod.native, kinds),
        driver=driver,
        submitted=pod.created,
        allowed=allowed,
    )


def ledger_config(governance: Governance, kinds: Kinds) -> LedgerConfig:
    """How the ledger charges. One ledger serves all namespaces, so the policy `default` decides for nodes."""
    chosen = governance.default_policy.estimation
    return LedgerConfig(
        kinds=kinds,
        alpha=chosen.damping,
        tau0={CPU: chosen.tau_seconds, MEMORY: chosen.memory_tau_seconds},
        allowance=chosen.allowance,
        mode=Estimation(chosen.mode.value),
        margin=chosen.known_margin_percent / 100,
        heartbeat=chosen.heartbeat_seconds,
        patience=float(chosen.stale_after_periods),
        risk=chosen.probability,
        horizon=chosen.risk_horizon_seconds,
    )


def overcommit(governance: Governance, kinds: Kinds) -> Amounts:
    """How far each kind may be overcommitted: the largest ceiling of any policy in force; other kinds, never."""
    policies = [governance.policy(name) for name in governance.managed_namespaces()] or [governance.default_policy]
    most = {
        CPU: max(each.ceiling.cpu_percent for each in policies) / 100,
        MEMORY: max(each.ceiling.memory_percent for each in policies) / 100,
    }
    return tuple(most.get(kind, 1.0) for kind in kinds)


def weights(policy: SlackPolicySpec) -> Weights:
    """Score weights, scaled so that they add up to 1: the score stays within 0 to 10 whatever was written."""
    fitness, network = policy.score.fitness_weight, policy.score.network_weight
    whole = fitness + network
    return Weights(fitness / whole, network / whole) if whole > 0 else Weights()
