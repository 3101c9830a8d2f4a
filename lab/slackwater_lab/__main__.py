"""`python -m slackwater_lab`."""

from slackwater_lab.commands import run

run()
