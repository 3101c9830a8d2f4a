"""The Kubernetes world: pods, gates, the scheduler's queue, filter, score and bind, in virtual time."""
