"""Each paper alone, as a policy beside the stock schedulers."""
