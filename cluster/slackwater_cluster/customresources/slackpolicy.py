"""SlackPolicy: how much slack is believed, how far requests are lowered, and how much Slackwater may change."""

from enum import StrEnum

from pydantic import Field

from slackwater_cluster.customresources.base import Conditions, ObservedGeneration, Part, refined, rule
from slackwater_cluster.pods.declared import MOST_CPU_PERCENT, MOST_MEMORY_PERCENT


class Mode(StrEnum):
    """The steps of adoption, each changing more than the one before."""

    OBSERVE = "observe"
    SCORE = "score"
    ENFORCE = "enforce"


class Estimator(StrEnum):
    """Whether the estimate may exceed what is reserved: `printed` follows the paper, `capped` never exceeds it."""

    CAPPED = "capped"
    PRINTED = "printed"


class DriverLabel(Part):
    """A label that makes a pod a driver."""

    key: str = Field(min_length=1, max_length=317, description="The label's key.")
    values: list[str] = Field(
        min_length=1,
        max_length=16,
        description="The values that mean driver. A driver label without values would make every pod a driver.",
        json_schema_extra={"items": {"type": "string", "maxLength": 63}},
    )


class TaskLabel(Part):
    """A label that makes a pod a task, whose requests may be lowered."""

    key: str = Field(min_length=1, max_length=317, description="The label's key.")
    values: list[str] = Field(
        default_factory=list,
        max_length=16,
        description="The values that mean task; none means any value.",
        json_schema_extra={"items": {"type": "string", "maxLength": 63}},
    )


class Ceiling(Part):
    """How far the requests of task pods are lowered: native = declared ÷ ceiling. Limits stay."""

    # Percent as integers: CEL then computes without floating point (0.1 × 1000 would round up).
    cpu_percent: int = Field(
        default=200, ge=100, le=MOST_CPU_PERCENT, description="200 lets twice the declared cpu onto a node."
    )
    memory_percent: int = Field(
        default=150,
        ge=100,
        le=MOST_MEMORY_PERCENT,
        description="150 lets one and a half times the declared memory onto a node.",
    )


# Above 0 % and below 100 %, or nothing.
RISK = r"^$|^(0\.0*[1-9]\d*|[1-9]\d?(\.\d+)?)%$"


class Estimation(Part):
    """How measured use becomes an estimate (paper 000, equations 1 to 4)."""

    mode: Estimator = Field(default=Estimator.CAPPED, description="capped never exceeds what pods reserved.")
    damping: float = Field(default=0.125, ge=0, le=1, description="Weight of a new sample after one tau (equation 1).")
    tau_seconds: float = Field(default=1, gt=0, le=3600, description="The period the damping is meant for.")
    memory_tau_seconds: float = Field(
        default=30, gt=0, le=3600, description="The same for memory, which pods take up slowly after their start."
    )
    known_margin_percent: int = Field(
        default=15,
        ge=0,
        le=1000,
        description="A pod of an app whose pods are well known is charged at most what they used and this much more; "
        "of memory as much of it as the allowance does not keep back already.",
    )
    heartbeat_seconds: float = Field(default=5, ge=1, le=300, description="The expected gap between samples.")
    stale_after_periods: int = Field(
        default=3, ge=1, le=100, description="Periods without a new sample after which only reservations count."
    )
    allowance: float = Field(
        default=0.875,
        gt=0,
        le=1,
        description="The part of a node's allocatable memory that may be filled (28 of 32 GB); of CPU all may be.",
    )
    risk: str = Field(
        default="",
        max_length=8,
        pattern=RISK,
        description="How often a node may come to use more than was promised beyond reservations, such as 1%; learned "
        "from what earlier promises missed, in place of allowance and knownMarginPercent. Empty: these decide.",
    )
    risk_horizon_seconds: float = Field(
        default=600, ge=60, le=86400, description="How long such a promise is to hold; about as long as tasks run."
    )

    @property
    def probability(self) -> float | None:
        """The risk as a number; None where none is stated."""
        return float(self.risk.removesuffix("%")) / 100 if self.risk else None


class Score(Part):
    """How nodes are compared on the scheduler's slow path."""

    model_config = refined(
        rule(
            "self.fitnessWeight + self.networkWeight > 0.0",
            "fitnessWeight and networkWeight are both 0, so no node could be preferred; make one of them positive",
        )
    )

    fitness_weight: float = Field(default=0.5, ge=0, le=1, description="Weight of packing (paper 001).")
    network_weight: float = Field(default=0.5, ge=0, le=1, description="Weight of incoming-data time (paper 003).")
    shortlist: int = Field(default=16, ge=0, le=5000, description="Nodes the filter returns at most; 0 returns all.")


class Reclaim(Part):
    """Optional: at release, set a task's requests to what earlier tasks of its app used."""

    enabled: bool = Field(default=False, description="Off unless you say so.")
    percentile: int = Field(default=95, ge=50, le=100, description="The percentile of earlier use that is taken.")
    margin_percent: int = Field(default=20, ge=0, le=300, description="Added on top of that percentile.")


class SlackPolicySpec(Part):
    """What an administrator decides for the namespaces that name this policy."""

    model_config = refined(
        rule(
            "!self.driverLabels.exists(d, self.taskLabels.exists(t, t.key == d.key && "
            "(size(t.values) == 0 || t.values.exists(v, v in d.values))))",
            "a label stands in driverLabels and in taskLabels; a pod is one or the other, so remove it from one list",
        ),
        rule(
            "self.mode == 'enforce' || !self.reclaim.enabled",
            "reclaim.enabled changes pods, which only mode enforce allows; set mode to enforce or reclaim.enabled "
            "to false",
        ),
    )

    mode: Mode = Field(
        default=Mode.OBSERVE,
        description="observe changes nothing, score prefers nodes, enforce also holds pods and lowers requests.",
    )
    ceiling: Ceiling = Field(default_factory=Ceiling, description="How far task requests are lowered.")
    driver_labels: list[DriverLabel] = Field(
        default_factory=list, max_length=32, description="Labels of drivers beyond the built-in framework table."
    )
    task_labels: list[TaskLabel] = Field(
        default_factory=list, max_length=32, description="Labels of tasks beyond the built-in framework table."
    )
    estimation: Estimation = Field(
        default_factory=Estimation,
        description="How use is measured and trusted; one ledger serves all nodes, so only that of `default` is read.",
    )
    score: Score = Field(default_factory=Score, description="How nodes are compared.")
    reclaim: Reclaim = Field(default_factory=Reclaim, description="Requests learned from earlier tasks.")


class SlackPolicyStatus(Part):
    """What the operator found out about this policy."""

    observed_generation: ObservedGeneration = None
    conditions: Conditions = Field(default_factory=list)
    namespaces: list[str] = Field(
        default_factory=list, description="Managed namespaces that follow this policy.", max_length=1000
    )
    warnings: list[str] = Field(
        default_factory=list,
        max_length=100,
        description="LimitRanges and quotas that will refuse or multiply lowered requests.",
    )
    open_gate: bool = Field(
        default=False,
        description="New tasks come without our gate: nobody waits, and half of the cluster is free.",
    )


class SlackPolicy(Part):
    """How measured slack is used in the namespaces that name this policy (label slackwater.io/policy)."""

    spec: SlackPolicySpec = Field(default_factory=SlackPolicySpec, description="What is wanted.")
    status: SlackPolicyStatus | None = Field(default=None, description="What was found.")
