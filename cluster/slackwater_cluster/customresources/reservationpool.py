"""ReservationPool: how the nodes of a queue are shared between small and large jobs (paper 004)."""

from pydantic import Field

from slackwater_cluster.customresources.base import Conditions, ObservedGeneration, Part, refined, rule


class Delta(Part):
    """The share of the pool for small jobs: where it starts and how far it may move."""

    model_config = refined(
        rule(
            "!has(self.minimum) || !has(self.maximum) || self.minimum <= self.maximum",
            "delta.minimum is above delta.maximum; swap them or remove one",
        ),
        rule(
            "(!has(self.minimum) || self.initial >= self.minimum) && "
            "(!has(self.maximum) || self.initial <= self.maximum)",
            "delta.initial lies outside delta.minimum and delta.maximum; choose a value between them",
        ),
    )

    initial: float = Field(default=0.1, gt=0, lt=1, description="The share before anything was learned.")
    minimum: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Never below this; else 1/Tot. So much of each kind is kept for small jobs.",
    )
    maximum: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Never above this; else 1 − 1/Tot. The rest of each kind is kept for large jobs.",
    )


class Phases(Part):
    """How the phases of a job are told apart where it carries no stage labels (paper 004, algorithms 1 and 2)."""

    window_seconds: float = Field(default=10, gt=0, le=3600, description="pw: the window looked at.")
    start_threshold: int = Field(default=5, ge=0, le=1000, description="t_s: starts in the window that open a phase.")
    end_threshold: int = Field(default=5, ge=0, le=1000, description="t_e: finishes in the window that begin its end.")


class ReservationPoolSpec(Part):
    """How one queue's nodes are shared."""

    queue: str = Field(
        default="default",
        min_length=1,
        max_length=253,
        description="The AdmissionQueue whose nodes are shared.",
        json_schema_extra={
            "x-kubernetes-validations": [
                rule("self == oldSelf", "queue cannot be changed; make a new ReservationPool for the other queue")
            ]
        },
    )
    theta: float = Field(
        default=0.1, gt=0, lt=1, description="A job that wants more than this part of the nominal total is large."
    )
    delta: Delta = Field(default_factory=Delta, description="Bounds of the small jobs' share.")
    horizon_seconds: float = Field(default=1, gt=0, le=3600, description="How far releases are forecast.")
    phases: Phases = Field(default_factory=Phases, description="How phases are found.")
    # A field that was once there stays in the definition: `kubectl apply` refuses a manifest with one that is unknown.
    smoothing_seconds: float | None = Field(
        default=None,
        ge=0,
        le=3600,
        description="Does nothing any more (the total follows at once); accepted as before.",
    )


class Side(Part):
    """One pool, in slots."""

    occupied: float = Field(default=0, ge=0, description="Slots taken by its running jobs.")
    available: float = Field(default=0, ge=0, description="Slots it may still give out.")
    demand: float = Field(default=0, ge=0, description="Slots its waiting jobs ask for.")
    forecast: float = Field(default=0, ge=0, description="Slots expected back within the horizon.")


class ReservationPoolStatus(Part):
    """Where the border stands; survives a restart of the operator."""

    observed_generation: ObservedGeneration = None
    conditions: Conditions = Field(default_factory=list)
    delta: float | None = Field(default=None, ge=0, le=1, description="The small jobs' share now.")
    total: float = Field(default=0, ge=0, description="Tot in slots: declared of running pods plus room.")
    small: Side = Field(default_factory=Side, description="The pool of small jobs.")
    large: Side = Field(default_factory=Side, description="The pool of large jobs.")
    forecast_error: float = Field(
        default=0,
        ge=0,
        description="Mean absolute error of past forecasts of what its own tasks give back, in slots.",
    )


class ReservationPool(Part):
    """The border between small and large jobs on one queue's nodes."""

    spec: ReservationPoolSpec = Field(default_factory=ReservationPoolSpec, description="What is wanted.")
    status: ReservationPoolStatus | None = Field(default=None, description="What was found.")
