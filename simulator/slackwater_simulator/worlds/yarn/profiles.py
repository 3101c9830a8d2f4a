"""Settings under which this world is Hadoop's own scheduler load simulator (SLS 3.3), for comparison with it.

SLS quantises everything by heartbeats, so it is run twice: as Hadoop ships (`default`) and with fast heartbeats that
place many containers each (`fast`). Its masters handle a response one tick after fetching it, log a job's end one tick
after the goodbye, and its resource manager is slow in its first second (medians of the reference runs).
"""

from __future__ import annotations

from typing import Any

SLS: dict[str, dict[str, Any]] = {
    "default": {
        "node_heartbeat": 1.0,
        "master_heartbeat": 1.0,
        "response_lag": 1,
        "farewell_lag": 1,
        "warm_up": 0.9,
        "warm_master": 1.4,
    },
    "fast": {
        "node_heartbeat": 0.1,
        "master_heartbeat": 0.1,
        "response_lag": 1,
        "farewell_lag": 1,
        "warm_up": 0.35,
        "warm_master": 0.55,
    },
}
# What the two profiles change in the schedulers themselves.
SLS_POLICY: dict[tuple[str, str], dict[str, Any]] = {
    ("capacity", "default"): {"offswitch_per_beat": 1},
    ("capacity", "fast"): {"offswitch_per_beat": 100},
    ("fair", "default"): {"update_interval": 0.5},
    ("fair", "fast"): {"update_interval": 0.1, "assign_multiple": True, "dynamic_max_assign": False},
}
