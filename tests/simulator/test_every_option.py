"""Options of worlds and policies that are of the wrong kind."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from slackwater.errors import SlackwaterError
from slackwater_simulator.policies.slackwater.options import Parts
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import parse
from slackwater_simulator.workload.generators.catalogue import generate
from slackwater_simulator.worlds.kubernetes.settings import Pace
from slackwater_simulator.worlds.yarn.settings import Settings

OPTIONS = [field.name for kind in (Parts, Pace, Settings) for field in fields(kind) if field.name != "first_beats"]


@pytest.mark.parametrize("value", ["abc", [1, 2], None], ids=["word", "list", "nothing"])
@pytest.mark.parametrize("name", OPTIONS)
def test_a_value_of_the_wrong_kind_is_refused_by_name(name: str, value: Any) -> None:
    """Never a traceback from deep inside the run."""
    with pytest.raises(SlackwaterError, match=name):
        run(generate("gen:hour?apps=1"), parse("1x4"), "slackwater", world="kubernetes", **{name: value})


@pytest.mark.parametrize("policy", ["capacity", "fair", "estimation", "drf"])
def test_options_of_other_policies_are_judged_by_their_defaults(policy: str) -> None:
    """By the names and defaults of what makes the policy."""
    with pytest.raises(SlackwaterError):
        run(generate("gen:hour?apps=1"), parse("1x4"), policy, world="yarn", alpha="abc", calculator=3)
