"""What of a gang has to start together, and what may come later."""

from hypothesis import given
from hypothesis import strategies as st

from slackwater.admission.quorum import GangMembers, Quorum, quorum


def test_a_gang_lacks_what_nobody_has_made_yet() -> None:
    """Pods that somebody else keeps are there all the same."""
    assert quorum([GangMembers(4, ("a", "b"), others=1)]) == Quorum(starting=True, missing=1)


def test_pods_beyond_the_least_come_after_the_gang() -> None:
    """The oldest of them start it."""
    assert quorum([GangMembers(2, ("a", "b", "c"))]) == Quorum(starting=True, surplus=frozenset("c"))
    assert quorum([GangMembers(2, ("c",), charged=2)]) == Quorum()


def test_what_is_under_way_counts() -> None:
    """A pod that was made anew beside those that run completes the gang."""
    assert quorum([GangMembers(3, ("a", "b"), charged=2)]) == Quorum(starting=True, surplus=frozenset("b"))


def test_a_gang_that_has_started_keeps_its_surplus_from_another_that_starts() -> None:
    """Else the second would need room for pods that it does not wait for."""
    started, second = GangMembers(1, ("a",), charged=1), GangMembers(2, ("b", "c"))
    assert quorum([started, second]) == Quorum(starting=True, surplus=frozenset("a"))


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_due_and_missing_and_what_is_there_make_the_least(least: int, held: int, charged: int, others: int) -> None:
    """No pod is counted twice, and none is lost."""
    uids = [str(number) for number in range(held)]
    found = quorum([GangMembers(least, uids, charged, others)])
    due = held - len(found.surplus) if found.starting else 0
    assert found.starting is (charged < least)
    assert due + found.missing + others >= max(0, least - charged)
    assert due + found.missing <= max(0, least - charged)
