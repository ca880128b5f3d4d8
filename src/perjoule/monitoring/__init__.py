"""Meters without a campaign."""
