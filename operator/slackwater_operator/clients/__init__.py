"""What the operator asks and writes: the extender, pods, and how fast it may write."""
