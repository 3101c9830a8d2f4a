"""What may be the id of an app, or a part of one: checked here and nowhere else.

Labels, names and kinds are checked by the API server; annotations and owner references hold whatever their writer
likes. An id is shown to people, compared, and made into names of objects, so text with line breaks, spaces or slashes
is no id. Because a slash is none, what a user writes can never be taken for the id of a framework's app (spark/…).
"""

from __future__ import annotations

import hashlib
import re

# The characters of a label's value; longer ones may stand in an annotation.
_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
LONGEST = 253
SHOWN = 40
_DIGEST = 16


def is_name(text: str) -> bool:
    """Whether a text may be an id: letters and digits, with '-', '_' and '.' inside."""
    return len(text) <= LONGEST and _NAME.fullmatch(text) is not None


def bounded(made: str) -> str:
    """An id made of several names, each of which may be as long as an id: beyond that its end becomes a digest."""
    if len(made) <= LONGEST:
        return made
    return f"{made[: LONGEST - _DIGEST - 1]}-{hashlib.sha256(made.encode()).hexdigest()[:_DIGEST]}"


def shown(text: str) -> str:
    """A text that is no id, quoted and shortened, so that it can be told without harm."""
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")
