"""Prediction beside observation: per job and for the whole play. Seconds from the start; NaN is never."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slackwater_lab.live.drivers import Course


@dataclass(frozen=True, slots=True)
class Forecast:
    """What was predicted for one job."""

    first: float  # its first task runs
    end: float


@dataclass(frozen=True, slots=True)
class Compared:
    """One job as predicted and as observed."""

    job: str
    submit: float
    predicted: Forecast
    observed: Forecast
    retries: int = 0

    @property
    def error(self) -> float:
        """(observed − predicted) / predicted completion time; NaN where either never came."""
        expected = self.predicted.end - self.submit
        return (self.observed.end - self.predicted.end) / expected if expected > 0 else math.nan


@dataclass(frozen=True, slots=True)
class Summary:
    """The play as a whole."""

    jobs: int
    finished: int
    predicted_makespan: float
    observed_makespan: float
    predicted_completion: float  # mean over jobs that finished in both
    observed_completion: float
    predicted_wait: float  # mean, submission to first task
    observed_wait: float

    @property
    def makespan_error(self) -> float:
        """(observed − predicted) / predicted."""
        return self.observed_makespan / self.predicted_makespan - 1 if self.predicted_makespan > 0 else math.nan


def compare(courses: Sequence[Course], forecasts: Mapping[str, Forecast]) -> list[Compared]:
    """A row for each job, in the order of the play."""
    never = Forecast(math.nan, math.nan)
    return [
        Compared(
            course.play.id,
            course.play.submit,
            forecasts.get(course.play.id, never),
            Forecast(course.first, course.ended),
            course.retries,
        )
        for course in courses
    ]


def summary(rows: Sequence[Compared]) -> Summary:
    """Sums and means over all rows."""
    both = [row for row in rows if not (math.isnan(row.predicted.end) or math.isnan(row.observed.end))]
    return Summary(
        jobs=len(rows),
        finished=sum(not math.isnan(row.observed.end) for row in rows),
        predicted_makespan=_last([row.predicted.end for row in rows]),
        observed_makespan=_last([row.observed.end for row in rows]),
        predicted_completion=_mean([row.predicted.end - row.submit for row in both]),
        observed_completion=_mean([row.observed.end - row.submit for row in both]),
        predicted_wait=_mean([row.predicted.first - row.submit for row in both]),
        observed_wait=_mean([row.observed.first - row.submit for row in both]),
    )


def _last(values: Sequence[float]) -> float:
    return max((value for value in values if not math.isnan(value)), default=math.nan)


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
