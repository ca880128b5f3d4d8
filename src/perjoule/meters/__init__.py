"""Meters that run during a workload: watts, and system counters in seconds and bytes."""
