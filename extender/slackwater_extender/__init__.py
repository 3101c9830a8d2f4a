"""The scheduler extender: nodes filtered and scored by what they really use, and a node found for many pods at once."""
