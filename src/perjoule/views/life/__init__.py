"""What happens to file systems: events, rebuilds, age."""
