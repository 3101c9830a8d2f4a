"""A small certificate authority per lab, so that clients verify the API server as they would in production."""

from pathlib import Path

from slackwater_lab.processes.command import run
from slackwater_lab.programs.build import installed

NAMES = "IP:127.0.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
DAYS = "365"


def ensure(folder: Path, address: str) -> None:
    """Make what is not there yet: authority, API server certificate, key pair for service account tokens.

    `address` is that of the Service `kubernetes`, by which pods call the API server.
    """
    if (folder / "sa.pub").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    _authority(folder)
    serving(folder, "apiserver", f"{NAMES},IP:{address}")
    _openssl(folder, "genrsa", "-out", "sa.key", "2048")
    _openssl(folder, "rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub")  # last: its presence means all is there


def serving(folder: Path, name: str, names: str) -> None:
    """A key and a certificate for a server, signed by the lab's authority, valid for the given names."""
    key, request = f"{name}.key", f"{name}.csr"
    (folder / f"{name}.ext").write_text(f"subjectAltName={names}\nextendedKeyUsage=serverAuth\n")
    _openssl(folder, *_request(name), "-keyout", key, "-out", request)
    signing = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", DAYS, "-extfile", f"{name}.ext"]
    _openssl(folder, "x509", "-req", "-in", request, *signing, "-out", f"{name}.crt")


def _authority(folder: Path) -> None:
    extensions = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign"]
    _openssl(
        folder, *_request("slackwater-lab"), "-x509", *extensions, "-days", DAYS, "-keyout", "ca.key", "-out", "ca.crt"
    )


def _request(name: str) -> list[str]:
    return ["req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}"]


def _openssl(folder: Path, *arguments: str) -> None:
    run([installed("openssl", "openssl"), *arguments], folder)
