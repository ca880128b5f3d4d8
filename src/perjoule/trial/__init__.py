"""A trial as it is read: its windows, its channels, its emulated time."""
