"""Play all tests, or every end-to-end scenario; name those that needed a second play, and fail if more than two did.

    python .ci/plays.py tests        # `make test`
    python .ci/plays.py scenarios    # tests/e2e on a lab

Some tests wait for real clocks, threads and browsers on whatever machine this is, so one that failed may be played once
more. More than two second plays are no accident any more. What a random search finds is no accident at all.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MOST = 2
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

    def failed(self) -> list[str]:
        """The tests that failed in the last play."""
        record = self.cache / "v" / "cache" / "lastfailed"
        return sorted(json.loads(record.read_text(encoding="utf-8"))) if record.exists() else []

    def forget(self) -> None:
        """What failed in earlier runs is not this one's."""
        (self.cache / "v" / "cache" / "lastfailed").unlink(missing_ok=True)


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
    finds = [name for name in names if name.startswith(FINDS)]
    if finds:
        print("found by search, so not played again:", *finds, sep="\n  ")  # noqa: T201
        return 1
    done = passes(suite.again) and all(map(passes, suite.beside))
    told(suite, names)
    return int(not done)


SUITES = {"tests": suite_of_tests, "scenarios": suite_of_scenarios}
if __name__ == "__main__":
    sys.exit(main(SUITES[sys.argv[1]]()))
