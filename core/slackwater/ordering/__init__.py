"""Which pod first: fitness, urgency and alignment (paper 001), levels of a DAG."""
