"""What the PodGroups of Kubernetes' own Workload API make of an app: a gang, until as many pods as each needs started.

All pods that name a group count, its driver too: kube-scheduler binds none of them before it can bind so many. A driver
of a gang is therefore released as one of its tasks; the others would else wait for it to run, and it for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from slackwater.admission.quorum import GangMembers, Quorum, quorum
from slackwater.roles import Role
from slackwater_cluster.apps.podgroups import GroupKey, PodGroups, group_key
from slackwater_operator.cache.apps.appindex import Pod
from slackwater_operator.cache.podstate import PodState

_MAY_GO = frozenset({PodState.HELD, PodState.PARKED})
_CHARGED = frozenset({PodState.RELEASED, PodState.BOUND})
_OVER = frozenset({PodState.DONE, PodState.WITHDRAWN})


class Standing(NamedTuple):
    """A pod and where it stands."""

    pod: Pod
    state: PodState


class NativeGang(NamedTuple):
    """What the PodGroups that pods of an app name say of it."""

    quorum: Quorum = Quorum()
    announced: int = 0  # pods that start together, with those that are still to come; 0: no gang has to start
    led_inside: bool = False  # its driver is one of a gang
    absent: tuple[str, ...] = ()  # names of groups that do not exist yet


def role(pod: Pod, groups: PodGroups) -> Role:
    """As what a pod is released."""
    return Role.TASK if pod.role is Role.DRIVER and groups.least(pod.record) else pod.role


def native_gang(pods: Sequence[Standing], groups: PodGroups) -> NativeGang:
    """The native gang of an app, of whose pods the oldest stands first."""
    there = [each for each in pods if each.state not in _OVER]
    named = [each for each in there if each.pod.record.group]
    if not named:
        return NativeGang()
    found = quorum(_members([each for each in named if groups.least(each.pod.record)], groups))
    tasks = sum(role(each.pod, groups) is not Role.DRIVER for each in there)
    return NativeGang(
        quorum=found,
        announced=tasks - len(found.surplus) + found.missing if found.starting else 0,
        led_inside=any(role(each.pod, groups) is not each.pod.role for each in named),
        absent=tuple(sorted({each.pod.record.group for each in named if groups.missing(each.pod.record)})),
    )


def _members(pods: Sequence[Standing], groups: PodGroups) -> list[GangMembers]:
    """The gangs that some pods are in."""
    gangs: dict[GroupKey, list[Standing]] = {}
    for each in pods:
        gangs.setdefault(group_key(each.pod.record), []).append(each)
    return [
        GangMembers(
            least=groups.least(some[0].pod.record),
            held=[each.pod.uid for each in some if each.state in _MAY_GO],
            charged=sum(each.state in _CHARGED for each in some),
            others=sum(each.state not in _MAY_GO | _CHARGED for each in some),
        )
        for some in gangs.values()
    ]
