"""Faults on purpose: the rules by which writes fail and watches lag, and a proxy that plays them to real programs."""
