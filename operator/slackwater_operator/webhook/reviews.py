"""The HTTPS server of the webhook: one question per new pod, answered from memory."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import Protocol, cast
from weakref import WeakValueDictionary

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from slackwater.errors import InvalidInput, Unavailable
from slackwater_cluster.admissionpolicies import review
from slackwater_cluster.admissionpolicies.mutation import Body, Operation, mutation
from slackwater_cluster.admissionpolicies.webhook import PATH, PATIENCE
from slackwater_cluster.api.fairslots import FairSlots
from slackwater_cluster.certificates import CertificateGauges
from slackwater_cluster.customresources import SlackPolicySpec
from slackwater_cluster.frameworks import builtin
from slackwater_cluster.governance import UNWRITTEN
from slackwater_cluster.settings import bare
from slackwater_operator.webhook.listener import Listener

log = structlog.get_logger(__name__)

# Bytes. An API server takes objects of 3 MiB at most. In a review it writes some characters, such as <, as six; there
# may be an old and a new object; and who asks. Where a review is not read, a pod is not held (failurePolicy Ignore).
LARGEST = (2 * 6 * 3 + 4) * 2**20
# Reviews above so many bytes are read a few at a time, one of each address: a hundred of the largest at once would not
# fit into memory. Others go on meanwhile; addresses whose reviews come slowly take turns in slots of their own.
LARGE = 2**20
LARGE_AT_ONCE = 2
LARGE_SECONDS = 1.0  # for which one may be on its way: an API server that waits its turn has as long again
SMALL_AT_ONCE = 16
# Seconds. An answer is computed in less than a millisecond.
BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2)
# Seconds that an idle connection of an API server is kept: a new one costs a handshake.
KEEP_ALIVE = 120.0
JSON = "application/json"
Connected = Callable[[], asyncio.BaseProtocol]


class Policies(Protocol):
    """Who knows the policy of a namespace."""

    @property
    def complete(self) -> bool:
        """Whether everything was listed."""
        ...

    async def policy(self, namespace: str) -> tuple[SlackPolicySpec, bool] | None:
        """The SlackPolicy in force there, and whether its gate is open; None where there is none."""


class ReviewMetrics:
    """What is counted of reviews."""

    def __init__(self, certificate: Path | None = None) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(CertificateGauges("slackwater_webhook_", certificate))
        self.seconds = Histogram(
            "slackwater_webhook_seconds", "From a question to its answer.", buckets=BUCKETS, registry=self.registry
        )
        self.answers = Counter("slackwater_webhook_answers", "Reviews, by result.", ["result"], registry=self.registry)


class ReviewServer:
    """Answers POST /pods, and tells how it is."""

    def __init__(self, policies: Policies, certificate: Path, key: Path, patience: float = PATIENCE) -> None:
        self._policies, self._patience = policies, patience
        self._certificate, self._key = certificate, key
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._rules = builtin().rules()
        self._metrics = ReviewMetrics(certificate)
        self._loaded = 0.0
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        self._large_of: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._small = FairSlots(SMALL_AT_ONCE)

    def application(self) -> web.Application:
        """The routes."""
        app = web.Application(client_max_size=LARGEST)
        app.router.add_post(PATH, self._review)
        app.router.add_get("/healthz", self._alive)
        app.router.add_get("/readyz", self._ready)
        app.router.add_get("/metrics", self._scraped)
        return app

    @asynccontextmanager
    async def listening(self, host: str, port: int) -> AsyncIterator[None]:
        """Listen while the context is open."""
        self._load()
        runner = web.AppRunner(
            self.application(),
            access_log=None,
            keepalive_timeout=KEEP_ALIVE,
            shutdown_timeout=5.0,
            handle_signals=False,
        )
        await runner.setup()
        try:
            async with Listener(cast("Connected", runner.server), self._tls).listening(bare(host), port):
                yield
        finally:
            await runner.cleanup()

    async def renew(self, period: float, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Take over a renewed certificate, for connections from then on."""
        while True:
            await pause(period)
            try:
                if self._certificate.stat().st_mtime != self._loaded:
                    self._load()
                    log.info("the certificate was renewed")
            except OSError as problem:  # half of a pair, while the other half is being written
                log.warning("the certificate cannot be read; the one before stays", problem=str(problem))

    def _load(self) -> None:
        changed = self._certificate.stat().st_mtime
        # Tried elsewhere first: of a pair that does not fit the certificate would stay, and no handshake would work.
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(self._certificate, self._key)
        self._tls.load_cert_chain(self._certificate, self._key)
        self._loaded = changed

    async def _review(self, request: web.Request) -> web.Response:
        began = perf_counter()
        try:
            asked = review.read(await self._body(request))
            patch = self._patch(asked.pod, await self._policies.policy(asked.namespace))
        except web.HTTPRequestEntityTooLarge as problem:
            return self._refused(413, "too large", problem)
        except InvalidInput as problem:
            return self._refused(400, "bad input", problem)
        except Unavailable as problem:
            return self._refused(503, "unavailable", problem)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is counted: the pod may be created unheld
            return self._refused(500, "error", problem)
        self._metrics.answers.labels("changed" if patch else "unchanged").inc()
        self._metrics.seconds.observe(perf_counter() - began)
        return web.Response(body=review.answer(asked, patch), content_type=JSON)

    async def _body(self, request: web.Request) -> bytes:
        """What was sent, within the time for which an API server waits, so that no sender blocks others."""
        if request.content.is_eof():  # it came with its headers, as nearly all do: nobody has to be waited for
            return await request.read()
        size, address = request.content_length, request.remote or ""
        try:
            async with asyncio.timeout(self._patience):
                if size is not None and size <= LARGE:
                    async with self._small.slot(address):
                        return await request.read()
                async with self._large_of.setdefault(address, asyncio.Lock()), self._large:
                    async with asyncio.timeout(self._patience * LARGE_SECONDS / PATIENCE):
                        return await request.read()
        except TimeoutError as problem:
            raise Unavailable(f"a review did not arrive within {self._patience} s") from problem

    def _patch(self, pod: Body, found: tuple[SlackPolicySpec, bool] | None) -> list[Operation]:
        """Where no SlackPolicy has the name, as in mode observe: nothing changes but what a creator forged."""
        policy, open_gate = found or (UNWRITTEN, False)
        return mutation(pod, policy, self._rules, open_gate=open_gate)

    def _refused(self, status: int, result: str, problem: Exception) -> web.Response:
        self._metrics.answers.labels(result).inc()
        log.warning("no answer", result=result, problem=str(problem))
        return web.json_response({"error": str(problem)}, status=status)

    async def _alive(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def _ready(self, _: web.Request) -> web.Response:
        ready = self._policies.complete
        return web.json_response({"ready": ready}, status=200 if ready else 503)

    async def _scraped(self, _: web.Request) -> web.Response:
        return web.Response(body=generate_latest(self._metrics.registry), content_type="text/plain")
