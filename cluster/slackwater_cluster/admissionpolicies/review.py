"""AdmissionReview on the wire: the question of an API server about a new pod, and the answer with its patch."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import msgspec
import orjson

from slackwater.errors import InvalidInput
from slackwater_cluster.admissionpolicies.mutation import Operation
from slackwater_cluster.api.unreadable import UNREADABLE

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"


class ReviewRequest(msgspec.Struct, frozen=True, gc=False):
    """What is asked: the pod as its creator wrote it, with the API server's defaults."""

    uid: str
    namespace: str
    pod: dict[str, Any] = msgspec.field(name="object")


class _Review(msgspec.Struct, frozen=True, gc=False):
    request: ReviewRequest


_DECODER = msgspec.json.Decoder(_Review)


def read(body: bytes) -> ReviewRequest:
    """The request of an AdmissionReview about a pod."""
    try:
        request = _DECODER.decode(body).request
    except UNREADABLE as problem:
        raise InvalidInput("AdmissionReview", str(problem), f"send one of {API_VERSION} about a new pod") from problem
    if not isinstance(request.pod.get("metadata"), dict) or not isinstance(request.pod.get("spec"), dict):
        raise InvalidInput("AdmissionReview", "its object is no pod", f"send one of {API_VERSION} about a new pod")
    return request


def answer(request: ReviewRequest, patch: Sequence[Operation]) -> bytes:
    """The answer: always allowed (the validating policies refuse), with a patch where there is something to change."""
    response: dict[str, object] = {"uid": request.uid, "allowed": True}
    if patch:
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(orjson.dumps(patch)).decode("ascii")}
    return orjson.dumps({"apiVersion": API_VERSION, "kind": KIND, "response": response})
