"""Apps as the operator sees them: which pods form which, one app put together, and what was seen of it before."""
