"""Every test here renders the chart, so each needs helm."""

import pytest

from support.lab.chart import helm


@pytest.fixture(autouse=True)
def _helm() -> None:
    if helm() is None:
        pytest.skip("no helm binary; build the lab (python -m slackwater_lab build) or put helm on the path")
