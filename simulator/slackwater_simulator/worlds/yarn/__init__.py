"""YARN in virtual time: a resource manager, nodes that beat, applications whose master comes first."""
