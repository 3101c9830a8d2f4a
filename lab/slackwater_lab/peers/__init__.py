"""Schedulers that a lab can play: ours and others, one module each, set up as their own documentation says."""
