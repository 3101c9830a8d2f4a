"""Python's garbage collector in a program that keeps every pod of a cluster in memory.

Records are many, live long and form no cycles. With Python's own thresholds the collector goes over them again and
again while the first list is read, a quarter of the time of a start; and later each full collection stops the program
for as long as it takes to go over all of them.
"""

from __future__ import annotations

import gc

# New objects before the young are looked at, then young generations before the next one is: Python's are 700, 10, 10.
THRESHOLDS = (50_000, 20, 20)


def expect_many() -> None:
    """A program is about to list a cluster: collect more rarely. What has no cycle is freed at once all the same."""
    gc.set_threshold(*THRESHOLDS)


def set_apart() -> None:
    """Everything was listed: full collections leave out what is held now. It is freed as before when it is replaced."""
    gc.freeze()
