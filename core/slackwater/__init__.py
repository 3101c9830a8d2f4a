"""Slackwater's decisions: pure functions from numbers to decisions, with no clock, no network and no files."""

__version__ = "0.1.0"
