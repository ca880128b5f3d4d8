"""Doubts about traffic that redundancy does not explain."""

from perjoule.model.doubts.kind import Kind, doubt


class TrafficDoubts(Kind):
    """Doubts about traffic that redundancy does not explain."""

    @doubt
    def too_much(self, *, direction: str, subject: str, derived_ratio: float, cause: str) -> str:
        """Hosts moved more bytes than redundancy needs. The sentence names the likely cause."""
        return than(direction, subject, "more", derived_ratio, cause)

    @doubt
    def rebuild(self, *, subject: str, more: bool, derived_ratio: float, margin_ratio: float) -> str:
        """A rebuild moved other amounts than redundancy needs. Check the layout."""
        size = "more" if more else "fewer"
        return (
            f"rebuild: {size} bytes {subject} than the {derived_ratio:g} for each lost byte that redundancy "
            f"explains, by more than {100 * margin_ratio:.0f} %"
        )


def fewer(direction: str, subject: str, derived_ratio: float, cause: str) -> str:
    """Say that hosts moved fewer bytes than redundancy needs."""
    return than(direction, subject, "less", derived_ratio, cause)


def than(direction: str, subject: str, size: str, derived_ratio: float, cause: str) -> str:
    """Compare bytes with redundancy, without what was measured, so that repetitions say the same."""
    each = f"the {derived_ratio:.3g} byte{'s' * (derived_ratio != 1)} per user byte that redundancy explains"
    return f"{direction}: {subject} {size} than {each}, likely {cause}"


TRAFFIC = TrafficDoubts(
    "traffic",
    "Traffic that redundancy does not explain",
    "hosts did more than the users' work, or the layout is not as stated: energy may be too high",
)
