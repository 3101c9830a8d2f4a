"""An assessment as a page, as tables and as plain values."""
