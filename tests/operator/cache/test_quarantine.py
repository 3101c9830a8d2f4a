"""What was set aside is told once, and remembered within bounds."""

from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.cache.quarantine import KNOWN, Part, Quarantine


def test_each_sentence_about_a_pod_is_told_once() -> None:
    """As long as the pod exists."""
    kept, pod = Quarantine(), PodRecord(name="p", uid="u")
    for problem in ("one", "two", "one"):
        kept.add(Part.POD, pod, problem)
    assert [each.problem for each in kept.take()] == ["one", "two"]
    kept.forget("u")
    kept.add(Part.POD, pod, "one")
    assert len(kept.take()) == 1


def test_pods_that_were_never_read_do_not_fill_the_memory() -> None:
    """Nobody tells when they are gone: those told of longest ago are forgotten."""
    kept = Quarantine()
    for number in range(KNOWN + 5):
        kept.add_unread(PodRecord(name="p", uid=str(number)), "it cannot be read")
    assert len(kept._unread) == KNOWN
    assert "0" not in kept._unread


def test_pods_that_live_are_told_of_once_however_many_they_are() -> None:
    """Who is told of longest ago is not forgotten while it lives: its sentence would come again without end."""
    kept, told = Quarantine(), 0
    pods = [PodRecord(name="p", uid=str(number)) for number in range(KNOWN + 5)]
    for _ in range(2):
        for pod in pods:
            kept.add(Part.STATEMENT, pod, "its role is none")
            told += len(kept.take())
    assert told == len(pods)
    for pod in pods:
        kept.forget(pod.uid)
    assert not kept._known
