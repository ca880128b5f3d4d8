"""Parts of a laboratory that perjoule knows nothing of."""
