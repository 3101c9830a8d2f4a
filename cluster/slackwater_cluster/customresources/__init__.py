"""The custom resources of Slackwater: pydantic models, and the CustomResourceDefinitions made from them.

`python -m slackwater_cluster.customresources FOLDER` writes one YAML file per kind.
"""

from slackwater_cluster.customresources.admissionqueue import AdmissionQueue, AdmissionQueueSpec, AdmissionQueueStatus
from slackwater_cluster.customresources.base import Condition
from slackwater_cluster.customresources.definition import KINDS, Kind, definition, kind_named
from slackwater_cluster.customresources.reservationpool import (
    ReservationPool,
    ReservationPoolSpec,
    ReservationPoolStatus,
)
from slackwater_cluster.customresources.slackpolicy import Mode, SlackPolicy, SlackPolicySpec, SlackPolicyStatus
from slackwater_cluster.customresources.trackedapp import TrackedApp, TrackedAppSpec, TrackedAppStatus

__all__ = [
    "KINDS",
    "AdmissionQueue",
    "AdmissionQueueSpec",
    "AdmissionQueueStatus",
    "Condition",
    "Kind",
    "Mode",
    "ReservationPool",
    "ReservationPoolSpec",
    "ReservationPoolStatus",
    "SlackPolicy",
    "SlackPolicySpec",
    "SlackPolicyStatus",
    "TrackedApp",
    "TrackedAppSpec",
    "TrackedAppStatus",
    "definition",
    "kind_named",
]
