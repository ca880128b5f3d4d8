"""Which settings of a campaign do best, found by measuring."""
