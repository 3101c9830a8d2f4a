"""The server's answers as objects: one list chunk, one watch event. One unreadable object never hides the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from slackwater.errors import Unavailable
from slackwater_cluster.api.unreadable import UNREADABLE
from slackwater_cluster.objects.wire import Meta

_ERROR = b'{"type":"ERROR"'


class Listed(msgspec.Struct, rename="camel"):
    """metadata of a list: where to watch from, and whether more chunks follow."""

    resource_version: str = ""
    continue_: str | None = msgspec.field(name="continue", default="")


class WatchStatus(msgspec.Struct):
    """The object of an ERROR event."""

    code: int | None = 0
    message: str | None = ""


class _Marked(msgspec.Struct):
    metadata: Meta = msgspec.field(default_factory=Meta)


class _Mark(msgspec.Struct):
    object: _Marked
    type: str = ""


class _Failure(msgspec.Struct):
    object: WatchStatus


class Chunk(NamedTuple):
    """One piece of a list."""

    metadata: Listed
    items: Sequence[Any]
    unread: Sequence[Meta] = ()  # of objects that are there and cannot be read


class Decoding:
    """Decoders for one shape; `skipped` is told of each object that cannot be read."""

    def __init__(self, shape: type[Any], skipped: Callable[[Exception, Meta | None], None]) -> None:
        listed: list[Any] = [("metadata", Listed), ("items", list[shape] | None, None)]  # type: ignore[valid-type] # known at run time only
        raw: list[Any] = [("metadata", Listed), ("items", list[msgspec.Raw] | None, None)]
        self._lists: msgspec.json.Decoder[Any] = msgspec.json.Decoder(msgspec.defstruct("Chunk", listed))
        self._raws: msgspec.json.Decoder[Any] = msgspec.json.Decoder(msgspec.defstruct("RawChunk", raw))
        self._items: msgspec.json.Decoder[Any] = msgspec.json.Decoder(shape)
        self._events: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
            msgspec.defstruct("Event", [("type", str), ("object", shape)])
        )
        self._marks = msgspec.json.Decoder(_Mark)
        self._skipped = skipped

    def chunk(self, body: bytes) -> Chunk:
        """One piece of a list."""
        try:
            listed = self._lists.decode(body)
        except UNREADABLE:
            return self._singly(body)
        return Chunk(listed.metadata, listed.items or ())

    def _singly(self, body: bytes) -> Chunk:
        try:
            raw = self._raws.decode(body)
        except UNREADABLE as problem:
            raise Unavailable(f"the answer is not a list: {problem}") from problem
        good, unread = [], []
        for item in raw.items or ():
            try:
                good.append(self._items.decode(item))
            except UNREADABLE as problem:
                meta = _meta(item)
                self._skipped(problem, meta)
                unread += [meta] if meta else []
        return Chunk(raw.metadata, good, unread)

    def event(self, line: bytes) -> tuple[str, Meta, Any | None] | None:
        """An event's kind, its object's metadata and the object (none in a bookmark, or where it cannot be read).

        None if it is not even an event.
        """
        try:
            event = self._events.decode(line)
        except UNREADABLE as problem:
            mark = self._marked(line)
            self._skipped(problem, mark.object.metadata if mark else None)
            return None if mark is None else (mark.type, mark.object.metadata, None)
        return event.type, event.object.metadata, None if event.type == "BOOKMARK" else event.object

    def _marked(self, line: bytes) -> _Mark | None:
        """An event whose object cannot be decoded otherwise."""
        try:
            return self._marks.decode(line)
        except UNREADABLE:
            return None


def _meta(item: msgspec.Raw) -> Meta | None:
    """The metadata of a listed object that cannot be decoded otherwise."""
    try:
        return msgspec.json.decode(item, type=_Marked).metadata
    except UNREADABLE:
        return None


def failure(line: bytes) -> WatchStatus | None:
    """The Status of an ERROR event, else None. Tested by its prefix: its object is not of the watched shape."""
    if not line.startswith(_ERROR):
        return None
    try:
        return msgspec.json.decode(line, type=_Failure).object
    except UNREADABLE:
        return WatchStatus(code=0, message="unreadable ERROR event")
