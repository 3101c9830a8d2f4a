"""How properties are searched, which tests are slow or run without coverage, and what is told at the end of a run."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
import signal
import sys
import threading
import tomllib
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from slackwater_lab.processes.stealtime import look
from support import logs
from support.leftout import leaves_out
from support.reporting import left_to_deep, not_run, read_names, stolen

# Without deadlines, which measure the machine. `dev` looks at few examples (make quick), `default` at other ones each
# time (make test), `ci` at more and always the same.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=15)
settings.register_profile("dev", settings.get_profile("default"), max_examples=8)
settings.register_profile("ci", settings.get_profile("default"), max_examples=100, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default"))


pytest_plugins = ["support.forks"]
logs.plainly()
BEGAN = look()
HERE = Path(__file__).parent
SLOW = read_names(HERE / "slow.txt")
NO_COVERAGE = read_names(HERE / "no_coverage.txt")
DEEP = read_names(HERE / "deep.txt")
PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))
MEASURED = PROJECT["tool"]["coverage"]["run"]["source_pkgs"]


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """How one test logs is nothing to the next."""
    with logs.restored():
        yield


@contextlib.contextmanager
def _untraced() -> Iterator[None]:
    """Nothing that runs inside counts for coverage."""
    own, threads = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)
    try:
        yield
    finally:
        sys.settrace(own)
        threading.settrace(threads)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write down how a run ended, for .ci/plays.py: what was interrupted did not reach all tests."""
    if (cache := getattr(session.config, "cache", None)) is not None:
        cache.set("slackwater/ended", int(exitstatus))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays, so nobody looks for garbage meanwhile: that would be a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file whose tests are all left out: there are sixty for the lab and for real frameworks."""
    if collection_path.suffix != ".py":
        return None
    return leaves_out(config.option.markexpr, collection_path.read_text(encoding="utf-8")) or None


def pytest_collection_finish() -> None:
    """Import all that is measured while it is traced: a test that is not may be the first to need a module."""
    for package in MEASURED if sys.gettrace() is not None else ():
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not module.name.endswith("__main__"):
                with contextlib.suppress(ModuleNotFoundError):  # an extra that is not installed
                    importlib.import_module(module.name)
    # Thousands of tests were collected, which stay: the garbage collector need not go over them again and again.
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def pytest_configure() -> None:
    """Programs that tests interrupt must hear it: a shell without job control starts what is in the background deaf."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of slow.txt, no_coverage.txt and deep.txt, which names parameters too."""
    for item in items:
        test = item.nodeid.partition("[")[0]
        names = test, test.partition("::")[0]
        if not SLOW.isdisjoint(names):
            item.add_marker(pytest.mark.slow)
        if not NO_COVERAGE.isdisjoint(names):
            item.add_marker(pytest.mark.no_coverage)
        if not DEEP.isdisjoint((test, item.nodeid)):
            item.add_marker(pytest.mark.deep)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Trace no test of no_coverage.txt nor its fixtures: pytest-cov's own marker leaves fixtures in."""
    if item.get_closest_marker("no_coverage") is None:
        return (yield)
    with _untraced():
        return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end what was left out, so that a green run cannot hide it."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = (str(each.longrepr[2]).removeprefix("Skipped: ") for each in skipped if isinstance(each.longrepr, tuple))
    terminalreporter.write_line(not_run(reasons))
    if "not deep" in terminalreporter.config.option.markexpr:
        terminalreporter.write_line(left_to_deep(DEEP))
    terminalreporter.write_line(stolen(BEGAN, look()))
