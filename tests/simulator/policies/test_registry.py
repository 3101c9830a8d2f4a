"""Policies of one's own: what is loaded by its name, and what is refused in a sentence."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slackwater.errors import InvalidInput
from slackwater_simulator.policies.registry import create, find, worlds_of

MODULE = '''
from slackwater_simulator.policies.base import Scheduler

class Full(Scheduler):
    """Places nothing."""
    def beat(self, node, /): pass

class OneWorld(Full):
    worlds = "yarn"

class OddWorlds(Full):
    worlds = 5

class Bare:
    """Not derived from Scheduler."""
    def asked(self, app, /): pass
    def beat(self, node, /): pass

class Idle(Scheduler):
    """Derived, but it never places anything."""

class Swept(Scheduler):
    """The ideal world calls sweep alone."""
    worlds = ("ideal",)
    def sweep(self): pass

class Nowhere:
    """The transfer world calls place."""
    worlds = ("transfer",)

class Needy(Full):
    def __init__(self, share): pass

class Positional(Full):
    def __init__(self, share, /): pass
'''


@pytest.fixture(autouse=True)
def _modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module that can be loaded and two that cannot, in the current folder."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept_policies.py").write_text(MODULE)
    (tmp_path / "broken_policies.py").write_text("def (\n")
    (tmp_path / "failing_policies.py").write_text("1 / 0\n")
    yield
    sys.modules.pop("kept_policies", None)


@pytest.mark.parametrize("name", ["./kept_policies.py:Full", "..kept_policies:Full", "kept-policies:Full", ".:Full"])
def test_a_path_is_no_module(name: str) -> None:
    """The sentence says what to leave out."""
    with pytest.raises(InvalidInput, match=r"is not the name of a module; .*without folder and \.py"):
        find(name)


@pytest.mark.parametrize(("module", "said"), [("broken_policies", "line 1"), ("failing_policies", "division by zero")])
def test_a_module_that_fails_is_refused_with_what_python_says(module: str, said: str) -> None:
    """Whatever goes wrong in it."""
    with pytest.raises(InvalidInput, match=rf"policy {module}:Full: cannot be loaded: .*{said}"):
        find(f"{module}:Full")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Bare", "derives from slackwater_simulator.policies.base.Scheduler"),
        ("Idle", "has a method beat"),
        ("Nowhere", "has a method place"),
        ("OddWorlds", r'its worlds are 5; write names, such as worlds = \("yarn",\)'),
    ],
)
def test_a_class_that_a_world_cannot_call_is_refused_before_the_play(name: str, said: str) -> None:
    """With what it lacks."""
    with pytest.raises(InvalidInput, match=said):
        find(f"kept_policies:{name}")


def test_worlds_may_be_one_or_several() -> None:
    """YARN and the ideal world where the class says nothing."""
    assert worlds_of("kept_policies:Full") == ("yarn", "ideal")
    assert worlds_of("kept_policies:OneWorld") == ("yarn",)
    assert worlds_of("kept_policies:Swept") == ("ideal",)


def test_what_a_class_must_be_given_is_named() -> None:
    """As an option; what can only be given by its place cannot be one."""
    create("kept_policies:Needy", "yarn", {"share": 1})
    with pytest.raises(InvalidInput, match=r"share is missing; write kept_policies:Needy\?share="):
        create("kept_policies:Needy", "yarn", {})
    with pytest.raises(InvalidInput, match="take options by keyword"):
        create("kept_policies:Positional", "yarn", {})
