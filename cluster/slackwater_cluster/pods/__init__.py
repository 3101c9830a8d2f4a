"""What a pod asks for and which nodes it accepts."""
