"""What the process tells the allocator and the garbage collector, and what that is worth.

50,000 pods read page by page (`python tests/performance/bench_memory.py`): 1.34 s of CPU with the collector off, 1.54 s
with it on; 147 MB at the end, 77 MB after memory was given back. So the collector is off while the cluster is listed,
what was listed is frozen, and memory is given back every half minute. All threads share two heaps, since long answers
would leave pieces in every heap they were made in; and a thread that computes gives way after 0.2 ms instead of 5: a
/filter that waits for it must not wait long.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress
from dataclasses import dataclass

SWITCH = 0.0002  # seconds
GLIBC = "libc.so.6"  # only it knows how to give memory back, and to share heaps
M_ARENA_MAX = -8  # glibc's number for that option
ARENAS = 2
GIVE_BACK = 30  # ticks between two returns of unused memory to the system
PATIENCE = 120  # ticks after which garbage is collected though the cluster is not listed yet


@dataclass
class ProcessMemory:
    """The settings of one process: `begin` before the cluster is listed, `tick` once a second from then on."""

    frozen: bool = False
    _ticks: int = 0

    def begin(self) -> None:
        """Before anything is listed."""
        sys.setswitchinterval(SWITCH)
        gc.disable()
        with suppress(OSError, AttributeError):
            ctypes.CDLL(GLIBC).mallopt(M_ARENA_MAX, ARENAS)

    def tick(self, *, listed: bool) -> None:
        """Freeze what was listed, once; give back what is not used, now and then."""
        if not self.frozen and (listed or self._ticks >= PATIENCE):
            gc.freeze()
            gc.enable()
            self.frozen = True
        if self._ticks % GIVE_BACK == 0:
            give_back()
        self._ticks += 1


def give_back(library: str = GLIBC) -> bool:
    """Return to the system what long lists and answers needed for a moment; whether anybody knows how."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(library).malloc_trim(0)
        return True
    return False
