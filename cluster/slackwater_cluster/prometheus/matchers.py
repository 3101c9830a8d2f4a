"""One cluster of those that a Prometheus knows: matchers that every selector of every query gets.

A Prometheus that scrapes several clusters (or Thanos, or Mimir) tells them apart by a label. Without it, nodes and pods
of equal names are mixed up, and sums are those of all clusters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from slackwater.errors import InvalidInput

REMEDY = "write a label and its value, such as cluster=prod"
TEMPLATE = "WITH makes selectors that are not seen here, so they would be about all clusters in spite of the matchers"
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_STRING = r""" "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | `[^`]*` """
_GAP = r"(?: \s | \#[^\n]*\n )*"  # between two words
# What PromQL is made of, as far as selectors are concerned. Of names, those are no metrics that a list follows.
_TOKENS = re.compile(
    rf"""
    (?P<braces> \{{ (?: {_STRING} | \#[^\n]*\n | [^"'`\#}}] )* \}} )
    | {_STRING} | \#[^\n]*
    | \[[^\]]*\]                                                                      # a range
    | (?P<template> \b(?i:with) {_GAP} \( )                                           # of VictoriaMetrics
    | \b(?i:by|without|on|ignoring|group_left|group_right) {_GAP} \([^)]*\)           # labels
    | \d[\w.]*                                                                        # a number or a duration
    | [a-zA-Z_:][\w:]* (?= {_GAP} (?: \( | \{{ | (?i:by|without)\b ) )                # a function; a name before braces
    | (?P<name> [a-zA-Z_:][\w:]* )
    """,
    re.VERBOSE,
)
# In braces: where an alternative begins. A label may be called `or` as well.
_ALTERNATIVES = re.compile(rf"{_STRING} | \#[^\n]* | (?P<or> \b(?i:or)\b ) (?! \s* [=!] ) \s*", re.VERBOSE)
# Names that are no metrics: of PromQL, and of VictoriaMetrics's dialect.
_WORDS = {"and", "or", "unless", "atan2", "bool", "offset", "inf", "nan", "group_left", "group_right"}
_WORDS |= {"smoothed", "anchored", "default", "if", "ifnot", "keep_metric_names", "limit"}


def checked(field: str, matchers: Mapping[str, str]) -> dict[str, str]:
    """The matchers, if each is a label with a value."""
    for label, value in matchers.items():
        if not _LABEL.fullmatch(label) or label == "__name__":
            raise InvalidInput(field, f"{label!r} is no label of a series", REMEDY)
        if not value:
            raise InvalidInput(field, f"{label} has no value", REMEDY)
    return dict(matchers)


def given(field: str, pairs: Iterable[str]) -> dict[str, str]:
    """`cluster=prod` from the command line."""
    split = [text.partition("=") for text in pairs]
    return checked(field, {label: value for label, _, value in split})


def narrowed(query: str, matchers: Mapping[str, str]) -> str:
    """The same query about series with these labels only."""
    if not matchers:
        return query
    wanted = ",".join(f"{label}={json.dumps(value, ensure_ascii=False)}" for label, value in matchers.items())

    def begin(found: re.Match[str]) -> str:
        return f"{found['or']} {wanted}," if found["or"] else found[0]

    def narrow(found: re.Match[str]) -> str:
        text = found[0]
        if found["template"]:
            raise InvalidInput("prometheus.queries", TEMPLATE, "write the query without WITH")
        if found["braces"]:
            inner = text[1:-1].strip(" ")
            return f"{{{wanted}{',' if inner else ''}{_ALTERNATIVES.sub(begin, inner)}}}"
        return f"{text}{{{wanted}}}" if found["name"] and text.lower() not in _WORDS else text

    return _TOKENS.sub(narrow, query)
