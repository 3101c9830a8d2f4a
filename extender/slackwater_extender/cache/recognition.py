"""Which app a pod belongs to and whether it drives it, from what the watch of pods alone can tell.

The extender does not look owners up (the operator does): what is above a pod's first owner stays unknown here, which
only makes the app under which peaks are learned a little finer than the operator's.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from slackwater.roles import Role
from slackwater_cluster import names
from slackwater_cluster.apps.frameworks import FrameworkTable, builtin
from slackwater_cluster.apps.owners import PodOwners
from slackwater_cluster.apps.resolver import FOREIGN, Resolver
from slackwater_cluster.watch.records import OwnerRef, PodRecord

REMEMBERED = 50_000  # distinct kinds of pod kept; beyond that memory starts anew


def telling(table: FrameworkTable) -> frozenset[str]:
    """Every label and annotation that recognition may read."""
    keys = {names.APP, names.ROLE, names.STAGE, names.PARENTS, names.ADMITTED_ROLE, *FOREIGN}
    for row in table.frameworks:
        keys.update(row.app, row.stage, {row.coordinator})
        keys.update(term.key for term in (*row.when, *row.drivers, *row.tasks))
    return frozenset(keys)


class AppRecognition(PodOwners):
    """Pods by uid, who owns pods, and what each is recognised as."""

    def __init__(self) -> None:
        super().__init__()
        self._resolver = Resolver.of(builtin())
        self._telling = telling(builtin())
        self._memory: dict[tuple[object, ...], tuple[Role, str]] = {}
        self._picked: dict[int, tuple[Mapping[str, str], tuple[tuple[str, str], ...]]] = {}

    def drop(self, uid: str) -> None:
        """Forget a pod."""
        self.forget(uid)

    def recognise(self, pod: PodRecord) -> tuple[Role, str]:
        """The pod's role and the app under whose name its use is learned. Siblings are recognised once."""
        traits = self._traits(pod)
        found = self._memory.get(traits)
        if found is None:
            if len(self._memory) >= REMEMBERED:
                self._memory.clear()
            found = self._memory[traits] = self._recognised(pod)
        return found

    def _recognised(self, pod: PodRecord) -> tuple[Role, str]:
        member = self._resolver.resolve(pod, self)
        admitted = pod.annotations.get(names.ADMITTED_ROLE, "")
        driver = names.DRIVER in (admitted, member.role)
        role = Role.DRIVER if driver else Role.TASK if names.TASK in (admitted, member.role) else Role.UNKNOWN
        return role, sys.intern(f"{pod.namespace}/{member.app}")

    def _traits(self, pod: PodRecord) -> tuple[object, ...]:
        """All that recognition looks at. Labels that only number the pods of an app are none of it."""
        return (
            pod.namespace,
            self._items(pod.labels),
            self._items(pod.annotations),
            pod.owners or pod.name,
            pod.group,
            pod.hostname,
            self.owns_pods(pod.uid),
            any(owner.uid in self.pods for owner in pod.owners),
        )

    def _items(self, strings: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """What tells of labels or annotations; siblings share one mapping, so it is picked out once for all of them."""
        held = self._picked.get(id(strings))
        if held is not None and held[0] is strings:
            return held[1]
        if len(self._picked) >= REMEMBERED:
            self._picked.clear()
        made = tuple([item for item in strings.items() if item[0] in self._telling])
        self._picked[id(strings)] = (strings, made)
        return made

    # -- what the resolver asks -----------------------------------------------------------------------------------

    def pod(self, uid: str) -> PodRecord | None:
        """The pod with this uid."""
        return self.pods.get(uid)

    def parents(self, owner: OwnerRef) -> Sequence[OwnerRef] | None:
        """Nothing is looked up here."""
        del owner
        return None
