"""Results folders compared, verified, tabulated."""
