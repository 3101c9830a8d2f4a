"""Which policy governs a namespace, and so how much the extender may do there. Changes act at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import structlog
from pydantic import ValidationError

from slackwater.estimation.estimator import Mode as Estimation
from slackwater.ledger.types import LedgerConfig
from slackwater.placement.score import Weights
from slackwater.resources import CPU, MEMORY, Kinds
from slackwater_cluster.customresources import Mode, SlackPolicySpec
from slackwater_cluster.names import DEFAULT_POLICY
from slackwater_cluster.watch.records import CustomRecord, NamespaceRecord

log = structlog.get_logger(__name__)

UNWRITTEN = SlackPolicySpec()  # every default; its mode is observe, so nothing is changed


class PolicyTerms:
    """Namespaces and the SlackPolicies they name."""

    def __init__(self) -> None:
        self._namespaces: dict[str, NamespaceRecord] = {}
        self._policies: dict[str, SlackPolicySpec] = {}
        self.broken: dict[str, str] = {}  # policies that could not be read, and why; the last good one stays in force

    def set_namespaces(self, records: Iterable[NamespaceRecord]) -> None:
        """Take over namespaces."""
        self._namespaces.update({record.name: record for record in records})

    def drop_namespaces(self, records: Iterable[NamespaceRecord]) -> None:
        """Forget namespaces."""
        for record in records:
            self._namespaces.pop(record.name, None)

    def set_policies(self, records: Iterable[CustomRecord]) -> None:
        """Take over policies; one that contradicts itself changes nothing but is reported."""
        for record in records:
            try:
                self._policies[record.name] = SlackPolicySpec.model_validate(record.spec)
                self.broken.pop(record.name, None)
            except ValidationError as problem:
                self.broken[record.name] = str(problem.errors()[0]["msg"])
                log.warning("policy not understood", policy=record.name, problem=self.broken[record.name])

    def drop_policies(self, records: Iterable[CustomRecord]) -> None:
        """Forget policies: their namespaces fall back to observe."""
        for record in records:
            self._policies.pop(record.name, None)
            self.broken.pop(record.name, None)

    def managed(self, namespace: str) -> bool:
        """Whether the namespace opted in."""
        found = self._namespaces.get(namespace)
        return found is not None and found.managed

    def managed_namespaces(self) -> list[str]:
        """All that opted in, sorted."""
        return sorted(name for name, record in self._namespaces.items() if record.managed)

    def of(self, namespace: str) -> SlackPolicySpec:
        """The policy in force in a namespace."""
        found = self._namespaces.get(namespace)
        return self._policies.get(found.policy if found else DEFAULT_POLICY, UNWRITTEN)

    def mode(self, namespace: str) -> Mode:
        """How much may be done there."""
        return self.of(namespace).mode

    def modes(self) -> Mapping[str, int]:
        """Managed namespaces by mode."""
        counts = dict.fromkeys((mode.value for mode in Mode), 0)
        for name in self.managed_namespaces():
            counts[self.mode(name).value] += 1
        return counts

    def ceilings(self, kinds: Kinds) -> tuple[float, ...]:
        """How far each kind may be overcommitted: the largest ceiling of any policy in force; other kinds, never."""
        chosen = [self.of(name).ceiling for name in self.managed_namespaces()] or [self.of("").ceiling]
        most = {
            CPU: max(each.cpu_percent for each in chosen) / 100,
            MEMORY: max(each.memory_percent for each in chosen) / 100,
        }
        return tuple(most.get(kind, 1.0) for kind in kinds)

    def terms(self, kinds: Kinds) -> LedgerConfig:
        """How the ledger charges. One ledger serves all namespaces, so the policy `default` decides for nodes."""
        chosen = self._policies.get(DEFAULT_POLICY, UNWRITTEN).estimation
        return LedgerConfig(
            kinds=kinds,
            alpha=chosen.damping,
            tau0={CPU: chosen.tau_seconds, MEMORY: chosen.memory_tau_seconds},
            allowance=chosen.allowance,
            mode=Estimation(chosen.mode.value),
            margin=chosen.known_margin_percent / 100,
            heartbeat=chosen.heartbeat_seconds,
            patience=float(chosen.stale_after_periods),
        )


def weights(policy: SlackPolicySpec) -> Weights:
    """Score weights, scaled so that they add up to 1: the score stays within 0 to 10 whatever was written."""
    fitness, network = policy.score.fitness_weight, policy.score.network_weight
    whole = fitness + network
    return Weights(fitness / whole, network / whole) if whole > 0 else Weights()
