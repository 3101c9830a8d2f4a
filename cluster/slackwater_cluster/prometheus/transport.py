"""Questions to a Prometheus (or Thanos, Mimir, VictoriaMetrics) over HTTP: paced, tried again, with errors in words.

The session waits its turn (`rate` queries per second), asks again while the server is busy, and gives up with a
sentence that says what to do. An answer that the server finds too heavy is told apart, so that the caller can ask for
less.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import httpx2
import msgspec

from slackwater.errors import InvalidInput, Unavailable
from slackwater.validation import without_user
from slackwater_cluster.api.credentials import Credentials
from slackwater_cluster.api.unreachable import cannot_be_reached
from slackwater_cluster.api.unreadable import UNREADABLE
from slackwater_cluster.prometheus.matchers import checked, narrowed

# Answers that mean "not now": too many requests, and gateways or stores that are busy or starting.
BUSY = frozenset({429, 500, 502, 503, 504})
TRIES = 6
LONGEST_PAUSE = 60.0
SLOWEST = 1 / 3600  # queries per second: one in an hour
LONGEST_WAIT = 86_400.0  # seconds for one query
# What servers say when one query asks for more than they allow.
HEAVY = ("too many samples", "exceeded maximum resolution", "timed out", "timeout", "limit", "too long", "deadline")
WEB_PAGE = (
    "a web page came back, not an answer of Prometheus; is the URL right? Give Prometheus's own base URL, such as "
    "http://HOST:9090, without /graph, and not that of Grafana or of a login page"
)
PROMQL = ("query", "match[]")  # the parameters that hold some
UNREACHABLE = "check host and port, that Prometheus runs, and that it can be reached from here (kubectl port-forward)"
NOT_ALLOWED = "give --token-file or --username and --password-file (in settings: token_file, username, password_file)"


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
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # they may hold secrets
    tries: int = TRIES  # one: whoever asks comes back by himself
    matchers: Mapping[str, str] = field(default_factory=dict)  # of the cluster that is asked about, among several

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")) or not _is_address(self.url):
            raise InvalidInput(
                "--prometheus", f"{self.address!r} is not an address", "write http://HOST:PORT or https://…"
            )
        if not self.rate >= SLOWEST:
            raise InvalidInput("--rate", f"{self.rate} queries per second", "give a number above 0, such as 5")
        if not 0 < self.timeout <= LONGEST_WAIT:
            raise InvalidInput("--timeout", f"{self.timeout} seconds per query", "give a number above 0, such as 60")
        checked("--match", self.matchers)

    @property
    def address(self) -> str:
        """The address as it may be shown."""
        return without_user(self.url)


def _is_address(url: str) -> bool:
    try:
        return bool(httpx2.URL(url).host)
    except httpx2.InvalidURL:
        return False


class _Refusal(msgspec.Struct):
    error: str = ""


_REFUSALS = msgspec.json.Decoder(_Refusal)


class AnswerWarnings(msgspec.Struct):
    """What an answer says about its own completeness: Prometheus and Thanos in words, VictoriaMetrics by a mark."""

    warnings: list[str] | None = None
    is_partial: bool | None = msgspec.field(name="isPartial", default=None)

    def sentences(self) -> list[str]:
        """Why the answer may lack something, one sentence each."""
        return [*(self.warnings or ()), *(["some storage nodes did not answer (isPartial)"] if self.is_partial else [])]


class QuerySession:
    """Connections to one server. Secrets are read from their files for each question and never logged."""

    def __init__(
        self,
        connection: QueryConnection,
        *,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.connection = connection
        self.asked = 0
        self._sleep, self._clock, self._next = sleep, clock, 0.0
        self._http = httpx2.Client(
            base_url=connection.url.rstrip("/"),
            timeout=connection.timeout,
            verify=connection.credentials.tls(),
            proxy=connection.credentials.proxy,
            trust_env=connection.credentials.proxy_of_environment,
            transport=transport,
            follow_redirects=False,
            headers=dict(connection.headers) | ({"X-Scope-OrgID": connection.tenant} if connection.tenant else {}),
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, path: str, parameters: Mapping[str, str]) -> bytes:
        """The answer to one question."""
        return self._ask("GET", path, params=self._narrowed(parameters))

    def post(self, path: str, parameters: Mapping[str, str]) -> bytes:
        """The answer to one question that may be too long for an address."""
        return self._ask("POST", path, data=self._narrowed(parameters))

    def _narrowed(self, parameters: Mapping[str, str]) -> dict[str, str]:
        """The question, about series of our cluster only: every query of every program passes here."""
        matchers = self.connection.matchers
        return {name: narrowed(text, matchers) if name in PROMQL else text for name, text in parameters.items()}

    def strange(self, body: bytes) -> Unavailable:
        """The error for an answer that cannot be read."""
        if _is_page(body):
            return Unavailable(self.sentence(WEB_PAGE))
        said = body[:80].decode(errors="replace").strip()
        return Unavailable(self.sentence(f"this is not an answer of Prometheus: {said!r}; is the URL right?"))

    def sentence(self, trouble: str) -> str:
        """What went wrong, with the address, and no user and password in either."""
        return without_user(f"Prometheus at {self.connection.url}: {trouble}")

    def _ask(self, method: str, path: str, **question: dict[str, str]) -> bytes:
        """One question, asked again while the server is busy."""
        trouble = ""
        for attempt in range(self.connection.tries):
            self._wait_turn()
            try:
                headers = self.connection.credentials.headers()
                reply = self._http.request(method, path, headers=headers, **question)  # type: ignore[arg-type] # params or data
            except httpx2.TimeoutException as problem:
                raise TooHeavy(self.sentence(f"no answer within {self.connection.timeout:g} s")) from problem
            except ValueError as problem:  # what cannot be sent now cannot be sent later
                raise Unavailable(self.sentence(_unanswered(problem))) from problem
            except (httpx2.HTTPError, OSError) as problem:
                trouble, pause = _unanswered(problem), min(2.0**attempt, LONGEST_PAUSE)
                if isinstance(problem, httpx2.ConnectError) and self.asked == 1:
                    break  # the very first contact: a wrong address does not get better by waiting
            else:
                if reply.status_code == 200:
                    return reply.content
                trouble, pause = _said(reply), _pause(reply, attempt)
                self._refuse(reply.status_code, trouble)
            if attempt + 1 < self.connection.tries:
                self._sleep(pause)
        raise Unavailable(self.sentence(trouble))

    def _refuse(self, status: int, trouble: str) -> None:
        """Raise what no second try would mend."""
        if status in (401, 403):
            raise Unavailable(self.sentence(f"{trouble}; {NOT_ALLOWED}"))
        if status == 404:
            raise Unavailable(self.sentence(f"{trouble}; is this the base URL, without /graph or /api?"))
        if _heavy(trouble):
            raise TooHeavy(self.sentence(trouble))
        if 300 <= status < 400:
            raise Unavailable(self.sentence(f"{trouble}: it sends us elsewhere, as login pages do; is the URL right?"))
        if status not in BUSY:
            raise Unavailable(self.sentence(trouble))

    def _wait_turn(self) -> None:
        """At most `rate` questions per second, evenly spaced."""
        self.asked += 1
        now = self._clock()
        if now < self._next:
            self._sleep(self._next - now)
        self._next = max(now, self._next) + 1.0 / self.connection.rate


def _unanswered(problem: Exception) -> str:
    if not isinstance(problem, httpx2.ConnectError):
        return f"{type(problem).__name__}: {problem}"
    if "WRONG_VERSION_NUMBER" in str(problem):
        return "what answers there does not speak TLS; write http:// in place of https://"
    return f"{cannot_be_reached(problem)}; {UNREACHABLE}"


def _said(reply: httpx2.Response) -> str:
    if _is_page(reply.content):
        return f"{reply.status_code} {reply.reason_phrase} with a web page"
    try:
        error = _REFUSALS.decode(reply.content).error
    except UNREADABLE:
        error = reply.text[:120].strip()
    return f"{reply.status_code} {error or reply.reason_phrase}".strip()


def _is_page(body: bytes) -> bool:
    return body[:200].lstrip().startswith(b"<")


def _heavy(trouble: str) -> bool:
    lowered = trouble.lower()
    return any(word in lowered for word in HEAVY) and not lowered.startswith("429")


def _pause(reply: httpx2.Response, attempt: int) -> float:
    asked = reply.headers.get("Retry-After", "")
    wanted = float(asked) if asked.isascii() and asked.isdigit() else 2.0**attempt
    return min(wanted, LONGEST_PAUSE)
