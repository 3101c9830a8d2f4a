"""How a body that is sent to the API server is to be read: as an object, or as a patch of one."""

from __future__ import annotations

JSON = "application/json"
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
