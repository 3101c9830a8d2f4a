"""Where the real traces lie, for tests that use them when they are there."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of real cluster logs beside the project; the test is skipped where it is absent."""
    folder = Path(__file__).resolve().parents[3] / "shared" / "traces"
    if not folder.is_dir():
        pytest.skip("the real traces (../shared/traces beside the project) are not here")
    return folder
