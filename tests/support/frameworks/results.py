"""The table framework × case × result, written by the suite into docs/reference/frameworks.md."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slackwater_cluster.api.client import ApiClient

BEGIN, END = "<!-- written by make frameworks -->\n", "<!-- end of what make frameworks wrote -->\n"
HEAD = """
## What really ran

Written by `make frameworks` (marker `frameworks`): real programs of each framework on two real nodes (kubelet,
containerd) of the lab that claim 8 cores and 16 GiB each, beside two tainted nodes of 32 cores, with the chart's
defaults in mode `enforce`. Where a node runs short of memory, the two nodes claim 4 GiB and stand alone. Seconds are
from the submission to the end, on a machine with two real cores that had other work too: they show that it ends, not
how fast it is. A case that was not played again keeps the day on which it was.
"""
LENGTH = """
The {count} cases together took {minutes} minutes. What comes on top: labs that start, images and operators that are
built once, and the bursts and the many apps below, whose seconds are in their tables.
"""
COLUMNS = """
| Framework | Version | Case | Result | Seconds | Day |
|---|---|---|---|---|---|
"""
RECORDED = Path(__file__).resolve().parents[2] / "cluster" / "apps" / "recorded"
KEPT = ("name", "generateName", "namespace", "uid", "labels", "annotations", "ownerReferences", "creationTimestamp")
SPEC = ("nodeSelector", "affinity", "tolerations", "priorityClassName", "restartPolicy", "schedulerName", "hostname")


def trimmed(pod: Mapping[str, Any]) -> dict[str, Any]:
    """What recognition and sizes may read; without volumes, environment, status and what we wrote ourselves."""
    metadata = {key: pod["metadata"][key] for key in KEPT if key in pod["metadata"]}
    written = metadata.get("annotations") or {}
    metadata["annotations"] = {key: value for key, value in written.items() if "last-applied" not in key}
    containers = [{"name": each["name"], "resources": each.get("resources", {})} for each in pod["spec"]["containers"]]
    spec = {key: pod["spec"][key] for key in SPEC if key in pod["spec"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**spec, "containers": containers},
        "status": {"phase": "Pending"},
    }


def climb(api: ApiClient, metadata: Mapping[str, Any], above: dict[str, list[dict[str, Any]]]) -> None:
    """Note the owners of each owner that is no pod, as far up as there are any."""
    for owner in metadata.get("ownerReferences") or ():
        if owner["uid"] in above or owner["kind"] == "Pod":
            continue
        group = owner["apiVersion"]
        base = f"/apis/{group}" if "/" in group else f"/api/{group}"
        path = f"{base}/namespaces/{metadata['namespace']}/{owner['kind'].lower()}s/{owner['name']}"
        found = (api.find(path) or {}).get("metadata", {})
        above[owner["uid"]] = found.get("ownerReferences") or []
        climb(api, {**found, "namespace": metadata["namespace"]}, above)


@dataclass(frozen=True, slots=True)
class Row:
    """One case."""

    framework: str
    version: str
    case: str
    result: str
    seconds: int
    day: str = field(default_factory=lambda: datetime.now(UTC).date().isoformat())


@dataclass
class Recorder:
    """Rows by framework and case."""

    _rows: dict[tuple[str, str], Row] = field(default_factory=dict)

    @classmethod
    def of(cls, known: Iterable[Mapping[str, object]]) -> Recorder:
        """From what an earlier run wrote."""
        made = cls()
        for each in known:
            made.add(Row(**each))  # type: ignore[arg-type]
        return made

    def add(self, row: Row) -> None:
        """A case that was played."""
        self._rows[row.framework, row.case] = row

    def keep(self, name: str, pods: Iterable[Mapping[str, Any]], api: ApiClient) -> None:
        """Pods as the controller wrote them and the owners above them, for tests of recognition without a cluster."""
        bodies = sorted((trimmed(pod) for pod in pods), key=lambda body: str(body["metadata"]["name"]))
        above: dict[str, list[dict[str, Any]]] = {}
        for body in bodies:
            climb(api, body["metadata"], above)
        RECORDED.mkdir(exist_ok=True)
        (RECORDED / f"{name}.json").write_text(json.dumps({"pods": bodies, "above": above}, indent=1) + "\n")

    def rows(self) -> list[dict[str, object]]:
        """For the next run."""
        return [asdict(row) for _, row in sorted(self._rows.items())]

    def page(self, before: str) -> str:
        """The page with the table of this run in the place of the last one's."""
        lines = [
            f"| {row.framework} | {row.version} | {row.case} | {row.result} | {row.seconds} | {row.day} |\n"
            for _, row in sorted(self._rows.items())
        ]
        minutes = round(sum(row.seconds for row in self._rows.values()) / 60)
        length = LENGTH.format(count=len(lines), minutes=minutes)
        own = before.partition(BEGIN)[0].rstrip("\n")
        rest = before.partition(END)[2]
        return f"{own}\n\n{BEGIN}{HEAD}{length}{COLUMNS}{''.join(lines)}\n{END}{rest}"
