"""Instant queries to Prometheus (or Thanos, Mimir, VictoriaMetrics) and their answers, decoded in short slices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import httpx2
import msgspec

from slackwater.errors import Unavailable
from slackwater_cluster.api.unreadable import UNREADABLE
from slackwater_cluster.prometheus.connection import Connection
from slackwater_cluster.prometheus.transport import AnswerWarnings, QuerySession

# Decoding holds the interpreter; 16 kB are a sixth of a millisecond, so a /filter gets its turn in between.
SLICE = 16 * 1024
_BEGIN = b'"result":['
_NEXT = b',{"metric":'
# Before the data, what makes an answer a partial one.
_PARTIAL = (b'"warnings":', b'"isPartial":true')


class VectorSeries(msgspec.Struct, gc=False):
    """One element of an instant vector: its labels, and [time of evaluation, value as text]."""

    metric: dict[str, str]
    value: tuple[float, str]


class PodLabels(msgspec.Struct, gc=False):
    """The labels by which exporters name pods; all others are skipped by the decoder."""

    namespace: str = ""
    pod: str = ""
    pod_namespace: str = ""
    pod_name: str = ""
    exported_namespace: str = ""
    exported_pod: str = ""


class PodSeries(msgspec.Struct, gc=False):
    """One element of a vector over pods: there are many, so no dict of labels is made for each."""

    metric: PodLabels
    value: tuple[float, str]


class _VectorData(msgspec.Struct):
    result_type: str = msgspec.field(name="resultType", default="")
    result: msgspec.Raw = msgspec.Raw(b"[]")


class _VectorAnswer(AnswerWarnings):
    status: str = ""
    data: _VectorData | None = None
    error: str = ""


_ANSWERS = msgspec.json.Decoder(_VectorAnswer)
_SERIES = msgspec.json.Decoder(list[VectorSeries])
_PODS = msgspec.json.Decoder(list[PodSeries])

PodValue = tuple[str, str, str]
S = TypeVar("S")


class Vector:
    """The answer to one query, decoded piece by piece while it is walked through; `warnings` tell of a partial one."""

    def __init__(self, pieces: Iterable[bytes] = (), warnings: Iterable[str] = ()) -> None:
        self._pieces, self.warnings = pieces, tuple(warnings)

    @classmethod
    def of(cls, series: Iterable[VectorSeries], warnings: Iterable[str] = ()) -> Vector:
        """A vector of given series."""
        return cls([msgspec.json.encode(list(series))], warnings)

    def batches(self) -> Iterator[list[VectorSeries]]:
        """Every series with all its labels, some hundreds at a time."""
        return (_decoded(_SERIES, piece) for piece in self._pieces)

    def series(self) -> Iterator[VectorSeries]:
        """Every series with all its labels."""
        for batch in self.batches():
            yield from batch

    def pods(self) -> Iterator[list[PodValue]]:
        """Namespace, pod and value of every series, some hundreds at a time."""
        for piece in self._pieces:
            yield [(*pod_of(each.metric), each.value[1]) for each in _decoded(_PODS, piece)]


def pod_of(labels: PodLabels) -> tuple[str, str]:
    """Namespace and name of the pod, as kubelet or as other exporters label it; empty where there is none."""
    if labels.pod:
        return labels.namespace, labels.pod
    if labels.pod_name:
        return labels.pod_namespace, labels.pod_name
    return labels.exported_namespace, labels.exported_pod


def _decoded(decoder: msgspec.json.Decoder[list[S]], piece: bytes) -> list[S]:
    try:
        return decoder.decode(piece)
    except UNREADABLE as problem:
        raise Unavailable(f"an answer that breaks off: {problem}") from problem


class VectorClient:
    """Instant queries to one Prometheus, each asked once: the next heartbeat asks again."""

    def __init__(self, settings: Connection, transport: httpx2.BaseTransport | None = None) -> None:
        self._timeout = settings.timeout
        self._session = QuerySession(settings.query(), transport=transport)

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def query(self, promql: str) -> Vector:
        """Run one instant query. Anything but a vector is Unavailable, with what the server said."""
        body = self._session.post("/api/v1/query", {"query": promql, "timeout": f"{round(1000 * self._timeout)}ms"})
        try:
            return decode(body)
        except UNREADABLE as problem:
            raise self._session.strange(body) from problem
        except Unavailable as problem:
            raise Unavailable(self._session.sentence(str(problem))) from problem


def decode(body: bytes) -> Vector:
    """The vector in an answer; Unavailable where it holds none, one of UNREADABLE where it is no answer at all."""
    quick = _sliced(body)
    if quick is not None:
        return quick
    answer = _ANSWERS.decode(body)
    if answer.status != "success" or answer.data is None:
        raise Unavailable(f"{answer.error or answer.status or 'no data'}")
    if answer.data.result_type != "vector":
        raise Unavailable(f"the query gives a {answer.data.result_type or 'nothing'}, not a vector")
    return Vector([bytes(answer.data.result)], answer.sentences())


def _sliced(body: bytes) -> Vector | None:
    """A long answer, piece by piece: 150,000 series at once would be 80 MB. None where it is laid out otherwise.

    The mark between two series cannot stand inside a JSON string: its quotes would be escaped there.
    """
    start = body.find(_BEGIN, 0, 4096)
    if len(body) <= SLICE or start < 0 or b'"resultType":"vector"' not in body[:4096]:
        return None
    if any(mark in body[:start] for mark in _PARTIAL):
        return None
    tail = body.rfind(b"]}}")
    if tail < 0 or tail < len(body) - 4096:  # warnings and the like follow the data
        return None
    return Vector(_pieces(body, start + len(_BEGIN), tail))


def _pieces(body: bytes, start: int, end: int) -> Iterator[bytes]:
    while start < end:
        cut = body.find(_NEXT, start + SLICE, end)
        stop = end if cut < 0 else cut
        yield b"[" + body[start:stop] + b"]"
        start = stop + 1  # past the comma
