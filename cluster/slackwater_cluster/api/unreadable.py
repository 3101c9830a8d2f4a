"""What a decoder raises about bytes that are not what they should be: answers, questions and objects.

Of texts that are not UTF-8, and of what is nested deeper than Python goes, msgspec says so by Python's own errors.
"""

from __future__ import annotations

from typing import Final

import msgspec

UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
