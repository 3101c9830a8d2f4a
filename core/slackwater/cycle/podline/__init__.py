"""Held pods in line: whether there need be a line, who may go, and how urgent each group is (papers 001 and 003)."""
