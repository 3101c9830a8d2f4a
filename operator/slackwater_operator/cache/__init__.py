"""What the operator knows of the cluster, and the snapshot that a cycle decides on."""
