"""Small files of a lab that outlive a command: whole or not there, whatever ended it while it wrote."""

import json
from pathlib import Path
from typing import Any


def write(path: Path, record: dict[str, Any]) -> None:
    """Written beside it first: a full disk or a kill leaves the record that was there before."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(record))
    part.replace(path)


def read(path: Path) -> dict[str, Any] | None:
    """The record; None where there is none, or none that can be read: it keeps no other from being used."""
    try:
        record = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return record if isinstance(record, dict) else None
