"""What is measured of a trial: each module is one thing, and `points` puts them together."""
