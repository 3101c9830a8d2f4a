"""The object that states how large an app is: its framework's, or the Job above its pods."""

from __future__ import annotations

from slackwater_cluster.frameworks import Framework, FrameworkTable
from slackwater_operator.cache.apps.appview import AppView

JOB = "job"  # the framework table's row for plain Jobs


def row(table: FrameworkTable, each: AppView) -> Framework | None:
    """The framework whose object states the app's size; a Job above its pods says as much as a framework."""
    found = table.named(each.framework or (JOB if each.job else ""))
    return found if found is not None and found.size is not None else None


def name(each: AppView, row: Framework | None) -> str:
    """The name of that object: the app's topmost owner, else what its id says."""
    if row is None or row.size is None:
        return ""
    if row.name == JOB:
        return each.job
    above, _, owner = each.owner.partition("/")
    if above == row.size.kind:
        return owner
    return each.app.split("/")[1] if "/" in each.app else each.app


def versions(each: AppView, row: Framework) -> list[str]:
    """In which versions of its API to ask for that object: as the app's pods name it, then as the table does."""
    if row.size is None:
        return []
    named = each.owner_version if row.name != JOB and each.owner.partition("/")[0] == row.size.kind else ""
    return list(dict.fromkeys(version for version in (named, row.size.version) if version))
