"""Measured use from Prometheus: queries, answers that may be wrong in every way, and a heartbeat that applies them."""
