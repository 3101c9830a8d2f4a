"""Images of several layers, too large for memory: written from files, as `docker save` would."""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slackwater_lab.programs.images import ARCHITECTURES

BLOCK = 1 << 22


@dataclass(frozen=True, slots=True)
class Start:
    """How a container of an image starts."""

    entrypoint: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None
    folder: str = "/"
    user: str = "0"


def pack(target: Path, name: str, layers: Sequence[Path], start: Start) -> None:
    """Write an image archive; a run that is cut off leaves no half-written one behind."""
    digests = [_digest(layer) for layer in layers]
    config = {
        "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {
            "Entrypoint": list(start.entrypoint) or None,
            "Env": [f"{key}={value}" for key, value in (start.environment or {}).items()],
            "WorkingDir": start.folder,
            "User": start.user,
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
    }
    described = json.dumps(config).encode()
    config_name = f"{hashlib.sha256(described).hexdigest()}.json"
    names = [f"{digest}/layer.tar" for digest in digests]
    part = target.with_name(f".{target.name}.part")
    with tarfile.open(part, "w") as tar:
        _add(tar, config_name, described)
        for layer, entry in zip(layers, names, strict=True):
            info = tarfile.TarInfo(entry)
            info.size = layer.stat().st_size
            with layer.open("rb") as content:
                tar.addfile(info, content)
        _add(tar, "manifest.json", json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": names}]).encode())
    part.rename(target)


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as content:
        while block := content.read(BLOCK):
            found.update(block)
    return found.hexdigest()
