"""Commands that simulate, reproduce and play, and the lab."""
