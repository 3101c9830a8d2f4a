"""Watching objects: list and watch, decode, and keep only the fields that are needed."""
