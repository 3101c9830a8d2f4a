"""How long the loop rests between two rounds: as short as rounds are cheap.

A round on a small cluster takes milliseconds, and a pod that comes right behind one need not wait a quarter of a second
for the next. On a large one it takes a tenth of a second, and rounds one after the other would leave no time for
watches and writes.
"""

from __future__ import annotations

import asyncio

from slackwater_operator.cache.cache import OperatorCache

SHARE = 0.2  # of the loop's time that rounds without a release may take
LEAST = 0.01  # seconds; pods of a job come in a burst, and are decided on together


def rest(took: float, most: float) -> float:
    """Seconds to rest after a round that took so long and released nothing: took · (1 − share) / share, within bounds.

    `most` bounds it from above, also below LEAST.
    """
    return min(most, max(LEAST, took * (1.0 - SHARE) / SHARE))


async def until_pressing(cache: OperatorCache, news: asyncio.Event, seconds: float) -> None:
    """Until something could let a held pod go, at most so long: other news of running pods can wait."""
    try:
        async with asyncio.timeout(seconds):
            while not cache.pressing:
                news.clear()
                await news.wait()
    except TimeoutError:
        return


async def for_news(news: asyncio.Event, seconds: float) -> None:
    """Until the event, at most so long. `wait_for` might swallow a cancellation that comes with the event."""
    try:
        async with asyncio.timeout(seconds):
            await news.wait()
    except TimeoutError:
        return
