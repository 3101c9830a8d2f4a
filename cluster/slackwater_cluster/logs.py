"""Structured logs: one line per event, JSON for machines or colours for people, never a secret."""

from __future__ import annotations

import logging
import sys

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

# Keys that may hold credentials; their values are never written.
SECRET = frozenset({"authorization", "token", "password", "headers", "cookie"})


def configure(level: str = "info", style: str = "json") -> None:
    """Send everything, the libraries' own lines included, through one formatter to stderr."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        hide,
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
    ]
    last = structlog.dev.ConsoleRenderer() if style == "console" else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, last],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for noisy in ("httpx2", "httpcore2", "urllib3", "kubernetes", "kopf", "aiohttp", "asyncio"):
        logging.getLogger(noisy).setLevel("WARNING")


def hide(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Replace what may be a secret."""
    del logger, method
    for key in event:
        if key.lower() in SECRET:
            event[key] = "(hidden)"
    return event
