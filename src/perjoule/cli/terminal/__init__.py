"""What commands share: what they print and ask, and the paths that they read and write."""
