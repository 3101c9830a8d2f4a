"""The control plane of a lab and what stands beside it."""
