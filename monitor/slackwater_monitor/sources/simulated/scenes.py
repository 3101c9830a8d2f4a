"""Several plays under one roof, such as the hour of the demo and its nine o'clock; a page says which it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slackwater.errors import UnknownName
from slackwater_monitor.sources.simulated.replay import Replay


class Scenes:
    """Plays by their names; the first is shown where none is asked for."""

    def __init__(self, plays: Mapping[str, Replay], titles: Mapping[str, str]) -> None:
        self._plays = dict(plays)
        for name, play in self._plays.items():
            play.scene, play.scenes = name, dict(titles)

    def chosen(self, asked: Mapping[str, str]) -> Replay:
        """The scene and the moment that are asked for."""
        name = asked.get("scene") or self.names[0]
        if name not in self._plays:
            raise UnknownName("scene", name, self.names)
        return self._plays[name].chosen(asked)

    @property
    def names(self) -> Sequence[str]:
        """All scenes, in order."""
        return tuple(self._plays)
