"""Jobs and nodes as given to a run: models, traces, generators."""
