"""What settings of all programs have in common."""

from __future__ import annotations

import pytest

from slackwater_cluster.servers.wsgi import OneProcess
from slackwater_cluster.settings import address, bare


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("0.0.0.0", "0.0.0.0:8480"),
        ("localhost", "localhost:8480"),
        ("::", "[::]:8480"),
        ("::1", "[::1]:8480"),
        ("[::1]", "[::1]:8480"),
    ],
)
def test_an_address_with_colons_stands_in_brackets_before_its_port(host: str, text: str) -> None:
    """In URLs, and in what gunicorn is told; sockets want it bare."""
    assert address(host, 8480) == text
    assert OneProcess(host, 8480, 1, {}).cfg.bind == [text]
    assert "[" not in bare(host)
