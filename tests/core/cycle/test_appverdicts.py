"""Reasons in words: amounts as people write them, and one pod is one pod."""

from __future__ import annotations

import re

import pytest

from slackwater.cycle.appverdicts import SENTENCES, Verdict, WaitReason, singular

GIB = 2.0**30


def test_memory_is_told_in_gib() -> None:
    """Never as bytes, and never with an exponent."""
    numbers = {"queue": "default", "kind": "memory", "free": 25.6 * GIB, "ask": 64 * GIB}
    assert Verdict("app", WaitReason.ROOM, numbers).sentence == (
        "the nodes of queue default have 25.6 GiB memory free in all, and a pod of this app asks for 64 GiB"
    )


@pytest.mark.parametrize("reason", [r for r in SENTENCES if "{kind}" in SENTENCES[r]], ids=str)
def test_no_amount_of_a_kind_is_told_as_a_bare_number(reason: WaitReason) -> None:
    """Whichever reason names a kind: 3 GiB of memory and not 3221225472."""
    names = re.findall(r"\{(\w+)", SENTENCES[reason])
    texts = ("queue", "kind", "remedy")
    numbers: dict[str, object] = {name: 3 * GIB if name not in texts else "memory" for name in names}
    said = Verdict("app", reason, numbers).sentence
    assert "3 GiB" in said
    assert not re.search(r"e\+|\d{6}", said)


@pytest.mark.parametrize(("many", "one"), [("1 pods", "1 pod"), ("11 pods", "11 pods"), ("1 held pods", "1 held pod")])
def test_one_is_singular(many: str, one: str) -> None:
    """And eleven is not."""
    assert singular(many) == one


@pytest.mark.parametrize("reason", [WaitReason.POOL, WaitReason.LENT], ids=str)
def test_a_pool_is_not_said_to_have_given_more_slots_than_it_has(reason: WaitReason) -> None:
    """Apps that started may need 410 slots for tasks that still wait where there are 219.5: needed, not taken."""
    numbers = {"category": "small", "size": 219.5, "tot": 220.5, "occupied": 410.0, "need": 2.0, "unused": 0.0}
    said = Verdict("app", reason, numbers).sentence
    assert (
        "apps that have started need 410.0 for pods that run and tasks that wait, and this app needs 2.0 more" in said
    )
    assert "taken" not in said
