"""A world that steps second by second, for paper 000's evaluation."""
