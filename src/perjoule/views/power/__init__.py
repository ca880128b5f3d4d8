"""What was metered: watts, joules, work by the joule, and how well they are known."""
