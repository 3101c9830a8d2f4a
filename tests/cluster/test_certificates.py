"""How long a certificate is still valid, as Prometheus is told."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from slackwater.errors import InvalidInput
from slackwater_cluster.certificates import BEGIN, END, CertificateGauges, validity

OPENSSL = shutil.which("openssl")
DAY = 86_400
pytestmark = pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed")


def certify(folder: Path, days: int, *more: str) -> Path:
    """A certificate that signs itself."""
    made = folder / f"{days}.crt"
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", str(folder / "key")]
    command = ["openssl", "req", "-x509", *key, "-subj", "/CN=slackwater-extender", "-days", str(days), *more]
    subprocess.run([*command, "-out", str(made)], check=True, capture_output=True)
    return made


def by_openssl(path: Path) -> list[float]:
    """What openssl reads of the same file."""
    command = ["openssl", "x509", "-in", str(path), "-noout", "-startdate", "-enddate"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [float(ssl.cert_time_to_seconds(line.partition("=")[2])) for line in told.splitlines()]


@pytest.mark.parametrize(
    "more",
    [(), ("-addext", "subjectAltName=DNS:" + ",DNS:".join(f"name{number}.example" for number in range(40)))],
    ids=["short", "with many names"],
)
@pytest.mark.parametrize("days", [1, 3650, 36500], ids=["a day", "ten years", "a year of four digits"])
def test_its_times_are_read_as_openssl_reads_them(tmp_path: Path, days: int, more: tuple[str, ...]) -> None:
    """Until 2049 years have two digits, and lengths from 128 on have bytes of their own."""
    made = certify(tmp_path, days, *more)
    assert list(validity(made.read_text())) == by_openssl(made)


def test_the_first_of_a_chain_is_the_servers_own(tmp_path: Path) -> None:
    """Whatever stands before and behind it."""
    own, signer = certify(tmp_path, 3), certify(tmp_path, 900)
    assert list(validity(f"subject=server\n{own.read_text()}{signer.read_text()}")) == by_openssl(own)


@pytest.mark.parametrize("text", ["", "key", f"{END}{BEGIN}", f"{BEGIN}\n{END}", f"{BEGIN}\nMAMCAQE=\n{END}"])
def test_what_is_no_certificate_is_refused(text: str) -> None:
    """An empty file, half of one, or something else in PEM."""
    with pytest.raises(InvalidInput):
        validity(text)


@given(st.binary(max_size=60))
def test_no_bytes_end_in_another_error(content: bytes) -> None:
    """Files are cut while they are written."""
    with pytest.raises(InvalidInput):
        validity(ssl.DER_cert_to_PEM_cert(content))


def told(path: Path | None, now: float = 0.0) -> tuple[float | None, float | None]:
    """What is left, and how long it is in all."""
    registry = CollectorRegistry()
    registry.register(CertificateGauges("slackwater_test_", path, lambda: now))
    left, whole = (f"slackwater_test_certificate_{name}_seconds" for name in ("remaining", "lifetime"))
    return registry.get_sample_value(left), registry.get_sample_value(whole)


def test_what_is_left_goes_down_and_below_zero_and_a_new_file_counts_at_once(tmp_path: Path) -> None:
    """The programs read it anew as well."""
    path = certify(tmp_path, 10)
    begins, ends = by_openssl(path)
    assert told(path, begins + DAY) == (9 * DAY, 10 * DAY)
    assert told(path, ends + 5) == (-5, 10 * DAY)
    certify(tmp_path, 20).replace(path)
    assert told(path)[1] == 20 * DAY


@pytest.mark.parametrize("kind", ["none", "missing", "broken"])
def test_nothing_is_told_of_what_cannot_be_read(tmp_path: Path, kind: str) -> None:
    """A scrape must not fail for it."""
    (tmp_path / "broken").write_bytes(b"\xff\xfe")
    assert told(None if kind == "none" else tmp_path / kind) == (None, None)
