"""Servers of our programs: gunicorn set up in code, limits for slow callers, and what a program says of itself."""
