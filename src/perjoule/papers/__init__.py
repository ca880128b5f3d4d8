"""What papers published, and measurements held against it."""
