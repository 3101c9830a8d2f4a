"""The first of many drivers that carry one label is known at any time, at little cost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slackwater_cluster.apps.namesakes import SPARE, Namesakes
from slackwater_cluster.objects.records import PodRecord


def driver(number: int) -> PodRecord:
    """Drivers of which several were created in the same second."""
    return PodRecord(name=f"d{number}", uid=f"d{number}", created=float(number // 3))


@given(st.lists(st.integers(0, 12), max_size=80))
def test_the_first_is_the_oldest_that_lives(moves: list[int]) -> None:
    """In whatever order they come, go and come again; of those created at once, the first by uid."""
    found, living = Namesakes(), dict[str, PodRecord]()
    for number in moves:
        each = driver(number)
        if living.pop(each.uid, None):
            found.drop(each.uid)
        else:
            living[each.uid] = each
            found.add(each)
        oldest = min(living.values(), key=lambda pod: (pod.created, pod.uid), default=None)
        assert found.first == (oldest.uid if oldest else "")
        assert len(found) == len(living)


def test_drivers_that_are_gone_do_not_pile_up_behind_one_that_stays() -> None:
    """A first driver may live for days while thousands of its name come and go."""
    found = Namesakes()
    for number in range(1000):
        found.add(driver(number))
        if number:
            found.drop(f"d{number}")
    assert found.first == "d0"
    assert len(found._order) <= 2 + SPARE
