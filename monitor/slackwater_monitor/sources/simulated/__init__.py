"""A simulation's outcome as a source of the dashboard: what was so at any moment of it, in the views of a cluster."""
