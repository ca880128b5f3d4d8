"""Doubts about a comparison of two results."""

from perjoule.model.doubts.kind import Kind, doubt


class ComparisonDoubts(Kind):
    """Doubts about a comparison of two results."""

    @doubt
    def undeclared(self, *, changes: str) -> str:
        """The two sides differ in more than you said. Name the changes with `--changed`, or undo them."""
        return f"{changes}: undeclared differences that may be the cause"

    @doubt
    def not_in_turns(self, *, first: str, second: str) -> str:
        """One side was measured after the other. Measure both in one campaign, in turns."""
        return (
            f"{first} and {second} were not measured in turns: a change over time would look like a "
            "difference"
        )

    @doubt
    def across_grades(self) -> str:
        """Power of different grades is compared, as you asked. Meter both sides alike."""
        return "numbers are compared across grades"

    @doubt
    def failed(self, *, side: str, count: int, all_count: int) -> str:
        """Trials of a side failed. Look at their reasons."""
        return f"{count} of {all_count} trials failed in {side}"

    @doubt
    def only_in(self, *, side: str, rows: str) -> str:
        """Only one side has these rows. Measure them on the other side, too."""
        return f"only in {side}: {rows}"

    @doubt
    def doubted_alone(self, *, side: str, doubts: str) -> str:
        """Only one side has these doubts, which may be the difference. Look at each."""
        return f"{side} alone has doubts: {doubts}"


COMPARISON = ComparisonDoubts(
    "comparison",
    "Sides that are unlike",
    "a difference may have another cause than the one that is compared",
)
