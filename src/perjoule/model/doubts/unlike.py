"""Doubts that the load or the layout was what the campaign names."""

from perjoule.model.doubts.kind import Kind, doubt


class UnlikeDoubts(Kind):
    """Doubts that the load or the layout was what the campaign names."""

    @doubt
    def no_mirror(self, *, lack: str, stead: str) -> str:
        """Servers hold one copy of the data and no mirror. Install what the host lacks."""
        on = f", on {stead}" if stead else ""
        return f"no mirror beneath: {lack}; each server holds one copy of the data{on}"

    @doubt
    def no_seeks(self, *, lack: str) -> str:
        """Emulated disks were faster at random than the catalogue's. Install what the kernel lacks."""
        return f"disks did not seek: {lack}"

    @doubt
    def not_steady(
        self,
        *,
        rounds_count: int,
        range_ratio: float,
        most_range_ratio: float,
        excursion_ratio: float,
        most_excursion_ratio: float,
    ) -> str:
        """The load never became steady. Allow more rounds, or measure its mean over a longer time."""
        return (
            f"not steady after {rounds_count} rounds: range {100 * range_ratio:.0f} % of the mean "
            f"(limit {100 * most_range_ratio:.0f} %), slope {100 * excursion_ratio:.0f} % "
            f"(limit {100 * most_excursion_ratio:.0f} %)"
        )

    @doubt
    def mostly_remote(self, *, placed_ratio: float, local_ratio: float) -> str:
        """Tasks were placed beside their data, and read over the network. Check the layout."""
        return (
            f"{100 * placed_ratio:.0f} % of the bytes were read on hosts that hold their files, but only "
            f"{100 * local_ratio:.0f} % not over the network"
        )

    @doubt
    def no_files(self, *, hosts: str) -> str:
        """Some servers hold no file of the data set. Use more files."""
        return f"no file of the data set lies on {hosts}"

    @doubt
    def few_tasks(self, *, tasks_count: int, workers_count: int) -> str:
        """Some workers had nothing to do. Raise `files` or `tasks_per_file`."""
        return f"{tasks_count} tasks for {workers_count} workers: raise files or tasks_per_file"

    @doubt
    def jobs_waited(self, *, user: str, count: int, all_count: int) -> str:
        """A user's jobs came faster than they end. Lengthen their interval."""
        return f"{user}: {count} of {all_count} jobs waited for the one before them"

    @doubt
    def share_missed(self, *, reached_ratio: float, asked_ratio: float) -> str:
        """The load did not reach its share of the maximum. Lengthen it, or lower the share."""
        return (
            f"the load was {100 * reached_ratio:.1f} % of the maximum, instead of {100 * asked_ratio:.1f} %"
        )

    @doubt
    def maximum_missed(self, *, reached_ratio: float) -> str:
        """The maximum did not last. Lengthen `duration`."""
        share = f"{100 * reached_ratio:.1f} %"
        return f"at full speed the load was {share} of the maximum measured before: lengthen duration"

    @doubt
    def between_steps(self, *, between_ratio: float) -> str:
        """Much of a profile's window lies between its steps. Lengthen `hour`."""
        return (
            f"{100 * between_ratio:.0f} % of the window lie between the steps of the profile: lengthen hour"
        )


UNLIKE = UnlikeDoubts(
    "unlike the campaign",
    "Not as the campaign says",
    "the numbers are those of another load or layout than the campaign names",
    disqualifies=True,
)
