"""The baselines, a file each, and the interface through which every policy plugs into the YARN and the ideal world."""
