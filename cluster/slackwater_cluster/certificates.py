"""How long a server's certificate is still valid, read from its file and told to Prometheus.

Only the two times are read, by the outline of X.509 (RFC 5280, section 4.1), so that the image needs no library for it:

    Certificate     SEQUENCE { TBSCertificate, … }
    TBSCertificate  SEQUENCE { [0] version OPTIONAL, serial, algorithm, issuer, SEQUENCE { notBefore, notAfter }, … }
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from slackwater.errors import InvalidInput

BEGIN, END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
VERSION, UTC_TIME = 0xA0, 0x17  # tags of DER; years of two digits are 1950 to 2049
REMEDY = "write the server's certificate in PEM, before those that signed it"
LONG = 0x80  # from here on a length says how many bytes of length follow
REMAINING = "How long the certificate in its file is still valid; negative once it has ended."
LIFETIME = "How long that certificate is valid in all."


class Validity(NamedTuple):
    """From when until when, in seconds since 1970."""

    begins: float
    ends: float


def validity(text: str) -> Validity:
    """Of the first certificate of a PEM file: the server's own, before those that signed it."""
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 or end < begin:
        raise InvalidInput("certificate", "the file holds none", REMEDY)
    try:
        outer = _content(ssl.PEM_cert_to_DER_cert(text[begin : end + len(END)]))
        parts = list(_items(_content(outer)))
        times = parts[4 if parts[0][0] == VERSION else 3][1]
        begins, ends = (_time(*each) for each in _items(times))
    except (IndexError, ValueError) as problem:
        raise InvalidInput("certificate", "its first one cannot be read", REMEDY) from problem
    return Validity(begins, ends)


def _content(der: bytes) -> bytes:
    return next(_items(der), (0, b""))[1]


def _items(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Tag and content of each item of a sequence."""
    at = 0
    while at < len(der):
        tag, length, at = der[at], der[at + 1], at + 2
        if length >= LONG:
            size = length - LONG
            length, at = int.from_bytes(der[at : at + size]), at + size
        yield tag, der[at : at + length]
        at += length


def _time(tag: int, content: bytes) -> float:
    text = content.decode("ascii")
    if tag == UTC_TIME:
        text = ("19" if text >= "50" else "20") + text
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp()


@dataclass(eq=False)  # the registry keeps collectors by identity
class CertificateGauges(Collector):
    """Read at each scrape; nothing is told where there is no certificate, or none that can be read."""

    prefix: str
    path: Path | None
    clock: Callable[[], float] = time.time

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Both gauges."""
        remaining = GaugeMetricFamily(f"{self.prefix}certificate_remaining_seconds", REMAINING)
        lifetime = GaugeMetricFamily(f"{self.prefix}certificate_lifetime_seconds", LIFETIME)
        if (found := self._read()) is not None:
            remaining.add_metric([], found.ends - self.clock())
            lifetime.add_metric([], found.ends - found.begins)
        yield from (remaining, lifetime)

    def _read(self) -> Validity | None:
        try:
            return None if self.path is None else validity(self.path.read_text(encoding="ascii", errors="replace"))
        except (OSError, InvalidInput):
            return None
