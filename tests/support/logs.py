"""What tests do with our logs: nobody wants to read those of programs that are troubled on purpose."""

import logging
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import structlog
from structlog.testing import LogCapture


def plainly() -> None:
    """Log errors without the values of all variables: to draw them takes seconds each time.

    Logs go where programs write them, to stderr: what a thread of an earlier test still says is no output of a command.
    """
    *others, _ = structlog.get_config()["processors"]
    structlog.configure(
        processors=[*others, structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


@contextmanager
def restored() -> Iterator[None]:
    """Whatever is configured inside ends with it."""
    before = structlog.get_config()
    try:
        yield
    finally:
        structlog.configure(**before)


@contextmanager
def quietly() -> Iterator[None]:
    """Nothing is logged inside."""
    with restored():
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
        yield


@contextmanager
def errors_logged() -> Iterator[list[MutableMapping[str, Any]]]:
    """What is logged inside as an error, with the trace of what raised; the rest is not."""
    kept = LogCapture()
    with restored():
        structlog.configure(
            wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
            processors=[structlog.processors.format_exc_info, kept],
        )
        yield kept.entries
