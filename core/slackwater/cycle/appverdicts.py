"""What the gatekeeper says about an app: a constant reason for machines, one sentence with numbers for people.

The sentence is made only when somebody reads it: a round over thousands of apps writes none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from slackwater.admission.budget import in_words
from slackwater.resources import Resources


class WaitReason(StrEnum):
    """Why pods are released, held or refused. The value is the reason class written on a held pod."""

    RELEASED = "released"
    COMPLETE = "complete"  # nothing of it is held
    PAUSED = "paused"
    DRAINING = "queue-draining"
    FOREIGN = "foreign-gate"
    ELSEWHERE = "another-scheduler"
    LOOKED_UP = "being-looked-up"
    INFEASIBLE = "infeasible"
    TOO_LARGE = "larger-than-any-node"
    GANG_TOO_LARGE = "gang-larger-than-cluster"
    BUDGET = "driver-budget"
    BEHIND = "behind-another-app"
    POOL = "pool-closed"
    LENT = "pool-lent"
    GANG = "gang-incomplete"
    WHOLE = "gang-does-not-fit"
    SCATTERED = "gang-does-not-fit-nodes"
    DRIVER = "waiting-for-driver"
    PARENTS = "waiting-for-parents"
    ROOM = "no-room"
    FRAGMENTED = "no-node-has-room"
    UNPLACED = "no-node-found"
    NOT_BOUND = "not-bound"
    WINDOW = "window-full"
    GROWTH = "waiting-for-nodes"
    NO_QUEUE = "no-queue"
    ASSEMBLING = "room-kept-for-another"
    LAST_NODE = "node-kept-for-tasks"
    FIRST_TASK = "room-kept-for-first-task"
    TASK_BESIDE_DRIVER = "no-task-beside-driver"


REFUSALS = frozenset(
    {
        WaitReason.INFEASIBLE,
        WaitReason.TOO_LARGE,
        WaitReason.GANG_TOO_LARGE,
        WaitReason.TASK_BESIDE_DRIVER,
        WaitReason.NO_QUEUE,
    }
)

SENTENCES: Mapping[WaitReason, str] = {
    WaitReason.RELEASED: "released now: {count} of {held} held pods",
    WaitReason.COMPLETE: "no pod of this app is held",
    WaitReason.PAUSED: "{what} is paused; to let it go on, {remedy}",
    WaitReason.DRAINING: "queue {queue} is draining: what runs may finish, nothing new starts",
    WaitReason.FOREIGN: "another controller keeps a scheduling gate on {count} pods, and lifts it itself",
    WaitReason.ELSEWHERE: "another scheduler is named by {count} pods: nothing of ours holds or places them",
    WaitReason.LOOKED_UP: "the owners or the size of this app are being looked up; until then {count} pods are held",
    WaitReason.INFEASIBLE: (
        "asks for {ask} {kind} at the least, but queue {queue} has at most {limit}; lower the requests or {remedy}"
    ),
    WaitReason.TOO_LARGE: (
        "a pod asks for {ask} {kind}, and no node of queue {queue} that it may use has more than {most}; "
        "lower the request, or let it use larger nodes (those that are cordoned, not ready or tainted do not count)"
    ),
    WaitReason.GANG_TOO_LARGE: (
        "a gang starts with all of its pods or none, and the nodes of queue {queue} that it may use hold {most}, "
        "even when they are empty; ask for less, or {remedy}"
    ),
    WaitReason.BUDGET: (
        "drivers of queue {queue} may hold {budget} {kind} of {capacity}, so that each can still run a task "
        "({reserved} kept for tasks): {charged} is taken and this driver asks for {ask}"
    ),
    WaitReason.BEHIND: "waits behind {ahead}, which waits for {why}",
    WaitReason.POOL: (
        "the {category} pool has {size:.1f} of {tot:.1f} slots; apps that have started need {occupied:.1f} for pods "
        "that run and tasks that wait, and this app needs {need:.1f} more"
    ),
    WaitReason.LENT: (
        "the {category} pool has {size:.1f} of {tot:.1f} slots; apps that have started need {occupied:.1f} for pods "
        "that run and tasks that wait, and this app needs {need:.1f} more, but only {unused:.1f} of the queue are "
        "free: the other pool borrowed the rest until its pods end"
    ),
    WaitReason.GANG: "a gang starts with all of its {expected} pods or none; there so far: {present}",
    WaitReason.WHOLE: (
        "a gang starts with all of its pods or none: together they ask for {ask} {kind}, "
        "the nodes of queue {queue} have {free} free"
    ),
    WaitReason.SCATTERED: (
        "a gang starts with all of its pods or none: no set of nodes of queue {queue} has room for its {count} pods now"
    ),
    WaitReason.DRIVER: "its driver is not running yet, and {count} pods have to wait for it",
    WaitReason.PARENTS: "stage {stage} (level {level}) starts once the stages before it are placed",
    WaitReason.ROOM: "the nodes of queue {queue} have {free} {kind} free in all, and a pod of this app asks for {ask}",
    WaitReason.FRAGMENTED: "no single node of queue {queue} has room for {ask}; it goes as soon as one has",
    WaitReason.UNPLACED: (
        "placement found no node for {what} a moment ago, although by the last count one has room for such a pod; "
        "others go first for some seconds, and it is tried again"
    ),
    WaitReason.NOT_BOUND: (
        "releases of this app came to nothing: the scheduler bound a pod to no node although one had room, or the API "
        "server did not take the release; {count} pods let others go first for a while and are then tried again; "
        "kubectl describe pod tells more"
    ),
    WaitReason.WINDOW: "released and not bound yet are {flight} pods; the window allows {window}",
    WaitReason.GROWTH: "released {count} pods beyond the present nodes so that the autoscaler sees the need",
    WaitReason.ASSEMBLING: (
        "room is kept for {claimant} for another {seconds:.0f} s: it has waited for {waited:.0f} s and fits nowhere yet"
    ),
    WaitReason.FIRST_TASK: (
        "the room is kept for the first task of {claimant}, whose driver has just started; an app that has none after "
        "{patience:.0f} s keeps none"
    ),
    WaitReason.LAST_NODE: (
        "its driver would take a node of queue {queue} that tasks of {claimant} need: beside drivers and pods of "
        "others no other node is large enough for them"
    ),
    WaitReason.TASK_BESIDE_DRIVER: (
        "its driver asks for {driver} and a task for {task}: even if the nodes of queue {queue} were empty, no task "
        "would find a node beside the driver; lower one of them, or let the app use more nodes"
    ),
    WaitReason.NO_QUEUE: "namespace {namespace} belongs to no admission queue; add it to one",
}


# A gang is told of the window with the pods that it goes with, and others wait behind it for this.
GANG_IN_WINDOW = (
    "released and not bound yet are {flight} pods, and the window allows {window}: "
    "a gang starts with all of its {count} pods or none"
)
# What an owner's bound of delta closes is told in the kind of which it leaves too little.
OWNERS_BOUND = (
    "bounds of delta leave {category} apps {most} {kind} of {capacity}: {charged} is taken and this app asks for {ask}"
)
PLACES = "the window of released pods to have places for all of it"

# What lets a paused app or queue go on; a queue may be paused in two places.
RESUME_APP = "remove slackwater.io/pause from it"
RESUME_QUEUE = "remove its annotation slackwater.io/pause and set its spec.state to open"

_ONE = re.compile(r"\b(1 (?:held )?(?:pod|task|app|node|namespace))s\b")
# Numbers that are amounts of the kind that is named beside them.
AMOUNTS = frozenset({"ask", "limit", "most", "free", "budget", "capacity", "reserved", "charged"})


def describe(request: Resources) -> str:
    """A request in words, such as `2 cpu and 4 GiB memory`."""
    return " and ".join(f"{in_words(kind, value)} {kind}" for kind, value in sorted(request.items())) or "nothing"


def enlarged(maximum: Resources | None) -> str:
    """How a queue that is too small is made larger: a maximum that nobody stated cannot be raised."""
    return "raise the queue's maximum" if maximum else "add nodes to the queue"


def apart(app: str, queue: str, driver: Resources, task: Resources, position: int = 0) -> Verdict:
    """The verdict on an app of which no task would find a node beside its driver."""
    said = {"queue": queue, "driver": describe(driver), "task": describe(task)}
    return Verdict(app, WaitReason.TASK_BESIDE_DRIVER, said, position)


def singular(text: str) -> str:
    """The text with `1 pod` for `1 pods`, and likewise for tasks, apps, nodes and namespaces."""
    return _ONE.sub(r"\1", text)


def _worded(kind: str, name: str, number: object) -> object:
    return in_words(kind, number) if name in AMOUNTS and isinstance(number, int | float) else number


class Verdict(NamedTuple):
    """The gatekeeper's word on one app in one round."""

    app: str
    reason: WaitReason
    numbers: Mapping[str, object] = MappingProxyType({})
    position: int = 0  # 1 = next to start; 0 = has started
    wait: float | None = None  # estimated seconds until it starts; None: not known

    @property
    def refused(self) -> bool:
        """Whether waiting will not help."""
        return self.reason in REFUSALS

    @property
    def sentence(self) -> str:
        """The reason in words, with the numbers that decided it."""
        kind = str(self.numbers.get("kind", ""))
        worded = {name: _worded(kind, name, number) for name, number in self.numbers.items()}
        return singular(self._template.format_map(worded))

    @property
    def _template(self) -> str:
        if self.reason is WaitReason.WINDOW and "count" in self.numbers:
            return GANG_IN_WINDOW
        if self.reason is WaitReason.POOL and "kind" in self.numbers:
            return OWNERS_BOUND
        return SENTENCES[self.reason]
