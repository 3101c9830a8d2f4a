"""What a command says while it works."""

import pytest

from slackwater_cli.progress import foreseen


def told(capsys: pytest.CaptureFixture[str], *shares: tuple[float, float]) -> str:
    """What is said of so much done at such moments."""
    moments = iter([0.0, *(moment for moment, _ in shares)])
    tick = foreseen("series", moments.__next__)
    for _, share in shares:
        tick(share)
    return capsys.readouterr().err.strip()


def test_a_pipe_is_told_once_how_long_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    """After five seconds, from what was done until then."""
    assert told(capsys, (1.0, 0.001), (6.0, 0.01), (12.0, 0.02)) == "series: 1.0% done after 6 s, about 9.9 min more"


def test_what_is_done_soon_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Less than a minute is left at the first moment at which it is foreseen."""
    assert told(capsys, (6.0, 0.2), (12.0, 0.4), (30.0, 1.0)) == ""
