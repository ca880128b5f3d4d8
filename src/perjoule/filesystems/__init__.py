"""Parallel and local file systems: deployed, mounted, queried, taken down."""
