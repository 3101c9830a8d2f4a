"""The Lease of the operator: who leads, and the dead-man switch for when nobody does."""
