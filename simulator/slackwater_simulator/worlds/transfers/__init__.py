"""A world of transfers between nodes, for paper 003's evaluation."""
