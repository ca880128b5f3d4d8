"""What is measured while a workload runs: watts, and system counters in seconds and bytes."""
