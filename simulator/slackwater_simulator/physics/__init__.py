"""What nodes do: sharing of an overloaded node, fragments, room left."""
