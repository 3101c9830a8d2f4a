"""A lab of its own for one test, wherever one can be."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slackwater.errors import Unavailable
from slackwater_lab.lab import Lab
from slackwater_lab.plan import Plan
from slackwater_lab.programs.build import installed, missing
from slackwater_lab.site import open_site


@contextmanager
def running(plan: Plan, home: Path) -> Iterator[Lab]:
    """The lab of a plan, kept below `home` and taken down in the end; skips with a reason where it cannot be."""
    absent = [item.name for item in missing(plan.programs())]
    if absent:
        pytest.skip(f"not built: {', '.join(absent)}; run: python -m slackwater_lab build")
    try:
        if "prometheus" in plan.parts:
            installed("prometheus", "prometheus")
    except Unavailable as error:
        pytest.skip(str(error))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLACKWATER_LAB_HOME", str(home))
        made = Lab(open_site(f"pytest-{os.getpid()}"), plan)
        try:
            yield made.up()
        finally:
            made.down()
