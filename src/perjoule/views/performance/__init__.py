"""What was measured, by load: rates, winners, users, scaling, and what a byte costs."""
