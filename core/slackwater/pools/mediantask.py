"""What slots are made of, for operator and simulator alike: the median declared task of the apps seen so far.

One vote for each name, so that neither a large app nor one that runs every minute decides alone. Renewed as the number
of names doubles: the border between the pools is counted in slots, and must not move because the mix of a moment did.
"""

from __future__ import annotations

from slackwater.pools.pools import median_slot
from slackwater.resources import NOTHING, Resources

MOST = 16_384  # names; a cluster that has seen more begins to count anew, as its work may be another by now


class MedianTask:
    """Sizes of tasks by the names of their apps, and their median when it was last looked for."""

    def __init__(self) -> None:
        self._sizes: dict[str, Resources] = {}
        self._counted = 0  # names when the median was last looked for
        self._median = NOTHING

    def __len__(self) -> int:
        return len(self._sizes)

    def see(self, name: str, task: Resources) -> None:
        """An app of this name declares such tasks; its first one counts."""
        if name in self._sizes or not task:
            return
        if len(self._sizes) >= MOST:
            self._sizes, self._counted = {}, 0
        self._sizes[name] = task

    @property
    def current(self) -> Resources:
        """The median, kind by kind; nothing while no task is known."""
        if self._sizes and len(self._sizes) >= 2 * self._counted:
            self._counted, self._median = len(self._sizes), median_slot(self._sizes.values())
        return self._median
