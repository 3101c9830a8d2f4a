"""How containers and jobs end, as numbers in the rows of a result."""

from __future__ import annotations

ALIVE = -1  # a container that has not ended
# How a container ended.
DONE, CRASHED, LOST, KILLED = 0, 1, 2, 3
CONTAINER_ENDS = ("done", "crashed", "lost", "killed")
# How a job ended.
FINISHED, UNFINISHED, REFUSED, FAILED = 0, 1, 2, 3
JOB_ENDS = ("finished", "unfinished", "refused", "failed")
DRIVER = -1  # the stage number of a job's driver
