"""Held pods in line: who may go, and how urgent each group is (papers 001 and 003)."""
