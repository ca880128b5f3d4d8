"""Doubts about the repetitions of a row."""

from collections.abc import Sequence

from perjoule.model.doubts.kind import Kind, doubt


class RepetitionDoubts(Kind):
    """Doubts about the repetitions of a row."""

    @doubt
    def same_name(self) -> str:
        """Two rows have one name and other options. Rename one in the campaign."""
        return "another row has the same name but other options: the campaign was changed between trials"

    @doubt
    def incomplete(self, *, metrics: str) -> str:
        """Some repetitions lack a number. Look at their doubts."""
        return f"not every repetition has {metrics}"

    @doubt
    def redundancy_differs(self, *, redundancies: Sequence[str]) -> str:
        """Repetitions kept other numbers of copies. Repeat those that are unlike the campaign."""
        return f"repetitions differ in redundancy ({'; '.join(redundancies)})"

    @doubt
    def two_modes(self, *, modes: str, count: int) -> str:
        """Repetitions gather around two values. Find out what differs between them."""
        return f"two modes: {modes} of {count} repetitions, so a mean and its interval would describe neither"

    @doubt
    def mean_only(self, *, count: int) -> str:
        """mdtest reports several iterations by their mean. Run it with -v."""
        return f"mdtest reports {count} iterations by their mean rate: they count as one repetition"


REPETITIONS = RepetitionDoubts(
    "repetitions",
    "Few or unequal repetitions",
    "means and intervals rest on fewer or other values than the row says",
)
