"""A real Kubernetes control plane on one machine: what every scheduling claim of this project is tried on."""
