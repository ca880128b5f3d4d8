"""Doubts about what another package computes."""

from perjoule.model.doubts.kind import Kind, doubt


class Foreign(Kind):
    """Doubts about what another package computes."""

    @doubt
    def measure_failed(self, *, error: str) -> str:
        """A measure failed. Update or uninstall its package."""
        return error


FOREIGN = Foreign("foreign", "Measures of other packages", "numbers of their own are missing")
