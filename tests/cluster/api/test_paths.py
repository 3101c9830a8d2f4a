"""Addresses are put together in one place, and no name can leave its place in them."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from slackwater.errors import InvalidInput
from slackwater_cluster.api.paths import api_path, custom_path, group_path, is_segment, joined

PROGRAMS = ("cluster", "operator", "extender", "monitor", "cli")
# An address written by hand with something put into it.
BY_HAND = re.compile(r"""f["'](/api/v1|/apis/)[^"']*\{""")


def test_core_and_group_addresses() -> None:
    """As the API server documents them."""
    assert api_path("pods") == "/api/v1/pods"
    assert api_path("pods", "a", namespace="team", subresource="status") == "/api/v1/namespaces/team/pods/a/status"
    assert api_path("jobs", "a", group="batch", namespace="team") == "/apis/batch/v1/namespaces/team/jobs/a"
    assert custom_path("slackpolicies", "default") == "/apis/slackwater.io/v1alpha1/slackpolicies/default"
    assert group_path("batch") == "/apis/batch"
    assert group_path("batch", "v1") == "/apis/batch/v1"


def test_a_colon_stays() -> None:
    """Names of RBAC objects and of services behind the proxy have them."""
    assert api_path("services", "https:extender:https", namespace="s").endswith("/services/https:extender:https")


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../../../pods?watch=true", "a/b", "a%2fb", "a?b", "a#b", "a\\b", "a\nb", "é", "x" * 254],
)
def test_what_is_no_name_is_refused(name: str) -> None:
    """Before anything is sent."""
    with pytest.raises(InvalidInput, match="cannot be part of an address"):
        joined("api", name)


def test_all_printable_ascii_but_five_characters_can_be_part_of_a_name() -> None:
    """Those five would end the part, and what cannot be printed has no place in it."""
    accepted = {chr(code) for code in range(0x2000) if is_segment(chr(code))}
    assert accepted == {chr(code) for code in range(0x20, 0x7F)} - set("/%?#\\.")
    assert is_segment("...")
    assert is_segment("x" * 253)
    assert not is_segment("a\n")


@given(st.text(max_size=300))
def test_every_accepted_name_stays_one_part(name: str) -> None:
    """Whatever it holds: the client asks for exactly as many parts as were meant, and for no query."""
    if not is_segment(name):
        return
    url = URL("https://server/").join(URL(api_path("pods", name, namespace="team").lstrip("/")))
    assert url.parts == ("/", "api", "v1", "namespaces", "team", "pods", name)
    assert not url.query_string
    assert not url.fragment


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_program_writes_an_address_by_hand(program: str) -> None:
    """Or a name would go into it unquoted."""
    top = Path(__file__).parents[3]
    found = [path for path in (top / program).rglob("*.py") if BY_HAND.search(path.read_text(encoding="utf-8"))]
    assert not found
