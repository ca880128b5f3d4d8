"""Repeated measurements: intervals, comparisons, trends.

They see numbers, points and cells, never records.
"""
