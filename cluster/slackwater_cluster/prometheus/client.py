"""Vectors and ranges of a Prometheus (or Thanos, Mimir, VictoriaMetrics) for whoever looks back, never writing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

import httpx2
import msgspec

from slackwater_cluster.api.unreadable import UNREADABLE
from slackwater_cluster.prometheus.transport import AnswerWarnings, QueryConnection, QuerySession


class Series(msgspec.Struct, gc=False):
    """One series of a range query: labels and [time, value as text] pairs; `value` where the query was instant."""

    metric: dict[str, str]
    values: list[tuple[float, str]] = []
    value: tuple[float, str] | None = None


class _Data(msgspec.Struct):
    result: list[Series] = []


class _Answer(AnswerWarnings):
    status: str = ""
    data: _Data | None = None


class _Values(msgspec.Struct):
    status: str = ""
    data: list[str] | None = None


_ANSWERS = msgspec.json.Decoder(_Answer)
_NAMES = msgspec.json.Decoder(_Values)


class Prometheus:
    """One server. `warnings` collects what it said about partial answers."""

    def __init__(
        self,
        connection: QueryConnection,
        *,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.connection = connection
        self.warnings: set[str] = set()
        self._session = QuerySession(connection, transport=transport, sleep=sleep, clock=clock)

    @property
    def asked(self) -> int:
        """Questions so far."""
        return self._session.asked

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def names(self, start: float, end: float, pattern: str) -> set[str]:
        """Names of metrics that match the pattern and have samples in the time range."""
        body = self._session.get(
            "/api/v1/label/__name__/values",
            {"match[]": f'{{__name__=~"{pattern}"}}', "start": f"{start}", "end": f"{end}"},
        )
        try:
            return set(_NAMES.decode(body).data or [])
        except UNREADABLE as problem:
            raise self._session.strange(body) from problem

    def instant(self, query: str, at: float) -> Iterator[tuple[dict[str, str], float]]:
        """The vector at one moment, as (labels, value)."""
        for series in self._query("/api/v1/query", {"query": query, "time": f"{at}"}):
            if series.value is not None:
                yield series.metric, float(series.value[1])

    def range(self, query: str, start: float, end: float, step: float) -> list[Series]:
        """The matrix from start to end, both included."""
        return self._query(
            "/api/v1/query_range", {"query": query, "start": f"{start}", "end": f"{end}", "step": f"{step}"}
        )

    def samples(self, selector: str, at: float, seconds: int) -> list[Series]:
        """The samples of so many seconds before a moment, as they were scraped."""
        return self._query("/api/v1/query", {"query": f"{selector}[{seconds}s]", "time": f"{at}"})

    def _query(self, path: str, parameters: Mapping[str, str]) -> list[Series]:
        body = self._session.get(path, parameters)
        try:
            answer = _ANSWERS.decode(body)
        except UNREADABLE as problem:
            raise self._session.strange(body) from problem
        self.warnings.update(answer.sentences())
        return answer.data.result if answer.data is not None else []
