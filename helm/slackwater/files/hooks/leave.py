"""Leaves a cluster in good order, before `helm uninstall` removes the programs.

1. The admission policies, or the webhook, go, so that no new pod is gated or shrunk.
2. Every gate and every parking mark is lifted.
3. The scheduler stays until no unbound pod names it: otherwise those pods would wait for ever.

Runs again without harm. It ends with an error, and helm keeps the release, while pods still wait. Where the release is
nobody's who knows an uninstall, somebody applied a rendering, Jobs and all: then it touches nothing.
"""

import asyncio
import os
import sys
from dataclasses import dataclass, field

from slackwater.errors import SlackwaterError, Unavailable
from slackwater_cluster import names
from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.api.session import Session
from slackwater_cluster.pods.unbound import UnboundPod, let_go, unbound

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
    lifted: int = 0
    named: list[str] = field(default_factory=list)  # the first that wait
    refused: list[str] = field(default_factory=list)  # the first whose gates could not be lifted, each with the reason

    def left(self) -> str:
        """What is said where time is over."""
        shown = ", ".join(self.named) + (", …" if self.waiting > len(self.named) else "")
        text = f"{self.waiting} pods still wait for the scheduler {names.SCHEDULER} ({shown}); "
        if self.refused:
            return f"{text}gates of some cannot be lifted ({'; '.join(self.refused)})"
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
    lifted, loop = 0, asyncio.get_running_loop()
    until = loop.time() + patience
    while True:
        look = await _look(session)
        lifted += look.lifted
        if not look.waiting:
            return f"policies removed, {lifted} pods released, none waits for the scheduler {names.SCHEDULER}"
        if loop.time() > until:
            raise Unavailable(look.left())
        await asyncio.sleep(pause)


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


async def _look(session: Session) -> Look:
    """Lift the gates of all unbound pods, page by page; counts those that name our scheduler or carry our gate."""
    look = Look()
    async for page in unbound(session):
        for pod in page:
            if pod.scheduler == names.SCHEDULER or pod.held:
                look.waiting += 1
                _add(look.named, f"{pod.namespace}/{pod.name}")
            if pod.held:
                await _lift(session, pod, look)
    return look


async def _lift(session: Session, pod: UnboundPod, look: Look) -> None:
    """Lift one gate. A pod that cannot be changed keeps no other waiting: it is tried again with the next look."""
    done, trouble = await let_go(session, pod)
    look.lifted += done
    if trouble:
        _add(look.refused, f"{pod.namespace}/{pod.name}: {trouble[:300]}")


def _add(shown: list[str], text: str) -> None:
    if len(shown) < SHOWN:
        shown.append(text)


async def main() -> None:
    """Leave the cluster this pod runs in, or that of $KUBECONFIG."""
    async with Session(endpoint()) as session:
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
