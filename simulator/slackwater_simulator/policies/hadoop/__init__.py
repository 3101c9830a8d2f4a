"""Hadoop's own schedulers: FIFO, Capacity and Fair."""
