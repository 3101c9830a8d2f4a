"""Mutated objects through the real code of operator and extender."""
