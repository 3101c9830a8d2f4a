"""Asking Prometheus."""
