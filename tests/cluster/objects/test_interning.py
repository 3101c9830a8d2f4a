"""Equal parts of records are one object; nobody can make us remember without end."""

from __future__ import annotations

import msgspec

from slackwater_cluster.objects import wire
from slackwater_cluster.objects.interning import SharedValues
from slackwater_cluster.watch import trim


def decoded(annotation: str) -> wire.Pod:
    """A pod with one annotation of ours."""
    body = {"metadata": {"name": "p", "uid": "u", "annotations": {"slackwater.io/stage": annotation}}}
    return msgspec.convert(body, wire.Pod)


def test_equal_pods_share_their_annotations() -> None:
    """Thousands of siblings cost one mapping."""
    assert trim.pod(decoded("map")).annotations is trim.pod(decoded("map")).annotations


def test_a_pod_patched_again_and_again_leaves_nothing_behind() -> None:
    """1,200 versions of 250 kB: none of them is remembered, not even by the pod itself."""
    before = trim._MAPPINGS.size
    for number in range(1200):
        assert trim.pod(decoded(f"{number:08d}" + "x" * 250_000)).annotations == {}
    assert trim._MAPPINGS.size - before < 4096


def test_what_is_remembered_is_bounded_by_its_bytes() -> None:
    """Many small values fill it, and then it starts anew; a large one is never kept."""
    shared = SharedValues(lambda value: value, most=10_000, largest=1_000)
    for number in range(1_000):
        shared.one(("key", f"{number:0500d}"))
        assert shared.size <= 10_000
    sizes = shared.size
    shared.one(("key", "x" * 1_000))
    assert shared.size == sizes
    small = ("key", str(len("y")))
    assert shared.one(small) is shared.one(("key", str(len("y"))))
