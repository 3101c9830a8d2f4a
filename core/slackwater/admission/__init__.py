"""Which driver may start: the budget for drivers (paper 002), a queue's capacity, stalls."""
