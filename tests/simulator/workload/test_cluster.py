"""How a cluster is written down, and which ones are refused."""

from pathlib import Path

import pytest

from slackwater.errors import InvalidInput
from slackwater_simulator.workload.cluster import parse


@pytest.mark.parametrize(
    "groups",
    [
        "{count: 2, cpu: 4, name: big}, {count: 1, cpu: 8, name: big}",
        "{count: 11, cpu: 4, name: a}, {count: 1, cpu: 8, name: a1}",
    ],
    ids=["one name twice", "names that meet in a number"],
)
def test_two_nodes_of_one_name_are_refused(tmp_path: Path, groups: str) -> None:
    """Everything that happens on a node is told under its name."""
    path = tmp_path / "twins.yaml"
    path.write_text(f"nodes: [{groups}]\n")
    with pytest.raises(InvalidInput, match=r"two groups have a node '.*'; give each group a name"):
        parse(str(path))


def test_groups_without_a_name_are_told_apart() -> None:
    """By their number in the SPEC."""
    assert [node.name for node in parse("2x4+1x8c32Gi").nodes] == ["node0-0", "node0-1", "node1-0"]


def test_the_remedy_of_a_cluster_that_cannot_be_read_can_be_read() -> None:
    """The form that it names has no blank, because one with a blank is refused."""
    with pytest.raises(InvalidInput, match="COUNTxCOREScMEMORY such as 8x24c32Gi"):
        parse("8x24c 32Gi")


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("count: 2, cpu: .inf", "cpu"),
        ("count: 2, cpu: .nan", "cpu"),
        ("count: 2, cpu: 0", "cpu"),
        ("count: 2, cpu: true", "cpu: .*write a number"),
        ("count: true, cpu: 4", "count: .*write a number"),
        ("count: 2, cpu: 4, racks: true", "racks: .*write a number"),
        ("count: 2, cpu: 4, memory: 0", "memory"),
        ("count: 2, cpu: 4, memory: -5", "memory"),
        ("count: 2, cpu: 4, memory: true", "memory: .*write a number"),
        ("count: 2, cpu: 4, memory: " + "9" * 400, "memory"),
        ("count: 2, cpu: 4, extra: {gpu: -4}", "gpu"),
        ("count: 2, cpu: 4, extra: {gpu: .nan}", "gpu"),
        ("count: 2, cpu: 4, extra: {gpu: .inf}", "gpu"),
        ("count: 2, cpu: 4, extra: {gpu: true}", "gpu: .*write a number"),
        ("count: 2, cpu: 4, extra: {cpu: 4}", "extra: .*cpu has a field of its own"),
        ("count: 2, cpu: 4, extra: {memory: 4}", "extra: .*memory has a field of its own"),
    ],
)
def test_amounts_that_no_machine_has_are_refused_by_their_field(tmp_path: Path, group: str, said: str) -> None:
    """Cores and memory are above 0, what else there is is 0 or more, and all of it is finite."""
    path = tmp_path / "odd.yaml"
    path.write_text(f"nodes: [{{{group}}}]\n")
    with pytest.raises(InvalidInput, match=rf"odd\.yaml: nodes\.0\..*{said}"):
        parse(str(path))


@pytest.mark.parametrize(
    "spec", ["2x4c0G", "2x4c0.0Gi", "0x4", "2x0", "1x" + "9" * 400, "1x" + "9" * 300, "9" * 400 + "x4"]
)
def test_short_forms_are_judged_alike(spec: str) -> None:
    """Nothing is played on machines that cannot be."""
    with pytest.raises(InvalidInput, match=r"cluster: (count|cpu|memory): "):
        parse(spec)


def test_a_group_may_have_none_of_what_another_one_has(tmp_path: Path) -> None:
    """0 GPUs may be written down."""
    path = tmp_path / "gpus.yaml"
    path.write_text("nodes: [{count: 1, cpu: 4, memory: 8Gi, extra: {gpu: 0}}, {count: 1, cpu: 4, extra: {gpu: 2}}]\n")
    assert [node.capacity[2] for node in parse(path).nodes] == [0.0, 2.0]
