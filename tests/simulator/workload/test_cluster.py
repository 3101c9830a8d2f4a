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
