"""Play all tests, or every end-to-end scenario; name those that needed a second play, and fail if more than two did.

    python .ci/plays.py tests        # `make test`
    python .ci/plays.py scenarios    # tests/e2e on a lab

Some tests wait for real clocks, threads and browsers on whatever machine this is, so one that failed may be played once
more. More than two second plays are no accident any more. What a random search finds is no accident at all. A first
play that did not come to its end (files that cannot be read, a crash) says nothing of the tests that it did not reach.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

MOST = 2
FAILED = 1  # how a run of pytest ends that came to its end, and in which tests failed
# What fails here failed for a seed: it is a find, and is not played until it passes.
FINDS = ("tests/search/", "tests/fuzz/", "tests/walk/", "tests/soak/", "tests/simulator/test_random_worlds.py")
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly"]
Command = Sequence[str]


@dataclass(frozen=True, slots=True)
class Suite:
    """What is played first, what is played again, and what the first play would have checked beside its tests."""

    name: str
    cache: Path  # where pytest keeps the names of what failed
    first: Command
    again: Command
    beside: tuple[Command, ...] = ()

    @property
    def _failed(self) -> Path:
        return self.cache / "v" / "cache" / "lastfailed"

    @property
    def _ended(self) -> Path:
        return self.cache / "v" / "slackwater" / "ended"

    def failed(self) -> list[str]:
        """The tests that failed in the last play."""
        return sorted(json.loads(self._failed.read_text(encoding="utf-8"))) if self._failed.exists() else []

    def complete(self) -> bool:
        """Whether all that the last play did not pass are tests that failed: tests/conftest.py writes down its end."""
        return self._ended.exists() and json.loads(self._ended.read_text(encoding="utf-8")) == FAILED

    def forget(self) -> None:
        """What failed in earlier runs is not this one's."""
        self._failed.unlink(missing_ok=True)
        self._ended.unlink(missing_ok=True)

    def passes_again(self, names: Sequence[str]) -> bool:
        """Whether each of these is played again, and passes: one that is skipped, or does not come again, does not."""
        record = self.cache / "again.xml"
        record.unlink(missing_ok=True)
        return passes([*self.again, f"--junit-xml={record}"]) and _passed(record) == len(names)


def suite_of_tests() -> Suite:
    """`make test` ends with one code for tests, lint, types, contracts and coverage: all are asked again."""
    coverage = [sys.executable, "-m", "coverage", "report", "--format=total", "--fail-under", _least()]
    again = [*PYTEST, "--last-failed", "--last-failed-no-failures=none"]
    return Suite(
        "tests", Path(".pytest_cache"), ["make", "test"], again, (["make", "lint", "types", "contracts"], coverage)
    )


def suite_of_scenarios() -> Suite:
    """The guard against hanging counts seconds that the host stole; the scenarios' own deadlines do not."""
    cache = Path(".pytest_cache/scenarios")
    play = [*PYTEST, "-m", "lab", "-o", f"cache_dir={cache}", "-o", "timeout=900", "tests/e2e"]
    return Suite("scenarios", cache, play, [*play, "--last-failed"])


def _least() -> str:
    """The share of branches that the Makefile asks for."""
    lines = Path("Makefile").read_text(encoding="utf-8").splitlines()
    return next(line.removeprefix("LEAST := ") for line in lines if line.startswith("LEAST := "))


def _passed(record: Path) -> int:
    """How many tests were played and not skipped."""
    suites = ET.parse(record).getroot().iter("testsuite")  # noqa: S314 - our own tests wrote it
    return sum(int(each.get("tests", 0)) - int(each.get("skipped", 0)) for each in suites)


def told(suite: Suite, names: list[str]) -> None:
    """Name what needed a second play."""
    print(f"{suite.name} that needed a second play: {len(names)} (at most {MOST})", *names, sep="\n  ", flush=True)  # noqa: T201


def passes(command: Command) -> bool:
    """Whether a command of ours ends well."""
    return subprocess.run(command, check=False).returncode == 0  # noqa: S603 - our own tests


def main(suite: Suite) -> int:
    """Exit code 0 if all passed, at most two of them at the second attempt."""
    suite.forget()
    if passes(suite.first):
        told(suite, [])
        return 0
    names = suite.failed()
    told(suite, names)
    if not 0 < len(names) <= MOST:  # without a name, something else than a test failed
        return 1
    if not suite.complete():
        print("the first play did not come to its end: what it did not reach was not played")  # noqa: T201
        return 1
    finds = [name for name in names if name.startswith(FINDS)]
    if finds:
        print("found by search, so not played again:", *finds, sep="\n  ")  # noqa: T201
        return 1
    done = suite.passes_again(names) and all(map(passes, suite.beside))
    told(suite, names)
    return int(not done)


SUITES = {"tests": suite_of_tests, "scenarios": suite_of_scenarios}
if __name__ == "__main__":
    sys.exit(main(SUITES[sys.argv[1]]()))
