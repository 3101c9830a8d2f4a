"""The scheduler's questions answered: filter, prioritize, place; and explained."""
