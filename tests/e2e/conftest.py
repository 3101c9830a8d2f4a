"""One cluster for the whole suite: a lab, a running lab ($SLACKWATER_E2E_LAB) or any kubeconfig."""

from collections.abc import Callable, Iterator

import pytest

from support.lab.testcluster import Field, open_field

TOLD = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    """The cluster under test, with Slackwater in mode enforce."""
    yield from open_field(tmp_path_factory.mktemp("labs"))


@pytest.fixture
def arena(cluster: Field) -> Field:
    """The cluster under test, whole: what the scenario before left broken is mended, so that none fails for another."""
    cluster.mend()
    return cluster


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Say a measured number; all are printed below the results."""
    lines = request.config.stash.setdefault(TOLD, [])
    return lambda text: lines.append(f"{request.node.name}: {text}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what tests measured."""
    if lines := config.stash.get(TOLD, []):
        terminalreporter.section("measured")
        for line in lines:
            terminalreporter.line(line)
