"""Certificates for servers of tests."""

from __future__ import annotations

import subprocess
from pathlib import Path


def certify(folder: Path, name: str, *more: str) -> None:
    """A certificate that signs itself, tls.crt, and its key, tls.key."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-subj", f"/CN={name}", "-keyout", "tls.key", "-out", "tls.crt"]
    subprocess.run([*command, *files, *more], cwd=folder, check=True, capture_output=True)
