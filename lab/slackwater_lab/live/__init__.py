"""Plays a workload into a real cluster: driver pods that ask for task pods, as application masters do."""
