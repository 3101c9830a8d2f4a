"""AdmissionReviews: what an API server asks, and the answer it understands."""

import base64
import json

import pytest

from slackwater.errors import InvalidInput
from slackwater_cluster.admissionpolicies import review

POD = {"metadata": {"name": "p"}, "spec": {"containers": []}}


def asked(**request: object) -> bytes:
    """A review as it is sent."""
    whole = {"uid": "u", "namespace": "team", "object": POD, "operation": "CREATE", **request}
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": whole}).encode()


def test_a_patch_travels_in_base64() -> None:
    """The API server decodes it and applies it as a JSON patch."""
    patch = [{"op": "add", "path": "/spec/schedulerName", "value": "slackwater"}]
    answer = json.loads(review.answer(review.read(asked()), patch))
    assert answer["response"]["uid"] == "u"
    assert answer["response"]["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(answer["response"]["patch"])) == patch


def test_without_a_patch_the_pod_is_allowed_as_it_is() -> None:
    """A patch type without a patch would be an error to the API server."""
    answer = json.loads(review.answer(review.read(asked()), []))
    assert answer["response"] == {"uid": "u", "allowed": True}


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"no JSON", asked(object=None), asked(object={"metadata": {}}), asked(object={"spec": [1]})],
    ids=["empty", "no request", "no JSON", "no object", "no spec", "spec is a list"],
)
def test_what_is_no_review_is_refused_with_a_sentence(body: bytes) -> None:
    """Never an exception that nobody expected."""
    with pytest.raises(InvalidInput, match=r"send one of admission\.k8s\.io/v1"):
        review.read(body)
