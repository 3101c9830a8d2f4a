"""What tests do with our logs: nobody wants to read those of programs that are troubled on purpose."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import structlog


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
