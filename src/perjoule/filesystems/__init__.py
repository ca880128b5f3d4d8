"""Parallel and local file systems: brought up, mounted, asked, taken down."""
