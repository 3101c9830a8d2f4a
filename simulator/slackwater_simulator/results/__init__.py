"""What a run produced: rows per job and container, metrics, comparison."""
