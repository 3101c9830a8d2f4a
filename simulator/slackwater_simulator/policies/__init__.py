"""Policies of the simulator, one file each, and the interface through which a policy plugs into a world."""
