"""Rounds looked at afterwards: recorded as plain values, and checked against the rule of the gate."""
