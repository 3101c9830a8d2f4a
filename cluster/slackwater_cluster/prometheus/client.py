"""Reading a Prometheus (or Thanos, Mimir, VictoriaMetrics) gently: paced, patient with 429 and 503, never writing.

The client waits its turn (`rate` queries per second), tries again when the server is busy, and gives up with a sentence
that says what to do. An answer that the server finds too heavy is told apart, so that the caller can ask for less.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import httpx2
import msgspec

from slackwater.errors import InvalidInput, Unavailable
from slackwater_cluster.api.credentials import Credentials

# Answers that mean "not now": too many requests, and gateways or stores that are busy or starting.
BUSY = frozenset({429, 500, 502, 503, 504})
TRIES = 6
LONGEST_PAUSE = 60.0
# What servers say when one query asks for more than they allow.
HEAVY = ("too many samples", "exceeded maximum resolution", "timed out", "timeout", "limit", "too long", "deadline")


class TooHeavy(Unavailable):
    """The server could answer a smaller question."""


@dataclass(frozen=True, slots=True)
class QueryConnection:
    """Where Prometheus is and how we prove who we are."""

    url: str
    # Queries per second at most; a Prometheus that also serves alerts and dashboards hardly notices five.
    rate: float = 5.0
    # Seconds per query. Prometheus itself gives up after 120 by default.
    timeout: float = 60.0
    credentials: Credentials = field(default_factory=Credentials)
    tenant: str = ""  # X-Scope-OrgID of Mimir or Thanos
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise InvalidInput("--prometheus", f"{self.url!r} is not an address", "write http://HOST:PORT or https://…")
        if not self.rate > 0:
            raise InvalidInput("--rate", f"{self.rate} queries per second", "give a number above 0")


class Series(msgspec.Struct, gc=False):
    """One series of a range query: labels and [time, value as text] pairs; `value` where the query was instant."""

    metric: dict[str, str]
    values: list[tuple[float, str]] = []
    value: tuple[float, str] | None = None


class _Data(msgspec.Struct):
    result: list[Series] = []


class _Answer(msgspec.Struct):
    status: str = ""
    data: _Data | None = None
    error: str = ""
    warnings: list[str] | None = None


class _Values(msgspec.Struct):
    status: str = ""
    data: list[str] | None = None


_ANSWERS = msgspec.json.Decoder(_Answer)
_NAMES = msgspec.json.Decoder(_Values)


class Prometheus:
    """A connection to one server. `warnings` collects what it said about partial answers."""

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
        self.asked = 0
        self._sleep, self._clock, self._next = sleep, clock, 0.0
        self._http = httpx2.Client(
            base_url=connection.url.rstrip("/"),
            timeout=connection.timeout,
            verify=connection.credentials.tls(),
            transport=transport,
            headers=dict(connection.headers) | ({"X-Scope-OrgID": connection.tenant} if connection.tenant else {}),
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def names(self, start: float, end: float, pattern: str) -> set[str]:
        """Names of metrics that match the pattern and have samples in the time range."""
        body = self._get(
            "/api/v1/label/__name__/values",
            {"match[]": f'{{__name__=~"{pattern}"}}', "start": f"{start}", "end": f"{end}"},
        )
        try:
            return set(_NAMES.decode(body).data or [])
        except msgspec.DecodeError as problem:
            raise self._strange(body) from problem

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

    def _query(self, path: str, parameters: Mapping[str, str]) -> list[Series]:
        body = self._get(path, parameters)
        try:
            answer = _ANSWERS.decode(body)
        except msgspec.DecodeError as problem:
            raise self._strange(body) from problem
        self.warnings.update(answer.warnings or ())
        return answer.data.result if answer.data is not None else []

    def _get(self, path: str, parameters: Mapping[str, str]) -> bytes:
        """One question, asked again while the server is busy."""
        trouble = ""
        for attempt in range(TRIES):
            self._wait_turn()
            try:
                reply = self._http.get(path, params=dict(parameters), headers=self.connection.credentials.headers())
            except httpx2.TimeoutException as problem:
                raise TooHeavy(self._sentence(f"no answer within {self.connection.timeout:g} s")) from problem
            except (httpx2.HTTPError, OSError) as problem:
                trouble = f"{type(problem).__name__}: {problem}"
                if isinstance(problem, httpx2.ConnectError) and self.asked == 1:
                    break  # the very first contact: a wrong address does not get better by waiting
                self._sleep(min(2.0**attempt, LONGEST_PAUSE))
                continue
            if reply.status_code == 200:
                return reply.content
            trouble = _said(reply)
            if reply.status_code not in BUSY:
                self._refuse(reply.status_code, trouble)
            if _heavy(trouble):
                raise TooHeavy(self._sentence(trouble))
            self._sleep(_pause(reply, attempt))
        raise Unavailable(self._sentence(trouble))

    def _refuse(self, status: int, trouble: str) -> None:
        if status in (401, 403):
            raise Unavailable(self._sentence(f"{trouble}; give --token-file or --username and --password-file"))
        if status == 404:
            raise Unavailable(self._sentence(f"{trouble}; is this the base URL, without /graph or /api?"))
        raise TooHeavy(self._sentence(trouble)) if _heavy(trouble) else Unavailable(self._sentence(trouble))

    def _sentence(self, trouble: str) -> str:
        return f"Prometheus at {self.connection.url}: {trouble}"

    def _strange(self, body: bytes) -> Unavailable:
        said = body[:80].decode(errors="replace").strip()
        return Unavailable(self._sentence(f"this is no answer of Prometheus: {said!r}; is the URL right?"))

    def _wait_turn(self) -> None:
        """At most `rate` questions per second, evenly spaced."""
        self.asked += 1
        now = self._clock()
        if now < self._next:
            self._sleep(self._next - now)
        self._next = max(now, self._next) + 1.0 / self.connection.rate


def _said(reply: httpx2.Response) -> str:
    try:
        error = _ANSWERS.decode(reply.content).error
    except msgspec.DecodeError:
        error = reply.text[:120].strip()
    return f"{reply.status_code} {error or reply.reason_phrase}".strip()


def _heavy(trouble: str) -> bool:
    lowered = trouble.lower()
    return any(word in lowered for word in HEAVY) and not lowered.startswith("429")


def _pause(reply: httpx2.Response, attempt: int) -> float:
    asked = reply.headers.get("Retry-After", "")
    wanted = float(asked) if asked.isascii() and asked.isdigit() else 2.0**attempt
    return min(wanted, LONGEST_PAUSE)
