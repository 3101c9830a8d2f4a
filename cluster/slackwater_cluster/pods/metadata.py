"""What the owner of a pod states about it in labels, annotations and owner references, read within bounds.

Everything a tenant can write is read here first. What is too long, too much or not a name is left out, with a sentence
for the pod's owner; the rest of the pod counts as before. So nobody further in meets a text without a bound. Where the
pod may run is read in `nodeterms`, and what it asks for in `requests`.

    annotation          what we wrote ourselves, and 64 more of those anyone reads at most; 1,024 characters each (the
                        parents of a stage: 8,192)
    owner reference     at most 16, each of a name, kind and group that Kubernetes could have
    count               at most nine digits
    parents of a stage  at most 128, each up to 253 characters
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from slackwater_cluster import names
from slackwater_cluster.api.paths import is_segment
from slackwater_cluster.objects import wire
from slackwater_cluster.objects.interning import SharedValues
from slackwater_cluster.objects.records import OwnerRef
from slackwater_cluster.pods.gate import MARKS

# Annotations that we write ourselves: kept however many others stand beside them.
WRITTEN = frozenset((*names.SEALED, *MARKS))
# And those that are read: ours that users may set, and those by which frameworks group their pods.
STATED = frozenset(names.STATED)
FRAMEWORKS = (
    "jobset.sigs.k8s.io/",
    "kueue.x-k8s.io/",
    "leaderworkerset.sigs.k8s.io/",
    "scheduling.k8s.io/",
    "scheduling.volcano.sh/",
    "volcano.sh/",
    "yunikorn.apache.org/",
)
COORDINATOR = "/coordinator"  # so ends the name of one by which a framework of a user names the pod that leads
MOST_ANNOTATIONS = 64
LONGEST = 1024
LONGEST_PARENTS = 8192
LONGEST_NAME = 253
MOST_OWNERS = 16
MOST_PARENTS = 128
MOST_DIGITS = 9
# Sentences kept about one pod: the first few tell enough.
MOST_PROBLEMS = 4

_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")
_GROUP = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_VERSION = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
# A uid is free text to the API server, too.
_LONGEST_UID = 128

Problems = tuple[str, ...]


def notes(written: Mapping[str, str] | None) -> tuple[tuple[tuple[str, str], ...], Problems]:
    """Those annotations that anyone here reads, and a sentence about each of ours that was left out."""
    if not written:
        return (), ()
    found = [item for item in written.items() if _ours(item[0]) or _groups(item[0])]
    good = [item for item in found if _readable(*item)]
    if len(good) == len(found) <= MOST_ANNOTATIONS:
        return tuple(good), ()
    problems = [_unreadable(key, value) for key, value in found if _ours(key) and not _readable(key, value)]
    stated = sorted((item for item in good if item[0] not in WRITTEN), key=lambda item: not _ours(item[0]))
    if len(stated) > MOST_ANNOTATIONS:
        problems.append(f"{len(stated)} annotations of schedulers; only the first {MOST_ANNOTATIONS} are read")
    kept = [item for item in good if item[0] in WRITTEN] + stated[:MOST_ANNOTATIONS]
    return tuple(kept), tuple(problems[:MOST_PROBLEMS])


def owners(references: Iterable[wire.Owner] | None, namespace: str) -> tuple[tuple[OwnerRef, ...], Problems]:
    """Owner references of an object, and a sentence about each that Kubernetes could not have meant."""
    if not references:
        return (), ()
    written = list(references)
    good: list[OwnerRef] = []
    problems: list[str] = []
    for each in written[:MOST_OWNERS]:
        found = _OWNERS.one((each.kind, each.name, each.uid, each.api_version, each.controller, namespace))
        if found is None:
            problems.append(f"owner reference {each.kind[:63]!r} {each.name[:63]!r} names nothing that can exist")
        else:
            good.append(found)
    if len(written) > MOST_OWNERS:
        problems.append(f"{len(written)} owner references; only the first {MOST_OWNERS} are read")
    return tuple(good), tuple(problems[:MOST_PROBLEMS])


def count(text: str) -> int | None:
    """A whole number of at most nine digits; None where the text is anything else."""
    return int(text) if 0 < len(text) <= MOST_DIGITS and text.isascii() and text.isdigit() else None


def parents(text: str) -> tuple[str, ...]:
    """The stages that a stage waits for, as the annotation lists them."""
    if not text:
        return ()
    listed = [name.strip() for name in text[:LONGEST_PARENTS].split(",", MOST_PARENTS)[:MOST_PARENTS]]
    return tuple(name for name in listed if 0 < len(name) <= LONGEST_NAME)


def shortened(text: str, most: int = 60) -> str:
    """A text for a sentence: quoted, and cut where it is long."""
    return repr(text) if len(text) <= most else f"{text[:most]!r}… ({len(text)} characters)"


def _owner(written: tuple[str, str, str, str, bool | None, str]) -> OwnerRef | None:
    kind, name, uid, api_version, controller, namespace = written
    group, _, version = api_version.rpartition("/")
    named = _KIND.fullmatch(kind) and is_segment(name) and 0 < len(uid) <= _LONGEST_UID
    if not named or len(api_version) > LONGEST_NAME:
        return None
    if api_version and not (_VERSION.fullmatch(version) and (not group or _GROUP.fullmatch(group))):
        return None
    return OwnerRef(kind, name, uid, group, bool(controller), namespace, version)


# Siblings name the same owner: it is read once.
_OWNERS: SharedValues[OwnerRef | None] = SharedValues(_owner)


def _readable(key: str, value: str) -> bool:
    most = LONGEST_PARENTS if key == names.PARENTS else LONGEST
    return len(value) <= most and value.isprintable()


def _unreadable(key: str, value: str) -> str:
    what = "has characters that cannot be printed" if not value.isprintable() else f"is {len(value)} characters long"
    return f"{key[:100]} {what}; it is not read"


def _ours(key: str) -> bool:
    return key in STATED or key in WRITTEN


def _groups(key: str) -> bool:
    return key.startswith(FRAMEWORKS) or key.endswith(COORDINATOR)
