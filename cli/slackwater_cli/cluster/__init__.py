"""Commands about a cluster as it is now."""
