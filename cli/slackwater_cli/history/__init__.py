"""Commands about a cluster as it was, read from its Prometheus."""
