"""Bodies of /v1/place, /v1/reserve and /v1/unreserve: how they are read, and what is said of bad ones."""

from __future__ import annotations

import msgspec

from slackwater.errors import InvalidInput
from slackwater_cluster.api.unreadable import UNREADABLE
from slackwater_cluster.extenderapi import PlaceRequest, ReserveRequest, UnreserveRequest

_REQUESTS = msgspec.json.Decoder(PlaceRequest)


def read(body: bytes) -> PlaceRequest:
    """Decode a request, or say what is wrong with it."""
    try:
        return _REQUESTS.decode(body)
    except UNREADABLE as problem:
        raise InvalidInput("body", str(problem), 'send {"pods": [{"uid": "…"}, …]}') from problem


def read_reserve(body: bytes) -> ReserveRequest:
    """Decode a request to reserve, or say what is wrong with it."""
    try:
        return msgspec.json.decode(body, type=ReserveRequest)
    except UNREADABLE as problem:
        instead = 'send {"pods": [{"uid": "…", "declared": {"cpu": 1}}, …]}'
        raise InvalidInput("body", str(problem), instead) from problem


def read_uids(body: bytes) -> list[str]:
    """Decode the body of /v1/unreserve."""
    try:
        return msgspec.json.decode(body, type=UnreserveRequest).uids
    except UNREADABLE as problem:
        raise InvalidInput("body", str(problem), 'send {"uids": ["…"]}') from problem
