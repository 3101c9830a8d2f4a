"""The operator's settings: flags, environment, and what is said about mistakes."""

import pytest

from slackwater.errors import InvalidInput
from slackwater_operator.settings import Settings, load


def test_flags_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both spell the same names."""
    monkeypatch.setenv("SLACKWATER_OPERATOR_WINDOW", "7")
    monkeypatch.setenv("SLACKWATER_OPERATOR_BATCH", "9")
    found = load(["--window", "8"])
    assert (found.window, found.batch) == (8, 9)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [(["--window", "0"], "window"), (["--period", "-1"], "period"), (["--log-level", "loud"], "log_level")],
    ids=["too small", "negative", "not a level"],
)
def test_mistakes_name_the_setting(arguments: list[str], field: str) -> None:
    """One sentence with the name and where to look."""
    with pytest.raises(InvalidInput, match=rf"{field}.*slackwater-operator --help"):
        load(arguments)


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_every_setting_is_explained(name: str) -> None:
    """--help has a sentence for each."""
    assert Settings.model_fields[name].description
