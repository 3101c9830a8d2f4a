"""The patch that lifts our gate: one for the operator, for `slackwater release` and for the hook before uninstall.

A strategic merge patch, so that gates of others stay wherever they stand in the list; with the pod's uid, so that a pod
made anew under the same name is never touched by mistake; safe to repeat.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from slackwater_cluster import names

# What we write on a pod while we hold it.
MARKS = (names.PARKED, names.REASON)


def lifted(uid: str, gates: Collection[str], annotations: Collection[str]) -> dict[str, Any]:
    """The patch for a pod with these gates and annotations: our gate and our marks go, nothing else changes."""
    body: dict[str, Any] = {"metadata": {"uid": uid}}
    gone: Mapping[str, None] = dict.fromkeys(mark for mark in MARKS if mark in annotations)
    if gone:
        body["metadata"]["annotations"] = dict(gone)
    if names.GATE in gates:
        body["spec"] = {"schedulingGates": [{"$patch": "delete", "name": names.GATE}]}
    return body
