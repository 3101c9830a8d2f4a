"""Which kinds of resources decisions are about: cpu, memory and extended ones."""

from __future__ import annotations

from slackwater.resources import Resources

# Kinds that kube-scheduler and kubelet look after alone.
IGNORED = ("ephemeral-storage", "pods")
# The last ones are devices of a DeviceClass (KEP-5004), which no node names: the scheduler makes a claim for them.
IGNORED_PREFIXES = ("hugepages-", "attachable-volumes-", "deviceclass.resource.kubernetes.io/")


def counted(kind: str) -> bool:
    """Whether a kind of resource is counted."""
    return kind not in IGNORED and not kind.startswith(IGNORED_PREFIXES)


def counted_amounts(amounts: Resources) -> Resources:
    """Only the kinds that are counted."""
    return Resources({kind: value for kind, value in amounts.items() if counted(kind)})
