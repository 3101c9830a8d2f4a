"""Where the dashboard and the live commands get what they show: a cluster, or a simulation.

Both give the same views (`views.py`) through the same protocol (`source.py`).
"""
