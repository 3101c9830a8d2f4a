"""Levels of a job graph (paper 003, Algorithm 1): what may start together, and after what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from slackwater.errors import CyclicGraph, UnknownName


def levels(tasks: Iterable[str], edges: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Peel off, round by round, every task without unfinished parents. Within a level: the order of listing.

    The printed loop takes a single task per round and has its condition upside down; a level is the whole set.
    """
    names = list(dict.fromkeys(tasks))
    children, waiting = _graph(names, edges)
    place = {name: number for number, name in enumerate(names)}
    level = [name for name in names if waiting[name] == 0]
    found: list[tuple[str, ...]] = []
    while level:
        found.append(tuple(level))
        level = sorted(_freed(level, children, waiting), key=place.__getitem__)
    if stuck := {name for name in names if waiting[name] > 0}:
        raise CyclicGraph("edges", _circle(stuck, children))
    return found


def level_of(tasks: Iterable[str], edges: Iterable[tuple[str, str]]) -> dict[str, int]:
    """The number of the level of each task, from 0."""
    return {name: number for number, level in enumerate(levels(tasks, edges)) for name in level}


def _graph(names: list[str], edges: Iterable[tuple[str, str]]) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Children of each task, and how many parents each waits for. An edge listed twice counts once."""
    children: dict[str, list[str]] = {name: [] for name in names}
    waiting = dict.fromkeys(names, 0)
    for parent, child in dict.fromkeys((parent, child) for parent, child in edges):
        for name in (parent, child):
            if name not in waiting:
                raise UnknownName("edges", name, names)
        children[parent].append(child)
        waiting[child] += 1
    return children, waiting


def _freed(level: list[str], children: Mapping[str, list[str]], waiting: dict[str, int]) -> list[str]:
    """Take the level away; return who waits for nobody now."""
    freed = []
    for name in level:
        for child in children[name]:
            waiting[child] -= 1
            if waiting[child] == 0:
                freed.append(child)
    return freed


def _circle(stuck: set[str], children: Mapping[str, list[str]]) -> set[str]:
    """Drop tasks that only wait behind the circle, so that the error names the circle alone."""
    members = set(stuck)
    while dead := {name for name in members if not any(child in members for child in children[name])}:
        members -= dead
    return members
