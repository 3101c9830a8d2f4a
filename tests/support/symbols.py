"""Words of the papers and their symbols: readers of a page need not know them."""

import re

SYMBOLS = re.compile(r"[δρα]|\b(?:AR|NC|Tot)\b|\bE \d|(?i:\b(?:equation|delta|paper)\b)")
STYLES = re.compile(r"<(style|script)\b.*?</\1>", re.DOTALL)


def symbols(page: str) -> list[str]:
    """Those that stand in a page's text."""
    return SYMBOLS.findall(STYLES.sub("", page))
