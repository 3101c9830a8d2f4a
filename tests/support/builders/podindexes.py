"""Indexes of pods over managed namespaces."""

from slackwater_cluster import names
from slackwater_cluster.apps.membership import PodIndex
from slackwater_cluster.governance import Governance
from slackwater_cluster.objects.records import NamespaceRecord


def governed(**policies: str) -> Governance:
    """Namespaces that are managed: `team`, and others with the policy given for each."""
    governance = Governance()
    labels = {"team": {}, **{name: {names.POLICY: policy} for name, policy in policies.items()}}
    governance.set_namespaces(
        NamespaceRecord(name=name, labels={names.MANAGED: "true", **more}) for name, more in labels.items()
    )
    return governance


def index(**policies: str) -> PodIndex:
    """An index over those namespaces."""
    return PodIndex(governed(**policies))
