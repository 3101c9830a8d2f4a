"""Workloads played in virtual time under any policy. `import slackwater_simulator as sim` gives the library's front.

`sim.run`, `sim.load`, `sim.parse`, `sim.list_policies`, `sim.Results` come from `slackwater_simulator.api`, and are
loaded when first asked for, so that importing one module of the simulator does not import all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slackwater_simulator.api import Results, list_policies, load, parse, run

__all__ = ["Results", "list_policies", "load", "parse", "run"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from slackwater_simulator import api  # noqa: PLC0415 - loaded on demand

    return getattr(api, name)


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
