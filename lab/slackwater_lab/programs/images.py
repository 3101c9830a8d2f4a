"""Container images without a registry: a few static programs, packed as `docker save` would."""

import hashlib
import io
import json
import platform
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from slackwater_lab.processes.command import run
from slackwater_lab.programs.build import built

PAUSE = "localhost/lab-pause:1"
LOAD = "localhost/lab-load:1"  # burn, driver, and a shell where busybox is installed
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}  # what images call what the kernel says
FOLDERS = ("bin", "etc", "proc", "sys", "dev", "var", "tmp")
USERS = b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"


def make(folder: Path) -> list[Path]:
    """Write both images; returns their files."""
    folder.mkdir(parents=True, exist_ok=True)
    load = {f"bin/{name}": Path(built(name)) for name in ("burn", "driver")}
    shell = shutil.which("busybox")
    if shell:
        load["bin/busybox"] = Path(shell)
    pause, loaded = folder / "pause.tar", folder / "load.tar"
    pause.write_bytes(single(PAUSE, "pause"))
    loaded.write_bytes(archive(LOAD, layer(load, _links(shell)), []))
    return [pause, loaded]


def single(image: str, program: str) -> bytes:
    """An image that holds one built program and starts it."""
    return archive(image, layer({f"bin/{program}": Path(built(program))}, {}), [f"/bin/{program}"])


def layer(files: Mapping[str, Path], links: Mapping[str, str]) -> bytes:
    """One file system layer. No times in it: the same programs give the same image."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in FOLDERS:
            _add(tar, name, kind=tarfile.DIRTYPE)
        _add(tar, "etc/passwd", USERS)
        for name, source in files.items():
            _add(tar, name, source.read_bytes())
        for name, target in links.items():
            _add(tar, name, kind=tarfile.SYMTYPE, target=target)
    return buffer.getvalue()


def archive(name: str, content: bytes, entrypoint: Sequence[str]) -> bytes:
    """An image of one layer in the archive format that containerd imports."""
    digest = hashlib.sha256(content).hexdigest()
    config = {
        "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {"Entrypoint": list(entrypoint) or None, "Env": ["PATH=/bin"], "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    described = json.dumps(config).encode()
    config_name = f"{hashlib.sha256(described).hexdigest()}.json"
    manifest = [{"Config": config_name, "RepoTags": [name], "Layers": [f"{digest}/layer.tar"]}]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        _add(tar, config_name, described)
        _add(tar, f"{digest}/layer.tar", content)
        _add(tar, "manifest.json", json.dumps(manifest).encode())
    return buffer.getvalue()


def _add(tar: tarfile.TarFile, name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, target: str = "") -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname, entry.size = kind, target, len(data)
    entry.mode = 0o1777 if name == "tmp" else 0o755
    tar.addfile(entry, io.BytesIO(data))


def _links(shell: str | None) -> dict[str, str]:
    names = run([shell, "--list"]).split() if shell else []
    return {f"bin/{name}": "/bin/busybox" for name in names if name != "busybox"}
