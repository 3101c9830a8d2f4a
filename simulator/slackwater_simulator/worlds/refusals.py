"""What the cluster could never hold, were it empty: such jobs would wait for ever and are refused, with the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from slackwater.cycle.appverdicts import apart, describe
from slackwater.cycle.drivernodes import places_beside
from slackwater.resources import Resources, holding, places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater_simulator.workload.workload import Job
    from slackwater_simulator.worlds.yarn.model import App, Request

    Floats = NDArray[np.float64]

Shape = tuple[float, ...]


def too_large(size: Resources) -> str:
    """Why a job with a container that no node could hold is refused."""
    return f"it asks for a container of {describe(size)}, and no node has as much"


def summary(jobs: Sequence[Job], sentences: Mapping[int, str]) -> tuple[str, ...]:
    """One sentence about all jobs that were refused, by their rows."""
    if not sentences:
        return ()
    row, sentence = next(iter(sentences.items()))
    first = f"job {jobs[row].id} was refused: {sentence}"
    return (f"{first}; refused in all: {len(sentences)}" if len(sentences) > 1 else first,)


class PolicyLimits(Protocol):
    """How a policy places, as far as it decides what it could never place."""

    @property
    def kinds(self) -> Sequence[int]:
        """Positions of the kinds whose room it checks."""
        ...

    @property
    def reserves(self) -> bool:
        """Whether it refuses a job whose tasks would find no node beside their driver."""
        ...

    def most(self) -> Sequence[Sequence[float]]:
        """What it gives of each node if nothing else is there."""
        ...

    def whole(self, request: Request, /) -> bool:
        """Whether the containers of the request are placed all at once or not at all."""
        ...


class Refusals:
    """Which jobs of a run were refused, and why."""

    def __init__(self, jobs: Sequence[Job], kinds: tuple[str, ...], policy: PolicyLimits) -> None:
        self._jobs, self._kinds, self._policy = jobs, kinds, policy
        self._places: dict[Shape, int] = {}  # by shape: containers that the empty nodes hold
        self._beside: dict[tuple[Shape, Shape], Floats] = {}  # by driver and task: the same by the driver's node
        self._cramped: dict[tuple[Shape, Shape], bool] = {}  # likewise
        self.sentences: dict[int, str] = {}  # by row of the job

    def refuse(self, app: App) -> bool:
        """Whether the cluster could never run the job, as the policy places it."""
        sentence = self._too_large(app) or self._apart(app)
        if sentence:
            self.note(app, sentence)
        return bool(sentence)

    def note(self, app: App, sentence: str) -> None:
        """A job is refused for this reason."""
        self.sentences[app.index] = sentence

    def cramped(self, request: Request) -> bool:
        """Whether a driver such as the job's own would leave such tasks no place on some node that has one."""
        driver = request.app.master
        if driver is None or not request.total:
            return False
        key = driver.shape, request.shape
        if key not in self._cramped:
            taken, asked = self._counted(driver.shape), self._counted(request.shape)
            alone, beside = (places(left, asked) for left in (self._capacity, self._capacity - taken))
            homes = holding(self._capacity, taken)
            self._cramped[key] = bool(((alone > 0) & (beside == 0) & homes).any())
        return self._cramped[key]

    def notes(self) -> tuple[str, ...]:
        """One sentence about all of them."""
        return summary(self._jobs, self.sentences)

    def _too_large(self, app: App) -> str:
        """Why a container of the job is larger than every node, or those to be placed at once are too many."""
        for request in app.requests if app.master is None else (app.master, *app.requests):
            found = self._held(request.shape)
            if request.total and not found:
                return too_large(self._named(request))
            if request.total > found and self._policy.whole(request):
                return self._at_once(request, found)
        return ""

    def _apart(self, app: App) -> str:
        """Why there is no node for the job's driver beside which each of its stages could run."""
        driver = app.master
        homes = np.ones(len(self._capacity), np.bool_)
        for request in app.requests if driver is not None else ():
            whole = self._policy.whole(request)
            if driver is None or not request.total or not (whole or self._policy.reserves):
                continue
            found = self._held_beside(driver.shape, request.shape)
            homes &= found >= (request.total if whole else 1)
            if not homes.any():
                if whole and found.any():
                    return self._at_once(request, int(found.max()))
                return apart(app.job.id, app.job.queue, self._named(driver), self._named(request)).sentence
        return ""

    def _at_once(self, request: Request, found: int) -> str:
        size = describe(self._named(request))
        return f"it asks for {request.total} containers at once, each of {size}; the empty nodes hold {found}"

    def _named(self, request: Request) -> Resources:
        return Resources.from_vector(self._kinds, request.shape)

    def _held(self, shape: Shape) -> int:
        found = self._places.get(shape)
        if found is None:
            found = self._places[shape] = int(places(self._capacity, self._counted(shape)).sum())
        return found

    def _held_beside(self, driver: Shape, task: Shape) -> Floats:
        found = self._beside.get((driver, task))
        if found is None:
            taken, asked = self._counted(driver), self._counted(task)
            alone, beside = (places(left, asked) for left in (self._capacity, self._capacity - taken))
            found = places_beside(alone, beside, holding(self._capacity, taken))
            self._beside[driver, task] = found
        return found

    @cached_property
    def _capacity(self) -> Floats:
        """What the policy gives of each node, were it empty, of the kinds that it counts."""
        capacity = np.array(self._policy.most(), np.float64).reshape(-1, len(self._kinds))
        return capacity[:, list(self._policy.kinds)]

    def _counted(self, shape: Shape) -> list[float]:
        return [shape[kind] for kind in self._policy.kinds]
