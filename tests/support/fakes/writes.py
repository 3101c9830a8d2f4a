"""A session that only notes what is written through it."""

from typing import Any

from slackwater_cluster.api.session import Answer


class Writes:
    """A session that notes what is written."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.made: list[tuple[str, str, Any]] = []
        self.answer = answer or Answer(200, b"{}")

    async def write(self, method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        """Note it."""
        del content_type
        self.made.append((method, path, body))
        return self.answer
