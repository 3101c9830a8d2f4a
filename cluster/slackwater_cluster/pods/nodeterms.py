"""Where a pod may run, as its owner states it: node selector, required node affinity and tolerations, within bounds.

What is left out makes a pod stricter, never freer: it is told of fewer nodes than it could use, and its owner is told
why. Each node is held against all of this, so what has no bound would be paid for by everybody.

    node selector    at most 256 labels; one of more accepts no node
    node affinity    at most 256 requirements with 8,192 values in all; terms beyond that are left out, as only one has
                     to hold
    tolerations      the first 256
"""

from __future__ import annotations

from collections.abc import Iterable

from slackwater_cluster.objects import wire
from slackwater_cluster.objects.records import ANYWHERE, Constraints, Requirement, Tolerated
from slackwater_cluster.pods.metadata import Problems

MOST_LABELS = 256
MOST_REQUIREMENTS = 256
MOST_VALUES = 8192
MOST_TOLERATIONS = 256

Terms = tuple[tuple[Requirement, ...], ...]
NOWHERE: Terms = ()  # no term, so that none holds


def constraints(spec: wire.PodSpec) -> tuple[Constraints, Problems]:
    """Where the pod may run, and a sentence about what of it was left out."""
    if not (spec.node_selector or spec.affinity or spec.tolerations):
        return ANYWHERE, ()
    selector, tolerations = spec.node_selector or {}, spec.tolerations or []
    terms, problems = _terms(spec.affinity)
    if len(selector) > MOST_LABELS:
        selector, terms = {}, NOWHERE
        problems.append(f"a node selector of more than {MOST_LABELS} labels; no node is taken to have them all")
    if len(tolerations) > MOST_TOLERATIONS:
        problems.append(f"{len(tolerations)} tolerations; only the first {MOST_TOLERATIONS} are read")
    found = Constraints(
        selector=tuple(sorted(selector.items())),
        terms=terms,
        tolerations=tuple(
            Tolerated(each.key or "", each.operator or "Equal", each.value or "", each.effect or "")
            for each in tolerations[:MOST_TOLERATIONS]
        ),
    )
    return found, tuple(problems)


def _terms(affinity: wire.Affinity | None) -> tuple[Terms | None, list[str]]:
    chosen = affinity.node_affinity if affinity else None
    required = chosen.required_during_scheduling_ignored_during_execution if chosen else None
    if required is None:
        return None, []
    written = required.node_selector_terms or []
    requirements, values, kept = 0, 0, list[tuple[Requirement, ...]]()
    for each in written:
        said = [*(each.match_expressions or ()), *(each.match_fields or ())]
        requirements += len(said) or 1
        values += sum(len(one.values or ()) for one in said)
        if requirements > MOST_REQUIREMENTS or values > MOST_VALUES:
            break
        kept.append(_term(each))
    if len(kept) == len(written):
        return tuple(kept), []
    return tuple(kept), [f"a node affinity of {len(written)} terms; only the first {len(kept)} are read"]


def _term(term: wire.Term) -> tuple[Requirement, ...]:
    return (*_requirements(term.match_expressions), *_requirements(term.match_fields, field=True))


def _requirements(written: Iterable[wire.Expression] | None, *, field: bool = False) -> Iterable[Requirement]:
    return (Requirement(each.key, each.operator, tuple(each.values or ()), field) for each in written or ())
