"""A Prometheus that knows several clusters is asked about one of them, in every selector of every query."""

from __future__ import annotations

from typing import Any

import promql_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import InvalidInput
from slackwater_cluster.prometheus import matchers
from slackwater_cluster.prometheus.matchers import checked, narrowed
from support.builders.promql import queries, selectors

OURS = {"cluster": "prod"}


def same(query: str) -> str:
    """The query as its parser writes it."""
    parsed: Any = promql_parser.parse(query)
    return str(parsed.prettify())


@pytest.mark.parametrize("query", queries().values(), ids=queries())
def test_every_selector_of_every_query_is_narrowed(query: str) -> None:
    """Of all queries of dashboards and alerts, which know most of PromQL; and nothing else in them changes."""
    made = narrowed(query, OURS)
    assert all("cluster" in labels for _, labels in selectors(made))
    assert same(made.replace('cluster="prod",', "").replace('{cluster="prod"}', "")) == same(query)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("up", 'up{cluster="prod"}'),
        ("up{}", 'up{cluster="prod"}'),
        ('up{job="a"}', 'up{cluster="prod",job="a"}'),
        ('{__name__=~"a|b"}', '{cluster="prod",__name__=~"a|b"}'),
        ('up{job=~"a{2}|}"}', 'up{cluster="prod",job=~"a{2}|}"}'),
        ("up{job='it\\'s {'}", "up{cluster=\"prod\",job='it\\'s {'}"),
        ("sum by (node) (a:b[5m:1m])", 'sum by (node) (a:b{cluster="prod"}[5m:1m])'),
        ("sum(a) by (node)", 'sum(a{cluster="prod"}) by (node)'),
        ("a * on (node) group_left b", 'a{cluster="prod"} * on (node) group_left b{cluster="prod"}'),
        ("a offset 5m / 1e9 > bool 0.5", 'a{cluster="prod"} offset 5m / 1e9 > bool 0.5'),
        ("a @ start() and Inf > b # up", 'a{cluster="prod"} @ start() and Inf > b{cluster="prod"} # up'),
        ('label_replace(a, "x", "$1", "y", "(.*)")', 'label_replace(a{cluster="prod"}, "x", "$1", "y", "(.*)")'),
    ],
)
def test_selectors_are_told_from_all_else(query: str, expected: str) -> None:
    """Strings, ranges, lists of labels, functions, numbers and words are left as they are."""
    assert narrowed(query, OURS) == expected


def test_without_matchers_a_query_stays_as_it_is() -> None:
    """Most have one Prometheus for each cluster."""
    assert narrowed("sum( up )", {}) == "sum( up )"


@given(value=st.text(min_size=1).filter(lambda text: "\x00" not in text and text.isprintable()))
def test_any_value_stands_in_quotes(value: str) -> None:
    """No value ends its string and says something else."""
    (found,) = selectors(narrowed("up", {"cluster": value}))
    assert found == ("up", {"cluster"})


@pytest.mark.parametrize("wrong", [{"": "x"}, {"a-b": "x"}, {"cluster": ""}, {"__name__": "up"}, {'a="b",c': "x"}])
def test_what_is_no_matcher_is_refused(wrong: dict[str, str]) -> None:
    """With its field, and what to write."""
    with pytest.raises(InvalidInput, match=r"prometheus.matchers: .*; write a label and its value, such as cluster="):
        checked("prometheus.matchers", wrong)


def test_the_command_line_gives_label_and_value() -> None:
    """Of several, all hold; a value may hold an equals sign."""
    assert matchers.given("--match", ["cluster=prod", "path=a=b"]) == {"cluster": "prod", "path": "a=b"}
    with pytest.raises(InvalidInput, match="--match: cluster has no value"):
        matchers.given("--match", ["cluster"])
