"""What happens first at one moment: ends free resources, then submissions, masters, nodes, and last the sweep."""

END, SUBMIT, TICK, BEAT, SWEEP = 0, 1, 2, 3, 4
