"""Small worlds for evaluations that YARN's heartbeats and containers cannot express."""
