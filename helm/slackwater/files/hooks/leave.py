"""Leaves a cluster in good order, before `helm uninstall` removes the programs.

1. The admission policies, or the webhook, go, so that no new pod is gated or shrunk.
2. Every gate and every parking mark is lifted.
3. The scheduler stays until no unbound pod names it: otherwise those pods would wait for ever.

Runs again without harm. It ends with an error, and helm keeps the release, while pods still wait. Where the release is
nobody's who knows an uninstall, somebody applied a rendering, Jobs and all: then it touches nothing.
"""

import asyncio
import math
import os
import sys
from dataclasses import dataclass, field

from slackwater.errors import SlackwaterError, Unavailable
from slackwater_cluster import names
from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.api.session import Session
from slackwater_cluster.pods.unbound import UnboundPod
from slackwater_cluster.pods.ungate import IN_FLIGHT, Ungater

OPERATOR = "/apis/apps/v1/namespaces/{namespace}/deployments/slackwater-operator"
# Annotations of those who run this Job only before they delete the release: helm writes the first, Argo CD the second.
OWNERS = ("meta.helm.sh/release-name", "argocd.argoproj.io/tracking-id")
POLICIES = "/apis/admissionregistration.k8s.io/v1"
GUARDS = (
    "slackwater-guard",
    "slackwater-guard-elsewhere",
    "slackwater-guard-creations",
    "slackwater-guard-priority",
    "slackwater-guard-evictions",
    "slackwater-guard-bindings",
    "slackwater-guard-definitions",
)
# Bindings of the policy that changes pods stay until helm takes them away: without their policy they do nothing.
DOOMED = (
    "mutatingadmissionpolicies/slackwater-pods",
    "mutatingwebhookconfigurations/slackwater-pods",
    *(f"validatingadmissionpolicybindings/{name}" for name in GUARDS),
    *(f"validatingadmissionpolicies/{name}" for name in GUARDS),
)
SHOWN = 5  # pods that are named where some are left
PAUSE = 2.0  # seconds between two looks; a deleted policy acts for up to 3 s more


@dataclass
class Look:
    """What one look at all pods found; not the pods themselves, of which there may be many."""

    waiting: int = 0
    held: int = 0
    tried: int = 0
    lifted: int = 0
    named: list[str] = field(default_factory=list)  # the first that wait
    refused: list[str] = field(default_factory=list)  # the first whose gates could not be lifted, each with the reason

    def see(self, pod: UnboundPod) -> None:
        """Count a pod that names our scheduler or carries our gate."""
        if pod.scheduler == names.SCHEDULER or pod.held:
            self.waiting += 1
            _add(self.named, f"{pod.namespace}/{pod.name}")
        self.held += pod.held

    def told(self, pod: UnboundPod, done: bool, trouble: str) -> None:
        """Count a gate that was lifted. One that could not be is tried again with a later look."""
        self.tried += 1
        self.lifted += done
        if trouble:
            _add(self.refused, f"{pod.namespace}/{pod.name}: {trouble[:300]}")

    def left(self) -> str:
        """What is said where time is over."""
        shown = ", ".join(self.named) + (", …" if self.waiting > len(self.named) else "")
        text = f"{self.waiting} pods still wait for the scheduler {names.SCHEDULER} ({shown}); "
        untried = [f"{self.held - self.tried} not tried any more"] if self.held > self.tried else []
        if troubles := self.refused + untried:
            return f"{text}gates of some cannot be lifted ({'; '.join(troubles)})"
        return f"{text}their gates are lifted, so let them run or delete them, and uninstall again"


async def leave(
    session: Session, patience: float, pause: float = PAUSE, owned: str | None = names.SYSTEM_NAMESPACE
) -> str:
    """Do all three steps; returns what was done, raises where pods are left, or where nobody uninstalls.

    That is seen by the operator in the namespace `owned`; None: do not look.
    """
    if owned is not None:
        await _expect_owner(session, owned)
    for name in DOOMED:
        await _delete(session, f"{POLICIES}/{name}")
    lifted, loop, ungater = 0, asyncio.get_running_loop(), Ungater(session)
    until = loop.time() + patience
    look = await _look(ungater, math.inf)
    while True:
        lifted += look.lifted
        if not look.waiting:
            return f"policies removed, {lifted} pods released, none waits for the scheduler {names.SCHEDULER}"
        if loop.time() > until:
            raise Unavailable(look.left())
        await asyncio.sleep(pause)
        look = await _look(ungater, until)


async def _expect_owner(session: Session, namespace: str) -> None:
    """Refuse where the operator is neither helm's nor Argo CD's; an uninstall before this one may have taken it."""
    answer = await session.get(OPERATOR.format(namespace=namespace))
    if answer.status == 404:
        return
    if not answer.ok:
        raise Unavailable(f"cannot see whose release this is: {answer.message()}")
    if not set(OWNERS) & set(answer.json()["metadata"].get("annotations") or {}):
        raise Unavailable(
            "nobody uninstalls: helm does not own this release, so this Job was applied with a rendering, "
            "and does nothing; render with --no-hooks, or, where Argo CD tracks by label, give "
            "hooks.leave.checkOwner=false (docs/install/upgrade.md, GitOps)"
        )


async def _delete(session: Session, path: str) -> None:
    answer = await session.write("DELETE", path, {})
    if not answer.ok and answer.status != 404:
        raise Unavailable(f"cannot delete {path}: {answer.message()}")


async def _look(ungater: Ungater, until: float) -> Look:
    """Lift the gates of all unbound pods, those that could not be lifted before last; begin none after `until`."""
    look, loop = Look(), asyncio.get_running_loop()
    for pod in await ungater.turns(seen=look.see):
        await ungater.until_ready(pod)
        if loop.time() > until:
            break
        ungater.begin(pod, look.told)
    await ungater.finish()
    return look


def _add(shown: list[str], text: str) -> None:
    if len(shown) < SHOWN:
        shown.append(text)


async def main() -> None:
    """Leave the cluster this pod runs in, or that of $KUBECONFIG."""
    async with Session(endpoint(), in_flight=IN_FLIGHT) as session:
        patience = float(os.environ.get("SLACKWATER_LEAVE_SECONDS", "240"))
        namespace = os.environ.get("SLACKWATER_LEAVE_NAMESPACE", names.SYSTEM_NAMESPACE)
        unchecked = os.environ.get("SLACKWATER_LEAVE_CHECK_OWNER") == "false"
        done = await leave(session, patience, owned=None if unchecked else namespace)
    sys.stdout.write(f"{done}\n")


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except SlackwaterError as problem:
        sys.exit(f"slackwater: {problem}")
