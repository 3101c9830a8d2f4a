"""What the operator watches: pods and nodes through our reflector, and the records it keeps of custom resources."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from slackwater_cluster.objects.records import Record

R = TypeVar("R", bound=Record)


@dataclass
class Feed(Generic[R]):
    """Passes a reflector's news on to two functions and notes when the first whole list was delivered."""

    changed_to: Callable[[Sequence[R]], None]
    vanished_to: Callable[[Sequence[R]], None]
    complete: asyncio.Event = field(default_factory=asyncio.Event)

    def changed(self, records: Sequence[R]) -> None:
        """These exist now."""
        self.changed_to(records)

    def vanished(self, records: Sequence[R]) -> None:
        """These exist no more."""
        self.vanished_to(records)

    def synced(self) -> None:
        """Everything was listed."""
        self.complete.set()
