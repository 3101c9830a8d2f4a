"""`python -m fuzz` in tests/: mutated objects through the real code of operator and extender, in process.

Resumable: each batch has a seed of its own, and the number of batches that went well is kept in a file. A batch that
takes many times the CPU of plain objects is a finding; one that never ends is told with the lines where it stands.
"""

import argparse
import faulthandler
import sys
import time
from pathlib import Path

from fuzz.course import BATCH, Failure, run

STANDSTILL = 300.0  # seconds that a batch has: one takes less than half a second, and machines may be busy


def main() -> int:
    """Run until so many objects went through, or something failed; the failing batch is named by its seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--state", type=Path, default=Path(".fuzz"))
    parser.add_argument("--seed", type=int, help="run this one batch again")
    chosen = parser.parse_args()
    if chosen.seed is not None:
        faulthandler.dump_traceback_later(STANDSTILL, exit=True)
        print(f"{run(chosen.seed):.1f} times the CPU of plain objects")  # noqa: T201
        return 0
    done = int(chosen.state.read_text(encoding="utf-8")) if chosen.state.exists() else 0
    began, first, dearest = time.monotonic(), done, (0.0, 0)
    while done * BATCH < chosen.objects and time.monotonic() - began < chosen.seconds:
        faulthandler.dump_traceback_later(STANDSTILL, exit=True)
        try:
            dearest = max(dearest, (run(done), done))
        except Failure as problem:
            print(f"\nbatch {done} failed: {problem}\nagain: make fuzz SEED={done}", file=sys.stderr)  # noqa: T201
            return 1
        done += 1
        chosen.state.write_text(str(done), encoding="utf-8")
        rate = (done - first) * BATCH / (time.monotonic() - began)
        left = max(0, chosen.objects - done * BATCH) / rate
        print(f"\r{done * BATCH:,} of {chosen.objects:,} objects, {rate:,.0f}/s, {left:,.0f} s left ", end="")  # noqa: T201
    cpu = time.process_time()
    print(f"\n{cpu:,.0f} s of CPU; the dearest batch is {dearest[1]}: {dearest[0]:.1f} times plain objects")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
