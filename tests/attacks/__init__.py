"""Attacks on promises of the threat model, each with the input that it builds: `benchmarks/attacks.py`
runs them all.
"""
