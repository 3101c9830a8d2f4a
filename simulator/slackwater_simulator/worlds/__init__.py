"""The worlds a workload is played in: YARN, Kubernetes, and two small ones for single papers."""
