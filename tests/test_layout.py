"""The house rules that a wrong file name would break."""

from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_operator_folder_does_not_shadow_the_standard_library() -> None:
    """An __init__.py in operator/ would replace Python's own operator module."""
    assert not (ROOT / "operator" / "__init__.py").exists()


def test_test_folders_are_not_packages() -> None:
    """An __init__.py under tests/ would make tests/operator replace Python's own operator module."""
    assert list((ROOT / "tests").rglob("__init__.py")) == []
