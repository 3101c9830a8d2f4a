"""Stalls (paper 002): found by looking at rounds afterwards, and the pod to give up so that one ends."""
