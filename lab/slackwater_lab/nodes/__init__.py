"""Nodes of a lab: simulated by kwok, or real with their own kubelets."""
