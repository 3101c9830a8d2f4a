"""What happened, as the API server wrote it down: the one clock of all schedulers.

A pod is created when its request arrives, bound when its binding is answered, and runs or ends when a status that says
so is answered. Requests are counted by who sent them; watches and heartbeats of nodes are left out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from slackwater_cluster.timestamps import parse

PLAYER = "player"  # whoever submits the jobs
_OVER = ("Succeeded", "Failed")
_VERSION = re.compile(r"-v\d[\w.]*$")  # the lab's programs are called by name and version


@dataclass(slots=True)
class PodTimes:
    """Moments of one pod, in seconds since the epoch; None is never."""

    created: float | None = None
    bound: float | None = None
    started: float | None = None
    ended: float | None = None
    node: str = ""
    succeeded: bool = False


@dataclass(slots=True)
class AuditTimes:
    """All pods of a namespace by name, requests by sender and kind, and how long they took."""

    pods: dict[str, PodTimes] = field(default_factory=dict)
    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    answers: list[float] = field(default_factory=list)  # seconds the API server took for each of them


def read(lines: Iterable[str], namespace: str) -> AuditTimes:
    """The times of a namespace's pods. A last line that is cut off is left out."""
    found = AuditTimes()
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if event.get("stage") != "ResponseComplete" or event.get("verb") == "watch":
            continue
        target = event.get("objectRef") or {}
        if target.get("resource") == "leases" or _is_node_status(target):
            continue
        found.requests[sender(event), _kind(event, target)] += 1
        found.answers.append(parse(event["stageTimestamp"]) - parse(event["requestReceivedTimestamp"]))
        if target.get("resource") == "pods" and target.get("namespace") == namespace and _done(event):
            _note(found.pods.setdefault(target.get("name", ""), PodTimes()), event, target)
    found.pods.pop("", None)  # a request about all pods
    return found


def sender(event: Mapping[str, Any]) -> str:
    """The component that asked: its service account, else the first word of its user agent."""
    user = str(event.get("user", {}).get("username", ""))
    if user.startswith("system:serviceaccount:"):
        namespace, _, account = user.removeprefix("system:serviceaccount:").partition(":")
        return "kube-controller-manager" if namespace == "kube-system" else account
    agent = _VERSION.sub("", str(event.get("userAgent", "")).partition("/")[0])
    if user.startswith("system:apiserver"):
        return "kube-apiserver"
    return PLAYER if agent in ("slackwater", "python-httpx2", "") else agent


def _note(pod: PodTimes, event: Mapping[str, Any], target: Mapping[str, Any]) -> None:
    verb, part, at = event["verb"], target.get("subresource", ""), parse(event["stageTimestamp"])
    body = event.get("requestObject") or {}
    if verb == "create" and not part:
        pod.created = pod.created or parse(event["requestReceivedTimestamp"])
    elif verb == "create" and part == "binding":
        pod.bound = pod.bound or at
        pod.node = pod.node or str(body.get("target", {}).get("name", ""))
    elif verb in ("patch", "update") and part == "status":
        phase = _phase(body)
        if phase == "Running":
            pod.started = pod.started or at
        elif phase in _OVER:
            pod.succeeded = pod.succeeded or phase == "Succeeded"
            pod.ended = pod.ended or at
    elif verb == "delete" and not part:
        pod.ended = pod.ended or at


def _phase(body: object) -> str:
    """A status arrives as an object or a merge patch; a list is a JSON patch."""
    if isinstance(body, Mapping):
        status = body.get("status") or {}
        return str(status.get("phase", ""))
    return ""


def _done(event: Mapping[str, Any]) -> bool:
    return 200 <= int((event.get("responseStatus") or {}).get("code", 0)) < 300


def _is_node_status(target: Mapping[str, Any]) -> bool:
    return target.get("resource") == "nodes" and target.get("subresource") == "status"


def _kind(event: Mapping[str, Any], target: Mapping[str, Any]) -> str:
    part = f"/{target['subresource']}" if target.get("subresource") else ""
    return f"{event.get('verb', '')} {target.get('resource', '')}{part}"
