"""The five papers' evaluations played again: what they published beside what comes out here, and whether it holds."""
