"""Tests in several processes that share one collection: `pytest --forks 3`.

All tests are collected once. Then processes are forked, which have everything that was imported and collected, and
take tests from one list: at first long runs of neighbours, so that what a file sets up is set up once, and ever shorter
ones towards the end, so that no process is kept waiting (guided self-scheduling). Their reports are told where the
tests were collected, as if they had run there. docs/decisions/0035-one-collection.md says why.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import signal
import threading
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from tempfile import TemporaryFile
from typing import Any

import coverage
import pytest
from _pytest.capture import FDCapture
from _pytest.runner import pytest_sessionfinish, runtestprotocol

FORK = get_context("fork")
PATIENCE = 20.0  # seconds in which a process may take down what its tests set up, before it is killed
SHARE = 4  # a process takes this part of what would be its own, if all that is left were parted among all
Warned = tuple[str, bytes, str, int, str, str]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the number of processes."""
    parser.getgroup("forks").addoption("--forks", type=int, default=1, help="processes that play the tests")


@dataclass(frozen=True, slots=True)
class Report:
    """What a process tells of one test."""

    index: int
    phases: tuple[dict[str, Any], ...]  # set-up, call and teardown, as pytest writes them down
    warned: tuple[Warned, ...]


class WorkList:
    """Numbers of tests that nobody has taken yet, which all processes share."""

    def __init__(self, tests: int, processes: int) -> None:
        self._tests, self._parts = tests, SHARE * processes
        self._next = FORK.Value("l", 0)

    def take(self) -> range:
        """The next run of neighbours; an empty one where nothing is left."""
        with self._next.get_lock():
            first = self._next.value
            end = min(first + max(1, (self._tests - first) // self._parts), self._tests)
            self._next.value = end
        return range(first, end)

    def __iter__(self) -> Iterator[int]:
        """One after the other, until nothing is left."""
        while taken := self.take():
            yield from taken


class Player:
    """One process: plays tests and sends their reports, where others would print and count them."""

    def __init__(self, session: pytest.Session, channel: Connection) -> None:
        self._session, self._channel = session, channel
        self._index = 0
        self._phases: tuple[dict[str, Any], ...] = ()
        self._warned: list[Warned] = []

    def play(self, work: WorkList) -> None:
        """Play until nothing is left. Who comes next says which fixtures stay."""
        self._capture_alone()
        self._session.config.pluginmanager.register(self, "forks-player")
        numbers = iter(work)
        upcoming = next(numbers, None)
        while upcoming is not None:
            self._index, upcoming = upcoming, next(numbers, None)
            item = self._session.items[self._index]
            following = None if upcoming is None else self._session.items[upcoming]
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self._channel.send(Report(self._index, self._phases, tuple(self._warned)))
            self._warned.clear()
        self._count_alone()

    def _capture_alone(self) -> None:
        """What processes print goes into files of their own: those of before the fork share one position.

        The file changes under its number, since loggers and others may have kept what writes to that.
        """
        manager = self._session.config.pluginmanager.getplugin("capturemanager")
        capturing = manager and manager._global_capturing
        for stream in (capturing.out, capturing.err) if capturing else ():
            if isinstance(stream, FDCapture):
                with TemporaryFile(buffering=0) as own:
                    os.dup2(own.fileno(), stream.tmpfile.fileno())

    @staticmethod
    def _count_alone() -> None:
        """Branches go into a file of this process, which pytest-cov finds and adds."""
        if (counting := coverage.Coverage.current()) is not None:
            counting.stop()
            counting.save()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Play one test, and keep what came of it: its warnings come later."""
        hook, config = item.config.hook, item.config
        phases = runtestprotocol(item, log=False, nextitem=nextitem)
        self._phases = tuple(hook.pytest_report_to_serializable(config=config, report=each) for each in phases)
        return True

    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage, when: str, nodeid: str) -> None:
        """Keep a warning until its test is told of."""
        try:
            kind = pickle.dumps(warning_message.category)
        except pickle.PicklingError:  # a class that only its test knows
            kind = pickle.dumps(Warning)
        text, place = str(warning_message.message), (warning_message.filename, warning_message.lineno)
        self._warned.append((text, kind, *place, when, nodeid))


class Teller:
    """Where the tests were collected: starts the processes and tells what they report."""

    def __init__(self, session: pytest.Session, processes: int) -> None:
        self._session = session
        self._work = WorkList(len(session.items), processes)
        self._left = len(session.items)
        self._playing: dict[Connection, BaseProcess] = {}
        for _ in range(processes):
            self._fork()

    def _fork(self) -> None:
        here, there = FORK.Pipe(duplex=False)
        process = FORK.Process(target=_live, args=(self._session, self._work, there))
        process.start()
        there.close()  # so that a process that ends is heard to end
        self._playing[here] = process

    def tell(self) -> None:
        """Tell of each test as its report comes; processes that are not needed any more are ended."""
        try:
            while self._playing:
                for channel in wait(list(self._playing)):
                    self._hear(channel)  # type: ignore[arg-type]  # what wait was given
        except BaseException as error:
            self._end(heard=isinstance(error, KeyboardInterrupt))  # a terminal tells all of them
            raise

    def _end(self, *, heard: bool) -> None:
        """End what still plays, as Ctrl-C does: what its tests set up is taken down."""
        for process in () if heard else self._playing.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid or 0, signal.SIGINT)
        for process in self._playing.values():
            process.join(PATIENCE)
            process.kill()
            process.join()

    def _hear(self, channel: Connection) -> None:
        try:
            report: Report = channel.recv()
        except (EOFError, ConnectionError):
            self._ended(self._playing.pop(channel))
            return
        self._left -= 1
        self._pass_on(report)
        if self._session.shouldfail:  # as many failed as --maxfail allows
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    def _ended(self, process: BaseProcess) -> None:
        """A process that ends itself has told of all its tests; another did not come to its end."""
        process.join()
        if process.exitcode != 0 or (not self._playing and self._left):
            lost = f"a process that played tests ended with {process.exitcode}: {self._left} tests are not told of"
            raise self._session.Interrupted(lost)

    def _pass_on(self, report: Report) -> None:
        hook, config = self._session.config.hook, self._session.config
        item = self._session.items[report.index]
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for text, kind, filename, line, when, nodeid in report.warned:
            category = pickle.loads(kind)
            warning = warnings.WarningMessage(text, category, filename, line)
            hook.pytest_warning_recorded.call_historic(
                kwargs={"warning_message": warning, "when": when, "nodeid": nodeid, "location": None}
            )
        for phase in report.phases:
            hook.pytest_runtest_logreport(report=hook.pytest_report_from_serializable(config=config, data=phase))
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _live(session: pytest.Session, work: WorkList, channel: Connection) -> None:
    """The life of one process. What its tests left behind (workers of joblib, say) is ended with it, for a while."""
    code = 3  # what pytest ends with where it is itself at fault
    try:
        Player(session, channel).play(work)
        code = 0
    except (KeyboardInterrupt, pytest.exit.Exception):
        code = 2
    except BaseException:  # noqa: BLE001 - told, and the parent hears that this process did not come to its end
        with contextlib.suppress(OSError):
            os.write(2, traceback.format_exc().encode())
    finally:
        last = threading.Timer(PATIENCE, os._exit, (code,))  # something that never ends would be waited for
        last.daemon = True
        last.start()
        for end in (lambda: pytest_sessionfinish(session), threading._shutdown, atexit._run_exitfuncs):  # type: ignore[attr-defined]
            with contextlib.suppress(BaseException):
                end()  # what is still set up, then what threads and programs of tests leave to the end of Python
        channel.close()
        os._exit(code)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Play the tests in several processes, if so asked, and if nobody wants to look into one of them."""
    option = session.config.option
    alone = option.forks < 2 or len(session.items) < 2 or option.collectonly or option.usepdb
    if alone or (session.testsfailed and not option.continue_on_collection_errors):
        return None
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # one for all, cleared away here
    Teller(session, min(option.forks, len(session.items))).tell()
    return True
