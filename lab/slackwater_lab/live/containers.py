"""Real containers for a play: tasks that burn what the workload says, and drivers that ask for them themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from slackwater_cluster import names
from slackwater_lab.live.drivers import Ask
from slackwater_lab.live.workload import Part, Play, Size

ACCOUNT = "slackwater-live-driver"  # the service account of drivers: it may make pods in the play's namespace
LOOPBACK = ("127.0.0.1", "localhost", "::1")
MIB = 2.0**20
Object = dict[str, Any]


def task(image: str, size: Size, seconds: str) -> Object:
    """A container that uses what the size says for so many seconds."""
    millicores, mebibytes = round(max(0.0, size.used_cpu) * 1000), round(max(0.0, size.used_memory) / MIB)
    command = ["burn", "-cpu", str(millicores), "-memory", str(mebibytes), "-for", f"{seconds}s"]
    return {"name": "main", "image": image, "imagePullPolicy": _pull(image), "command": command}


def driver(image: str, server: str, play: Play, template: Callable[[Part], Object]) -> Object:
    """What a driver's pod has beyond the usual: its program, its play, its account and the way to the API server."""
    container = {"name": "main", "image": image, "imagePullPolicy": _pull(image), "command": ["driver"]}
    uid = {"name": "POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}
    pod = {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    variables: list[Object] = [_variable("JOB", play.id), _variable("PLAY", script(play, template)), pod, uid]
    spec: Object = {"serviceAccountName": ACCOUNT}
    address = urlsplit(server)
    if address.hostname in LOOPBACK:  # a lab: its API server is reached from the machine's own network only
        spec["hostNetwork"] = True
        variables += [
            _variable("KUBERNETES_SERVICE_HOST", address.hostname),
            _variable("KUBERNETES_SERVICE_PORT", str(address.port)),
        ]
    return {**spec, "containers": [{**container, "env": variables}]}


def script(play: Play, template: Callable[[Part], Object]) -> str:
    """The play as the driver program reads it; `template` makes the pod of a stage's tasks."""
    stages = [
        {
            "name": part.name,
            "parents": list(part.parents),
            "startAfter": part.start_after,
            "delay": part.delay,
            "durations": [round(seconds, 3) for seconds in part.durations],
            "pod": json.dumps(template(part)),
        }
        for part in play.parts
    ]
    selector = f"{names.APP}={play.id},{names.ROLE}={names.TASK}"
    return json.dumps({"selector": selector, "startup": play.startup, "stages": stages})


def placeholder(play: Play, part: Part) -> Ask:
    """A task without name and duration: the driver fills them in."""
    return Ask("$NAME", play, part)


def owned(pod: Object) -> Object:
    """The same pod with its driver as owner, so that it goes when the driver goes."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "$DRIVER", "uid": "$UID", "controller": True}
    return {**pod, "metadata": {**pod["metadata"], "ownerReferences": [owner]}}


def _variable(name: str, value: str) -> Object:
    return {"name": name, "value": value}


def _pull(image: str) -> str:
    """Images of the lab are on the node already and in no registry."""
    return "Never" if image.startswith("localhost/") else "IfNotPresent"
