"""What a request to the API server is for: faults strike at each kind of write in turn."""

import re
from collections.abc import Mapping

READ, WATCH, OTHER = "read", "watch", "other"
NOMINATION, GATE = "nomination", "gate"
EVICTION, RESIZE = "eviction", "resize"  # only where a queue or a policy asks for them
STATUS, EVENT, LEASE, LEARNED, SWITCH = "status", "event", "lease", "learned", "switch"
OPERATOR = (NOMINATION, GATE, STATUS, EVENT, LEASE)  # its writes, in the order of a release
WRITES = (*OPERATOR, EVICTION, RESIZE, LEARNED, SWITCH)  # of all our programs

_KINDS = (
    (re.compile(r"/api/v1/namespaces/[^/]+/pods/[^/]+/status$"), NOMINATION),
    (re.compile(r"/api/v1/namespaces/[^/]+/pods/[^/]+$"), GATE),
    (re.compile(r"/api/v1/namespaces/[^/]+/pods/[^/]+/eviction$"), EVICTION),
    (re.compile(r"/api/v1/namespaces/[^/]+/pods/[^/]+/resize$"), RESIZE),
    (re.compile(r"/apis/slackwater\.io/"), STATUS),
    (re.compile(r"/events$"), EVENT),
    (re.compile(r"/leases(/|$)"), LEASE),
    (re.compile(r"/configmaps/"), LEARNED),
    (re.compile(r"/clusterrolebindings/"), SWITCH),
)


def kind(method: str, path: str, query: Mapping[str, str]) -> str:
    """The kind of a request. What reads, reads: also of a Lease."""
    if method in ("GET", "HEAD"):
        return WATCH if query.get("watch") in ("1", "true", "True") else READ
    return next((found for pattern, found in _KINDS if pattern.search(path)), OTHER)
