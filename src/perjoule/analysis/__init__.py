"""Pure functions from records and series to numbers with their uncertainty."""
