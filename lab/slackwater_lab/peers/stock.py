"""The stock kube-scheduler as it comes, with the client's rate limit lifted (5,000 requests a second instead of 50).

It is told nothing about jobs: pods are created and wait in its own queue.
"""

from slackwater_lab.peers.peer import Peer


class Stock(Peer):
    """kube-scheduler with its default profile."""

    name = "stock"
