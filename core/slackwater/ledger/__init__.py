"""What is promised on every node: pods with their charges, samples taken in, and the room that is left."""
