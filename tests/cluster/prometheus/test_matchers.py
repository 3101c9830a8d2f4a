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
# All that `str.isprintable` accepts: neither controls, surrogates and what is not assigned, nor separators but a blank.
PRINTABLE = st.characters(exclude_categories=("C", "Z"), include_characters=" ")


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
        ("rate(a[5m] smoothed) + b anchored", 'rate(a{cluster="prod"}[5m] smoothed) + b{cluster="prod"} anchored'),
        ('a # "c\n{job="b"}', 'a # "c\n{cluster="prod",job="b"}'),
        ('a{ # "}\njob="b"}', 'a{cluster="prod",# "}\njob="b"}'),
        ("sum by # c\n(node) (a)", 'sum by # c\n(node) (a{cluster="prod"})'),
        ("sum # c\n(a)", 'sum # c\n(a{cluster="prod"})'),
    ],
)
def test_selectors_are_told_from_all_else(query: str, expected: str) -> None:
    """Strings, ranges, lists of labels, functions, numbers and words are left as they are."""
    assert narrowed(query, OURS) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('a{x="1" or y="2"}', 'a{cluster="prod",x="1" or cluster="prod",y="2"}'),
        (
            '{x="1" OR y="2",z="3" or z="4"}',
            '{cluster="prod",x="1" OR cluster="prod",y="2",z="3" or cluster="prod",z="4"}',
        ),
        ('a{x="1 or 2",or="3"}', 'a{cluster="prod",x="1 or 2",or="3"}'),
        ('a{x="1" # this or that\n}', 'a{cluster="prod",x="1" # this or that\n}'),
    ],
)
def test_every_alternative_in_braces_is_narrowed(query: str, expected: str) -> None:
    """VictoriaMetrics knows `or` there; in strings, in comments and as a label it is none."""
    assert narrowed(query, OURS) == expected


@pytest.mark.parametrize("query", ['WITH (f = {a="b"}) x{f}', "with(f(q) = sum(q)) f(x)", "1 + (with # c\n (a = b) a)"])
def test_templates_of_victoriametrics_are_refused(query: str) -> None:
    """What they make is not known here, and series of all clusters would be mixed up."""
    with pytest.raises(InvalidInput, match=r"prometheus.queries: WITH .* write the query without WITH"):
        narrowed(query, OURS)
    assert narrowed(query, {}) == query


def test_without_matchers_a_query_stays_as_it_is() -> None:
    """Most have one Prometheus for each cluster."""
    assert narrowed("sum( up )", {}) == "sum( up )"


@given(value=st.text(PRINTABLE, min_size=1))
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
