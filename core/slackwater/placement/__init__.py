"""Which node: filter, score, the best node for one pod, and a batch of pods placed together."""
