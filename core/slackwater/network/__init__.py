"""How long data takes to reach a task, and nodes chosen by it (paper 003)."""
