"""TrackedApp: what Slackwater knows about one app, for the people who wait for it. Written by the operator only."""

from enum import StrEnum

from pydantic import Field

from slackwater_cluster.customresources.base import Amounts, Conditions, ObservedGeneration, Part, rule


class Phase(StrEnum):
    """Where an app stands."""

    WAITING = "Waiting"  # no pod of it was released yet
    STARTED = "Started"  # at least one pod was released
    RUNNING = "Running"  # at least one task runs
    FINISHED = "Finished"
    REFUSED = "Refused"  # it can never fit its queue's stated maximum


class Category(StrEnum):
    """Which pool serves an app."""

    SMALL = "small"
    LARGE = "large"


class TrackedAppSpec(Part):
    """Which app this is about. Fixed when the object is made."""

    app: str = Field(min_length=1, max_length=253, description="The app's id within its namespace.")
    name: str = Field(
        default="",
        max_length=253,
        description="What people call it: Spark's app name, the name of the cluster or job.",
    )
    framework: str = Field(default="", max_length=63, description="The row of the framework table that recognised it.")
    owner: str = Field(default="", max_length=317, description="Kind and name of the object at the top of its owners.")
    queue: str = Field(default="", max_length=253, description="The AdmissionQueue it waits in.")


class PodCounts(Part):
    """The app's pods by state."""

    held: int = Field(default=0, ge=0, description="Behind our gate.")
    released: int = Field(default=0, ge=0, description="Let go, not yet on a node.")
    parked: int = Field(default=0, ge=0, description="Let go, found no node in time, and waiting for a new share.")
    bound: int = Field(default=0, ge=0, description="On a node.")
    finished: int = Field(default=0, ge=0, description="Done, well or badly.")


class Learned(Part):
    """What a run turned out to be, so that the next one's size is known before its tasks exist."""

    series: str = Field(
        min_length=1, max_length=253, description="The app's name without what changes from run to run."
    )
    tasks: int = Field(ge=1, description="The most tasks it had at one time.")
    request: Amounts = Field(default_factory=dict, description="What one of them asked for on average.")


class Start(Part):
    """When it is expected to start, in seconds from `at`: in four cases of five between low and high."""

    at: str | None = Field(
        default=None,
        description="When this was forecast: the seconds count from here.",
        json_schema_extra={"format": "date-time"},
    )
    low_seconds: float | None = Field(default=None, ge=0, description="One in ten starts is earlier.")
    middle_seconds: float | None = Field(default=None, ge=0, description="As many start earlier as later.")
    high_seconds: float | None = Field(default=None, ge=0, description="One in ten starts is later.")
    source: str = Field(
        default="", max_length=16, description="releases (of running phases) or pace (of the starts before it)."
    )
    unknown: str = Field(default="", max_length=256, description="Why it is not known yet.")


class TrackedAppStatus(Part):
    """Where the app stands and why."""

    observed_generation: ObservedGeneration = None
    conditions: Conditions = Field(default_factory=list)
    phase: Phase = Field(default=Phase.WAITING, description="Waiting, Started, Running, Finished or Refused.")
    category: Category | None = Field(default=None, description="small or large (paper 004).")
    position: int | None = Field(default=None, ge=1, description="Place among the apps waiting in its queue.")
    reason: str = Field(default="", max_length=64, description="Class of the reason it waits, stable for machines.")
    message: str = Field(default="", max_length=1024, description="The reason as one sentence with numbers.")
    wait_seconds: float | None = Field(default=None, ge=0, description="Estimated wait from now, where one is known.")
    wait_error_seconds: float | None = Field(default=None, ge=0, description="Median error of the newest estimates.")
    start: Start | None = Field(default=None, description="When it is expected to start, while it waits to.")
    pods: PodCounts = Field(default_factory=PodCounts, description="Its pods by state.")
    declared: Amounts = Field(default_factory=dict, description="What its running pods asked for.")
    used: Amounts = Field(default_factory=dict, description="What they were measured to use.")
    efficiency: float | None = Field(default=None, ge=0, description="Used ÷ declared of its dominant resource.")
    reservation: Amounts = Field(default_factory=dict, description="R of its queue when this was written.")
    budget: Amounts = Field(default_factory=dict, description="What was left for drivers when this was written.")
    assembled: str | None = Field(
        default=None,
        description="A gang whose tasks have all been there: when the newest was made. Its rest outlives a restart.",
        json_schema_extra={"format": "date-time"},
    )
    learned: Learned | None = Field(default=None, description="Its size, for the next run after a restart.")


class TrackedApp(Part):
    """One app as Slackwater sees it."""

    spec: TrackedAppSpec = Field(
        description="Which app this is about.",
        json_schema_extra={
            "x-kubernetes-validations": [
                rule("self.app == oldSelf.app", "app cannot be changed; Slackwater makes one TrackedApp for each app")
            ]
        },
    )
    status: TrackedAppStatus | None = Field(default=None, description="Where it stands.")
