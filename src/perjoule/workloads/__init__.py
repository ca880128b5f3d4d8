"""Load engines, and the parsers of their reports."""
