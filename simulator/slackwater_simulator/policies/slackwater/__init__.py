"""Slackwater as a simulated policy: the same core decisions as on a cluster."""
