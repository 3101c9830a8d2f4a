"""The same jobs under several schedulers, each in a lab of its own, measured by the API server's audit log."""
