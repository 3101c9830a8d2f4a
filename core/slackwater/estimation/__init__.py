"""How much pods will use: the estimate per node and resource (paper 000), learned peaks, stale samples."""
