"""One channel and one window to joules with their uncertainty, and which channels count."""
