"""What nodes and containers do: use over time, sharing of an overloaded node, room left."""
