"""Objects of the API server: their shapes on the wire, what is kept of them, and equal parts held once."""
