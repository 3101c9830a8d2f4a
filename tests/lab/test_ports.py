"""Several labs run side by side because each owns a block of ports."""

import socket
from pathlib import Path

import pytest

from slackwater.errors import UnknownName
from slackwater_lab.processes.ports import FIRST, KUBELETS, NAMES, REAL_NODES, RECORD, SIZE, Ports, claim, release


@pytest.fixture(autouse=True)
def claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims of this test only."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_two_labs_never_share_a_block(tmp_path: Path) -> None:
    """Twenty labs get twenty blocks."""
    bases = {claim(tmp_path / f"lab-{number}").base for number in range(20)}
    assert len(bases) == 20
    assert all((base - min(bases)) % SIZE == 0 for base in bases)


def test_a_lab_keeps_its_block(tmp_path: Path) -> None:
    """The second start finds the ports of the first, although they are in use by then."""
    first = claim(tmp_path / "lab")
    with socket.create_server(("127.0.0.1", first["apiserver"])):
        assert claim(tmp_path / "lab").base == first.base


def test_a_block_is_held_while_its_servers_are_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens for a moment, and the other lab uses another cache of programs: the block is still not its."""
    first = claim(tmp_path / "lab")
    monkeypatch.setenv("SLACKWATER_LAB_CACHE", str(tmp_path / "other"))
    monkeypatch.setattr("slackwater_lab.processes.ports.zlib.crc32", lambda _: (first.base - FIRST) // SIZE)
    assert claim(tmp_path / "second").base != first.base


def test_a_released_block_is_free_again(tmp_path: Path) -> None:
    """Giving back and claiming again finds the same block, because the folder decides where to look first."""
    first = claim(tmp_path / "lab").base
    release(tmp_path / "lab")
    assert claim(tmp_path / "lab").base == first


def test_a_block_with_a_port_in_use_is_passed_over(tmp_path: Path) -> None:
    """A stranger's server is never disturbed."""
    first = claim(tmp_path / "lab")
    release(tmp_path / "lab")
    with socket.create_server(("127.0.0.1", first["etcd"])):
        assert claim(tmp_path / "lab").base != first.base


def test_the_claim_of_a_deleted_lab_does_not_count(tmp_path: Path) -> None:
    """A folder that was removed by hand holds no ports."""
    base = claim(tmp_path / "lab").base
    (tmp_path / "lab" / "ports.json").unlink()
    assert claim(tmp_path / "lab").base == base


def test_a_claim_that_cannot_be_read_counts_as_none(tmp_path: Path) -> None:
    """Neither the lab itself nor one that meets its block stumbles over it."""
    first = claim(tmp_path / "lab")
    (tmp_path / "lab" / RECORD).write_text("")
    assert claim(tmp_path / "lab").base == first.base


def test_named_ports_and_kubelet_ports_do_not_meet() -> None:
    """All ports of a block are different and inside it."""
    ports = Ports(20_000)
    named = [ports[name] for name in NAMES]
    kubelets = [ports.kubelet(number) + step for number in range(1, REAL_NODES + 1) for step in (0, 1)]
    assert len({*named, *kubelets}) == len(named) + len(kubelets)
    assert max(kubelets) < 20_000 + SIZE
    assert len(named) <= KUBELETS


def test_an_unknown_port_is_refused_with_the_known_ones() -> None:
    """The error names what would have been right."""
    with pytest.raises(UnknownName, match="apiserver"):
        Ports(20_000)["nonsense"]
