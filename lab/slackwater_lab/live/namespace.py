"""The namespace of a play: made for it, ready for pods, and taken away with it; and the nodes it will meet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from slackwater.errors import Unavailable
from slackwater_cluster import names
from slackwater_cluster.api.session import Session
from slackwater_cluster.customresources.slackpolicy import SlackPolicySpec
from slackwater_cluster.pods.quantities import parse_quantity

NAMESPACES = "/api/v1/namespaces"
CREATED, EXISTS, MISSING = 201, 409, 404
PATIENCE = 30.0  # seconds until a new namespace must be ready
Machine = tuple[str, float, float]  # name, cores, bytes


@asynccontextmanager
async def house(session: Session, namespace: str, *, managed: bool) -> AsyncIterator[None]:
    """Use a namespace; one that did not exist before is made, and deleted in the end."""
    labels = {names.MANAGED: "true"} if managed else {}
    answer = await session.write("POST", NAMESPACES, {"metadata": {"name": namespace, "labels": labels}})
    if not answer.ok and answer.status != EXISTS:
        raise Unavailable(f"namespace {namespace} was not made: {answer.message()}")
    try:
        await _until(lambda: _account(session, namespace), f"namespace {namespace} has no service account")
        if managed:
            held = lambda: _held(session, namespace)  # noqa: E731 - a question, asked again and again
            await _until(held, f"no pod is held in {namespace}: its SlackPolicy must be in mode enforce")
        yield
    finally:
        if answer.ok:
            await asyncio.shield(session.write("DELETE", f"{NAMESPACES}/{namespace}", {}))


async def entrust(session: Session, namespace: str, account: str) -> None:
    """An account for drivers that are programs: it may make, read and delete pods of the namespace."""
    roles = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    metadata = {"metadata": {"name": account}}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "get", "list", "watch", "delete"]}]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    for path, body in (
        (f"{NAMESPACES}/{namespace}/serviceaccounts", metadata),
        (f"{roles}/roles", {**metadata, "rules": rules}),
        (f"{roles}/rolebindings", {**metadata, "roleRef": reference, "subjects": [subject]}),
    ):
        answer = await session.write("POST", path, body)
        if not answer.ok and answer.status != EXISTS:
            raise Unavailable(f"the drivers' account was not made: {answer.message()}")


async def machines(session: Session, selector: Mapping[str, str]) -> list[Machine]:
    """Ready, open nodes with these labels: what a prediction has to count with."""
    query = {"labelSelector": ",".join(f"{key}={value}" for key, value in selector.items())}
    answer = await session.get("/api/v1/nodes", query)
    if not answer.ok:
        raise Unavailable(f"nodes cannot be listed: {answer.message()}")
    return [_machine(node) for node in answer.json()["items"] if _open(node)]


async def terms(session: Session) -> dict[str, float]:
    """What the default SlackPolicy says, under the simulator's names: a prediction has to count with that too."""
    answer = await session.get(f"/apis/{names.API_VERSION}/slackpolicies/{names.DEFAULT_POLICY}")
    if not answer.ok:
        return {}  # a namespace that cannot be managed is told of later, in a better way
    spec = SlackPolicySpec.model_validate(answer.json().get("spec", {}))
    estimation, ceiling = spec.estimation, spec.ceiling
    return {
        "heartbeat": estimation.heartbeat_seconds,
        "alpha": estimation.damping,
        "memory_tau0": estimation.memory_tau_seconds,
        "allowance": estimation.allowance,
        "ceiling_cpu": ceiling.cpu_percent / 100,
        "ceiling_memory": ceiling.memory_percent / 100,
    }


def _machine(node: Mapping[str, Any]) -> Machine:
    offered = node["status"]["allocatable"]
    return str(node["metadata"]["name"]), parse_quantity(offered["cpu"]), parse_quantity(offered["memory"])


def _open(node: Mapping[str, Any]) -> bool:
    conditions = {each["type"]: each["status"] for each in node["status"].get("conditions", [])}
    return (
        conditions.get("Ready") == "True" and not node["spec"].get("unschedulable") and not node["spec"].get("taints")
    )


async def _account(session: Session, namespace: str) -> bool:
    return (await session.get(f"{NAMESPACES}/{namespace}/serviceaccounts/default")).ok


async def _held(session: Session, namespace: str) -> bool:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "canary"},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    }
    answer = await session.write("POST", f"{NAMESPACES}/{namespace}/pods?dryRun=All", pod)
    return answer.ok and any(gate["name"] == names.GATE for gate in answer.json()["spec"].get("schedulingGates", []))


async def _until(probe: Callable[[], Awaitable[bool]], trouble: str) -> None:
    limit = asyncio.get_running_loop().time() + PATIENCE
    while not await probe():
        if asyncio.get_running_loop().time() > limit:
            raise Unavailable(trouble)
        await asyncio.sleep(0.3)
