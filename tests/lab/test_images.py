"""Images and machines that are made up out of a few files."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater_lab.nodes.machinesize import sockets, write_machine
from slackwater_lab.nodes.network import of
from slackwater_lab.processes.ports import FIRST, LAST, SIZE, Ports
from slackwater_lab.programs.images import archive, layer


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program"
    path.write_bytes(b"\x7fELF")
    return path


def test_an_image_says_what_its_layer_is(program: Path) -> None:
    """Containerd compares the digest in the configuration with the layer it unpacks."""
    content = layer({"bin/program": program}, {"bin/other": "/bin/program"})
    with tarfile.open(fileobj=io.BytesIO(archive("localhost/x:1", content, ["/bin/program"]))) as tar:
        [entry] = json.load(tar.extractfile("manifest.json") or io.BytesIO())
        config = json.load(tar.extractfile(entry["Config"]) or io.BytesIO())
    assert entry["RepoTags"] == ["localhost/x:1"]
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(content).hexdigest()}"]
    assert config["config"]["Entrypoint"] == ["/bin/program"]


def test_the_same_programs_give_the_same_image(program: Path) -> None:
    """No times, no order of a folder: a second start imports nothing new."""
    assert layer({"bin/program": program}, {}) == layer({"bin/program": program}, {})


def test_programs_in_an_image_can_be_run(program: Path) -> None:
    """Files are executable, links lead to their program."""
    with tarfile.open(fileobj=io.BytesIO(layer({"bin/program": program}, {"bin/sh": "/bin/program"}))) as tar:
        assert tar.getmember("bin/program").mode == 0o755
        assert tar.getmember("bin/sh").linkname == "/bin/program"
        assert tar.getmember("tmp").mode == 0o1777


@given(cpus=st.integers(1, 512), real=st.integers(1, 64))
def test_pretended_sockets_hold_all_cpus_and_none_that_the_machine_lacks(cpus: int, real: int) -> None:
    """The kernel refuses CPU numbers it does not have, so no socket is larger than the machine."""
    sizes = sockets(cpus, real)
    assert sum(sizes) == cpus
    assert all(1 <= size <= real for size in sizes)


def test_a_pretended_machine_has_the_wanted_memory(tmp_path: Path) -> None:
    """The kubelet reads the total from meminfo, the rest stays as it is."""
    write_machine(tmp_path, cpus=5, mebibytes=4096, real=2)
    lines = (tmp_path / "meminfo").read_text().splitlines()
    assert f"MemTotal: {4096 * 1024} kB" in lines
    assert any(line.startswith("MemFree:") for line in lines)
    assert len(list((tmp_path / "node").glob("node*/cpu*"))) == 5


def test_every_block_of_ports_has_its_own_network() -> None:
    """Real nodes of two labs never share a bridge or an address."""
    networks = [of(Ports(base)) for base in range(FIRST, LAST, SIZE)]
    assert len({network.bridge for network in networks}) == len(networks)
    assert len({network.subnet for network in networks}) == len(networks)
    assert all(len(network.bridge) <= 15 for network in networks)  # the kernel's limit
