"""A pool of simulated nodes that grows and shrinks: Karpenter in the lab, alone and beside Slackwater."""
