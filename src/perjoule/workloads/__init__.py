"""Load engines and what they report."""
