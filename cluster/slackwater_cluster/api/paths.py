"""Addresses of API objects, built in one place: every part is checked and quoted, so that no name can leave its place.

    /api/v1/namespaces/NAMESPACE/PLURAL/NAME/SUBRESOURCE            the core group
    /apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME/SUBRESOURCE

Names come from tenants: an owner reference may name anything, and `../../pods?watch=true` once was asked for.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from slackwater.errors import InvalidInput
from slackwater_cluster import names

CORE = ""
# The longest name of any object; the API server's own limit for path segments.
LONGEST = 253
# A segment as the API server takes it: printable ASCII without / % ? # and backslash, and neither "." nor "..", which a
# client would resolve before sending it.
_SEGMENT = re.compile(rf"(?!\.{{1,2}}\Z)[ -\"$&-.0->@-\[\]-~]{{1,{LONGEST}}}")


def api_path(
    plural: str,
    name: str = "",
    *,
    group: str = CORE,
    version: str = "v1",
    namespace: str = "",
    subresource: str = "",
) -> str:
    """The address of a list (without a name) or of one object; raises InvalidInput for a part that is no name."""
    root = ("apis", group, version) if group else ("api", version)
    place = ("namespaces", namespace) if namespace else ()
    thing = (plural, name, *([subresource] if subresource else ())) if name else (plural,)
    return joined(*root, *place, *thing)


def custom_path(plural: str, name: str = "", *, namespace: str = "", subresource: str = "") -> str:
    """The address of custom resources of ours."""
    where = {"group": names.GROUP, "version": names.VERSION, "namespace": namespace, "subresource": subresource}
    return api_path(plural, name, **where)


def group_path(group: str, version: str = "") -> str:
    """Where a group, or one of its versions, tells what it serves."""
    return joined("apis", group, *([version] if version else ()))


def namespace_of(path: str) -> str:
    """The namespace of an address; "" where it has none."""
    _, _, rest = path.partition("/namespaces/")
    return rest.partition("/")[0]


def joined(*parts: str) -> str:
    """Checked and quoted parts, joined; the only place where a path is put together."""
    return "".join(f"/{quote(segment(part), safe=':')}" for part in parts)


def segment(text: str) -> str:
    """The text, if it can be one part of a path; raises InvalidInput otherwise."""
    if not is_segment(text):
        raise InvalidInput("name", f"{text[:60]!r} cannot be part of an address", f"use a name up to {LONGEST} long")
    return text


def is_segment(text: str) -> bool:
    """Whether a text can be one part of a path: not empty, not a step up, no separator, nothing unprintable."""
    return _SEGMENT.fullmatch(text) is not None
