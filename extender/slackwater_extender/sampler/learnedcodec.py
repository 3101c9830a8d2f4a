"""What a ledger has learned, as bytes that outlive the process: bounded when written, doubted when read.

Written: JSON in gzip, the apps that were asked for last first, as many as fit into MOST_BYTES and, unpacked, into
MOST_TEXT; numbers with four digits; of more than MOST_KINDS kinds those of which something was learned. Read: whoever
may write the object could have written anything, so sizes, counts, names and numbers are checked, and what does not
hold is refused as a whole.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from slackwater.errors import InvalidInput
from slackwater.estimation.calibration import MACHINES, SCORES, Kept
from slackwater.ledger.claimcharge import sized
from slackwater.ledger.learnedstate import Learned, LearnedRisk
from slackwater.resources import Kinds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

VERSION = 2
MOST_BYTES = 600_000  # as written; in base64 a third more, and an object of the API holds a mebibyte
MOST_TEXT = 8_000_000  # characters of JSON
MOST_KINDS = 64  # a node may have a kind of its own for every device file
MOST_APPS = 4_000
MOST_LESSONS = 16  # pods per app
MOST_SCORES = 2_000  # by rank, from the smallest to the largest; half of them are the largest ones
MOST_RATIOS = 64
LONGEST_NAME = 512
LARGEST = 1e18  # of any number: an exbibyte
GZIP = 31  # window bits of zlib that mean gzip
_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?"
_EARLIER = re.compile(rf"(?P<app>.*) \((?P<amounts>{_NUMBER}(?:,|(?:, {_NUMBER})+))\)(?P<role>| as driver| driver)")


def encode(learned: Learned) -> bytes:
    """At most MOST_BYTES, of MOST_TEXT; where that is too little, the apps asked for longest ago are left out."""
    learned = _of_some_kinds(learned)
    apps = [(name, lessons) for name, lessons in learned.apps.items() if _is_name(name)][:MOST_APPS]
    while True:
        text = _written(learned, apps)
        made = _packed(text)
        share = max(len(made) / MOST_BYTES, len(text) / (MOST_TEXT - 1))
        if share <= 1 or not apps:
            return made
        apps = apps[: int(len(apps) * 0.9 / share)]


def _of_some_kinds(learned: Learned) -> Learned:
    """What may be written of it: no more than MOST_KINDS kinds, those of which nothing was learned left out first."""
    if len(learned.kinds) <= MOST_KINDS:
        return learned
    told = (learned.ratios != 1.0).any(axis=1) | [kind in learned.risks for kind in learned.kinds]
    for lessons in learned.apps.values():
        told |= lessons[:, 0].any(axis=0)
    places = np.sort(np.argsort(~told, kind="stable")[:MOST_KINDS])
    kinds = tuple(learned.kinds[at] for at in places)
    apps = {name: lessons[..., places] for name, lessons in learned.apps.items()}
    risks = {kind: it for kind, it in learned.risks.items() if kind in kinds}
    return Learned(kinds, apps, learned.ratios[places], risks)


def _packed(text: bytes) -> bytes:
    squeeze = zlib.compressobj(6, wbits=GZIP)
    return squeeze.compress(text) + squeeze.flush()


def _written(learned: Learned, apps: Sequence[tuple[str, Floats]]) -> bytes:
    body = {
        "version": VERSION,
        "kinds": list(learned.kinds),
        "apps": [[name, [[_short(part) for part in lesson] for lesson in lessons.tolist()]] for name, lessons in apps],
        "ratios": [_short(each) for each in learned.ratios.tolist()],
        "risks": {
            kind: {
                "risk": it.risk,
                "horizon": it.horizon,
                "count": min(len(it.scores), SCORES),
                "scores": _short(_thinned(it.scores)),
                "promises": it.kept.promises,
                "exceeded": it.kept.exceeded,
                "machines": {
                    name: [kept.promises, kept.exceeded] for name, kept in it.machines.items() if _is_name(name)
                },
            }
            for kind, it in learned.risks.items()
        },
    }
    return json.dumps(body, separators=(",", ":"), allow_nan=False).encode()


def _short(values: Sequence[float]) -> list[float]:
    return [float(f"{min(value, LARGEST):.4g}") for value in values]


def _ranks(count: int) -> NDArray[np.intp]:
    """Which of so many scores are written: half of MOST_SCORES are the largest, the others spread evenly below."""
    if count <= MOST_SCORES:
        return np.arange(count)
    half = MOST_SCORES // 2
    below = np.linspace(0, count - half - 1, MOST_SCORES - half).round().astype(np.intp)
    return np.append(below, np.arange(count - half, count))


def _thinned(scores: Floats) -> list[float]:
    """Those that are written of them, or of SCORES of them where they are more."""
    places = np.linspace(0, len(scores) - 1, min(len(scores), SCORES)).round().astype(np.intp)
    kept: list[float] = np.sort(scores)[places][_ranks(len(places))].tolist()
    return kept


def decode(data: bytes) -> Learned:
    """What was written, or an error that says what is wrong with it."""
    if len(data) > MOST_BYTES:
        raise _bad(f"{len(data)} bytes, more than {MOST_BYTES}")
    unpack = zlib.decompressobj(wbits=GZIP)
    try:
        text = unpack.decompress(data, MOST_TEXT)
        body = json.loads(text) if unpack.eof else None
    except (zlib.error, ValueError, RecursionError) as problem:
        raise _bad(str(problem)) from problem
    if not isinstance(body, dict) or body.get("version") != VERSION:
        raise _bad("not written by this version, or cut off")
    kinds = tuple(_named(name) for name in _listed(body.get("kinds"), MOST_KINDS))
    apps: dict[str, Floats] = {}
    for name, lessons in (_app(each, len(kinds)) for each in _listed(body.get("apps"), MOST_APPS)):
        apps.setdefault(renamed(name, kinds), lessons)
    ratios = [
        _numbers(each, MOST_RATIOS, exactly=True) for each in _listed(body.get("ratios"), len(kinds), exactly=True)
    ]
    risks = body.get("risks")
    if not isinstance(risks, dict) or len(risks) > len(kinds):
        raise _bad("risks are no table by kind")
    found = np.array(ratios, np.float64).reshape(len(kinds), MOST_RATIOS)
    return Learned(kinds, apps, found, {_named(kind): _risk(each) for kind, each in risks.items()})


def renamed(name: str, kinds: Kinds) -> str:
    """The name of today for one that an earlier version wrote: the amounts of all kinds, in the order they came in."""
    found = _EARLIER.fullmatch(name)
    amounts = tuple(map(float, found["amounts"].rstrip(",").split(", "))) if found else ()
    # Kinds that came after it was written stand at the end.
    if not found or len(amounts) > len(kinds):
        return name
    return sized(found["app"], amounts, kinds[: len(amounts)]) + found["role"]


def _app(value: object, kinds: int) -> tuple[str, Floats]:
    name, lessons = _listed(value, 2, exactly=True)
    told = [
        [_numbers(part, kinds, exactly=True) for part in _listed(lesson, 2, exactly=True)]
        for lesson in _listed(lessons, MOST_LESSONS)
    ]
    return _named(name), np.array(told, np.float64).reshape(-1, 2, kinds)


def _risk(value: object) -> LearnedRisk:
    if not isinstance(value, dict):
        raise _bad("a risk is no table")
    risk, horizon = _numbers([value.get("risk"), value.get("horizon")], 2)
    if not 0 < risk < 1 or horizon <= 0:
        raise _bad("a risk is not between 0 and 1, or its horizon not above 0")
    machines = value.get("machines")
    if not isinstance(machines, dict) or len(machines) > MACHINES:
        raise _bad("what was kept is no table by type of machine")
    by_type = {_named(name): _kept(each) for name, each in machines.items()}
    kept = _kept([value.get("promises"), value.get("exceeded")])
    return LearnedRisk(risk, horizon, _scores(value.get("scores"), value.get("count")), kept, by_type)


def _kept(value: object) -> Kept:
    promises, exceeded = _numbers(value, 2, exactly=True)
    if exceeded > promises:
        raise _bad("more was exceeded than promised")
    return Kept(promises, exceeded)


def _scores(value: object, count: object) -> Floats:
    """As many as there were, those between the ones that were written in proportion: z is what it was."""
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= SCORES:
        raise _bad("a count of scores is missing, or larger than may be kept")
    ranks = _ranks(count)
    found = [_number(each, least=-LARGEST) for each in _listed(value, len(ranks), exactly=True)]
    return np.interp(np.arange(count), ranks, found) if count else np.zeros(0)


def _numbers(value: object, most: int, *, exactly: bool = False) -> list[float]:
    return [_number(each) for each in _listed(value, most, exactly=exactly)]


def _number(value: object, least: float = 0.0) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= LARGEST:
        raise _bad("a number is missing, or not one that could have been measured")
    return float(value)


def _listed(value: object, most: int, *, exactly: bool = False) -> list[Any]:
    if not isinstance(value, list) or len(value) > most or (exactly and len(value) != most):
        raise _bad(f"a list is missing, or it has not {'' if exactly else 'at most '}{most} entries")
    return value


def _named(value: object) -> str:
    if not isinstance(value, str) or not _is_name(value):
        raise _bad("a name is empty, too long or no text")
    return value


def _is_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST_NAME


def _bad(problem: str) -> InvalidInput:
    return InvalidInput("what was learned", problem, "it is learned anew; delete the object to be rid of this message")
