"""Readers of workload traces, one file per format; `formats.open_workload` finds the right one by the content."""
