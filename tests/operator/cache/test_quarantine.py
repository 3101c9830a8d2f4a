"""What was set aside is told once, and remembered within bounds."""

from slackwater_cluster.watch.records import PodRecord
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
        kept.add(Part.POD, PodRecord(name="p", uid=str(number)), "it cannot be read")
    assert len(kept._known) == KNOWN
    assert "0" not in kept._known
