"""Outcomes for people and programs: rows with stable names, and a self-contained page of figures."""
