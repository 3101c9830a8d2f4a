"""The API described for machines: OpenAPI 3.1, made from the structs that are decoded and encoded."""

from __future__ import annotations

from typing import Any

import msgspec

import slackwater
from slackwater_cluster.extenderapi import PlaceReply, PlaceRequest, ReserveRequest, UnreserveRequest

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer", "minimum": 0}
_FLAG = {"type": "boolean", "default": False}


def document() -> dict[str, Any]:
    """The whole description."""
    schemas, components = msgspec.json.schema_components(
        (PlaceRequest, PlaceReply, ReserveRequest, UnreserveRequest), ref_template="#/components/schemas/{name}"
    )
    request, reply, reserve, unreserve = schemas
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Slackwater extender",
            "version": slackwater.__version__,
            "description": "Every POST needs a client certificate, loopback, or an accepted service account's token.",
        },
        "paths": {
            "/filter": {"post": _scheduler("ExtenderArgs in, ExtenderFilterResult out.")},
            "/prioritize": {"post": _scheduler("ExtenderArgs in, HostPriorityList out.")},
            "/v1/place": {
                "post": {
                    "summary": "A node for each of many pods, reserved at once.",
                    "requestBody": _body(request),
                    "responses": {"200": _reply("Placements and refusals.", reply), **_REFUSALS},
                }
            },
            "/v1/reserve": {
                "post": {
                    "summary": "Count pods that are released without a node of ours.",
                    "requestBody": _body(reserve),
                    "responses": {"200": _reply("Those that are not bound already.", {"type": "object"}), **_REFUSALS},
                }
            },
            "/v1/unreserve": {
                "post": {
                    "summary": "Take back placements and reservations that will not come true.",
                    "requestBody": _body(unreserve),
                    "responses": {"200": _reply("Those taken back.", {"type": "object"}), **_REFUSALS},
                }
            },
            "/v1/nodes": {"get": _read("Every node in short.", selector=_TEXT)},
            "/v1/nodes/{name}": {"get": _read("One node's ledger with its arithmetic.", path=("name",))},
            "/v1/capacity": {"get": _read("Sums over open nodes, and Tot of the pools.", selector=_TEXT)},
            "/v1/rooms": {"get": _read("Every node's room as arrays, node by kind.")},
            "/v1/decisions": {
                "get": _read("The last decisions.", namespace=_TEXT, pod=_TEXT, result=_TEXT, limit=_NUMBER)
            },
            "/v1/explain/{namespace}/{name}": {
                "get": _read("Why a pod waits, or is where it is.", path=("namespace", "name"))
            },
            "/v1/wakeups": {"get": _read("Refused pods that have room now.", after=_NUMBER, wait=_NUMBER)},
            "/v1/freed": {"get": _read("When room may have grown, as a number.", after=_NUMBER, wait=_NUMBER)},
            "/v1/usage": {
                "get": _read("What each managed pod was last measured to use, by uid; and each node.", nodes=_FLAG)
            },
            "/v1/version": {"get": _read("The version.")},
            "/healthz": {"get": _read("The process answers.")},
            "/readyz": {"get": _read("Whether decisions can be made, and what is missing.")},
            "/metrics": {"get": {"summary": "Prometheus exposition.", "responses": {"200": {"description": "Text."}}}},
        },
        "components": {"schemas": components},
    }


_REFUSALS: dict[str, Any] = {
    "400": {"description": "The body cannot be used; the error names the field and what to send."},
    "401": {"description": "The caller did not prove who it is."},
    "413": {"description": "The body is too large."},
}


def _scheduler(summary: str) -> dict[str, Any]:
    return {
        "summary": summary,
        "description": "For kube-scheduler (k8s.io/kube-scheduler/extender/v1).",
        "requestBody": _body({"type": "object"}),
        "responses": {"200": _reply("The answer in Go's field names.", {}), **_REFUSALS},
    }


def _read(summary: str, path: tuple[str, ...] = (), **query: dict[str, Any]) -> dict[str, Any]:
    places = [{"name": name, "in": "path", "required": True, "schema": _TEXT} for name in path]
    asked = [{"name": name, "in": "query", "schema": schema} for name, schema in query.items()]
    return {
        "summary": summary,
        "parameters": [*places, *asked],
        "responses": {"200": _reply("Found.", {"type": "object"})},
    }


def _body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _reply(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": schema}}}
