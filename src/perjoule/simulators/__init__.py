"""Servers that speak the protocols of meters, vary, and fail on purpose; one file per protocol."""
