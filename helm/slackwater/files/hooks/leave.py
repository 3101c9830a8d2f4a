"""Leaves a cluster in good order, before `helm uninstall` removes the programs.

1. The admission policies, or the webhook, go, so that no new pod is gated or shrunk.
2. Every gate and every parking mark is lifted.
3. The scheduler stays until no unbound pod names it: otherwise those pods would wait for ever.

Runs again without harm. It ends with an error, and helm keeps the release, while pods still wait.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any

from slackwater.errors import SlackwaterError, Unavailable
from slackwater_cluster import names
from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.api.session import STRATEGIC, Session
from slackwater_cluster.pods.gate import lifted

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
PAGE = 500
PAUSE = 2.0  # seconds between two looks; a deleted policy acts for up to 3 s more

Pod = dict[str, Any]


async def leave(session: Session, patience: float) -> str:
    """Do all three steps; returns what was done, raises where pods are left."""
    for name in DOOMED:
        await _delete(session, f"{POLICIES}/{name}")
    lifted, loop = 0, asyncio.get_running_loop()
    until = loop.time() + patience
    while True:
        waiting = [pod async for pod in _unbound(session)]
        held = [pod for pod in waiting if _held(pod)]
        for pod in held:
            await _lift(session, pod)
        lifted += len(held)
        if not waiting:
            return f"policies removed, {lifted} pods released, none waits for the scheduler {names.SCHEDULER}"
        if loop.time() > until:
            raise Unavailable(_left(waiting))
        await asyncio.sleep(PAUSE)


async def _delete(session: Session, path: str) -> None:
    answer = await session.write("DELETE", path, {})
    if not answer.ok and answer.status != 404:
        raise Unavailable(f"cannot delete {path}: {answer.message()}")


async def _unbound(session: Session) -> AsyncIterator[Pod]:
    """Pods that name our scheduler, or carry our gate, and have no node; page by page."""
    query = {"fieldSelector": "spec.nodeName=,status.phase=Pending", "limit": str(PAGE)}
    while True:
        answer = await session.get("/api/v1/pods", query)
        if not answer.ok:
            raise Unavailable(f"cannot list pods: {answer.message()}")
        page = answer.json()
        for pod in page["items"]:
            if not pod["metadata"].get("deletionTimestamp") and (
                pod["spec"].get("schedulerName") == names.SCHEDULER or _held(pod)
            ):
                yield pod
        query["continue"] = page["metadata"].get("continue", "")
        if not query["continue"]:
            return


def _held(pod: Pod) -> bool:
    gates = pod["spec"].get("schedulingGates") or ()
    return any(gate["name"] == names.GATE for gate in gates) or names.PARKED in pod["metadata"].get("annotations", {})


async def _lift(session: Session, pod: Pod) -> None:
    meta = pod["metadata"]
    gates = [gate["name"] for gate in pod["spec"].get("schedulingGates") or ()]
    body = lifted(meta["uid"], gates, meta.get("annotations") or {})
    path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
    answer = await session.write("PATCH", path, body, content_type=STRATEGIC)
    if not answer.ok and answer.status not in (404, 409):
        raise Unavailable(f"cannot release {meta['namespace']}/{meta['name']}: {answer.message()}")


def _left(waiting: Sequence[Pod]) -> str:
    shown = ", ".join(f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in waiting[:5])
    more = ", …" if len(waiting) > 5 else ""
    return (
        f"{len(waiting)} pods still wait for the scheduler {names.SCHEDULER} ({shown}{more}); "
        "their gates are lifted, so let them run or delete them, and uninstall again"
    )


async def main() -> None:
    """Leave the cluster this pod runs in, or that of $KUBECONFIG."""
    async with Session(endpoint()) as session:
        done = await leave(session, float(os.environ.get("SLACKWATER_LEAVE_SECONDS", "240")))
    sys.stdout.write(f"{done}\n")


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except SlackwaterError as problem:
        sys.exit(f"slackwater: {problem}")
