"""Measures what is reserved and what is used, from Prometheus; shows it; replays it under other policies."""
