"""The four CustomResourceDefinitions: names, scopes, columns, and the schema made from the models."""

from dataclasses import dataclass
from typing import Any

from slackwater_cluster.customresources.admissionqueue import AdmissionQueue
from slackwater_cluster.customresources.base import Part
from slackwater_cluster.customresources.reservationpool import ReservationPool
from slackwater_cluster.customresources.schema import filled, structural
from slackwater_cluster.customresources.slackpolicy import SlackPolicy
from slackwater_cluster.customresources.trackedapp import TrackedApp
from slackwater_cluster.names import GROUP, VERSION


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False  # shown with -o wide only

    def body(self) -> dict[str, Any]:
        """The column as the API server wants it."""
        column: dict[str, Any] = {"name": self.name, "type": self.type, "jsonPath": self.path}
        return {**column, "priority": 1} if self.wide else column


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of custom resource."""

    model: type[Part]
    plural: str
    short: str
    namespaced: bool
    columns: tuple[Column, ...]

    @property
    def name(self) -> str:
        """The kind's name, as in `kind: SlackPolicy`."""
        return self.model.__name__


AGE = Column("Age", ".metadata.creationTimestamp", "date")
READY = Column("Ready", '.status.conditions[?(@.type=="Ready")].status')

KINDS = (
    Kind(
        SlackPolicy,
        "slackpolicies",
        "slp",
        namespaced=False,
        columns=(
            Column("Mode", ".spec.mode"),
            Column("CPU %", ".spec.ceiling.cpuPercent", "integer"),
            Column("Memory %", ".spec.ceiling.memoryPercent", "integer"),
            READY,
            Column("Why", '.status.conditions[?(@.type=="Ready")].message', wide=True),
            AGE,
        ),
    ),
    Kind(
        AdmissionQueue,
        "admissionqueues",
        "adq",
        namespaced=False,
        columns=(
            Column("State", ".spec.state"),
            Column("Order", ".spec.order"),
            Column("Drivers", ".status.driversRunning", "integer"),
            Column("Waiting", ".status.driversWaiting", "integer"),
            Column("Held", ".status.podsHeld", "integer"),
            Column("CPU", ".status.capacity.cpu", wide=True),
            Column("Kept for tasks", ".status.reservation.cpu", wide=True),
            READY,
            AGE,
        ),
    ),
    Kind(
        ReservationPool,
        "reservationpools",
        "rpl",
        namespaced=False,
        columns=(
            Column("Queue", ".spec.queue"),
            Column("Delta", ".status.delta", "number"),
            Column("Total", ".status.total", "number"),
            Column("Small", ".status.small.occupied", "number"),
            Column("Large", ".status.large.occupied", "number"),
            READY,
            AGE,
        ),
    ),
    Kind(
        TrackedApp,
        "trackedapps",
        "tapp",
        namespaced=True,
        columns=(
            Column("Phase", ".status.phase"),
            Column("Pos", ".status.position", "integer"),
            Column("Reason", ".status.reason"),
            Column("Held", ".status.pods.held", "integer"),
            Column("App", ".spec.name", wide=True),
            Column("Bound", ".status.pods.bound", "integer", wide=True),
            Column("Category", ".status.category", wide=True),
            Column("Wait (s)", ".status.waitSeconds", "number", wide=True),
            Column("Id", ".spec.app", wide=True),
            Column("Efficiency", ".status.efficiency", "number", wide=True),
            Column("Message", ".status.message", wide=True),
            AGE,
        ),
    ),
)


def kind_named(name: str) -> Kind:
    """The kind with this name."""
    return next(kind for kind in KINDS if kind.name == name)


def definition(kind: Kind) -> dict[str, Any]:
    """The CustomResourceDefinition of one kind."""
    singular = kind.name.lower()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": singular,
                "shortNames": [kind.short],
                "categories": ["slackwater"],
            },
            "versions": [_version(kind)],
        },
    }


def _version(kind: Kind) -> dict[str, Any]:
    schema = structural(kind.model)
    # The API server owns these three; naming them lets CEL and kubectl explain see them.
    properties = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
    schema["properties"] = {**properties, **schema["properties"]}
    schema["required"] = ["spec"]
    filled(schema["properties"]["spec"])  # a status is written whole by the operator, so it needs no defaults
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [column.body() for column in kind.columns],
        "schema": {"openAPIV3Schema": schema},
    }
