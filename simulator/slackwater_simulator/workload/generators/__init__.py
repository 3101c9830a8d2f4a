"""Workloads of the five papers' evaluations, one file per paper; `catalogue.generate` makes one by name."""
