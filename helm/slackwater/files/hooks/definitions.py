"""Brings the custom resource definitions to this version, before `helm upgrade` writes objects of their kinds.

helm installs the folder crds/ once and never again; this is the other half. Definitions are applied by the server,
field by field, and nothing is ever deleted.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from slackwater.errors import SlackwaterError, Unavailable
from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.api.session import Session

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
APPLY = "application/apply-patch+yaml"
# Whom helm applies crds/ as, at an install and without force: fields of another manager would be a conflict there.
MANAGER = "helm"
PATIENCE = 30.0  # seconds until a definition must be served


async def bring(session: Session, definitions: Mapping[str, Any]) -> None:
    """Apply each definition and wait until it is served."""
    for name, body in definitions.items():
        query = f"fieldManager={MANAGER}&force=true"
        answer = await session.write("PATCH", f"{PATH}/{name}?{query}", body, content_type=APPLY)
        if not answer.ok:
            raise Unavailable(f"cannot apply {name}: {answer.message()}")
    async with asyncio.timeout(PATIENCE):
        for name in definitions:
            while not await _established(session, name):  # noqa: ASYNC110 - the API server has no event to wait for
                await asyncio.sleep(0.5)


async def _established(session: Session, name: str) -> bool:
    answer = await session.get(f"{PATH}/{name}")
    conditions = answer.json().get("status", {}).get("conditions", []) if answer.ok else []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def read(folder: Path) -> dict[str, Any]:
    """The definitions by name."""
    found = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yaml"))]
    return {each["metadata"]["name"]: each for each in found}


async def main() -> None:
    """Apply what is mounted."""
    definitions = read(Path(os.environ.get("SLACKWATER_DEFINITIONS", "/definitions")))
    async with Session(endpoint()) as session:
        await bring(session, definitions)
    sys.stdout.write(f"{len(definitions)} custom resource definitions are up to date\n")


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except SlackwaterError as problem:
        sys.exit(f"slackwater: {problem}")
    except TimeoutError:
        sys.exit(f"slackwater: a definition was applied but not served within {PATIENCE:.0f} s")
