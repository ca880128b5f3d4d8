"""Meters on their own, without a campaign."""
