"""Doubts about the samples of a meter: the part of `meters` that `perjoule.energy` finds in a series."""

from perjoule.model.doubts.kind import Kind, doubt
from perjoule.model.format import number

REFUSED = "; its amount is refused"
ALIGN = "(align it)"


class SampleDoubts(Kind):
    """Doubts about samples."""

    # of the samples in a window

    @doubt
    def no_window(self, *, channel: str) -> str:
        """The load took no time, so nothing can be added up. Lengthen it."""
        return f"{channel}: the window has zero length"

    @doubt
    def bound_only(self, *, channel: str) -> str:
        """A power state has a highest power and no energy. Use a meter that measures."""
        return f"{channel}: a state only bounds the power and gives no energy"

    @doubt
    def counter_or_intervals(self, *, meter: str, rows_count: int, power_w: float) -> str:
        """A counter has few rows, whose energies may be those of intervals. Import the power, or a longer log."""
        return (
            f"{meter}: {rows_count} rows don't tell energy so far from energies of intervals, which would make "
            f"{power_w:.3g} W"
        )

    @doubt
    def only_rises(self, *, meter: str, count: int) -> str:
        """A power of few readings may be a counter of energy. Declare its unit, or name it in the column."""
        return f"{meter}: its {count} numbers only rise, as those of a counter of energy do"

    @doubt
    def in_turns(self, *, meter: str, meters_count: int) -> str:
        """Readings may be of several meters, whose powers would add up. Export the column that tells them apart."""
        return f"{meter}: its readings come in turns, as those of {meters_count} meters, or of one beside a ripple, do"

    @doubt
    def not_as_declared(self, *, meter: str, fault: str) -> str:
        """The readings of a trial contradict what its meter declares. Correct that, and repeat the trial."""
        return f"{meter}: {fault}"

    @doubt
    def possible_resets(self, *, channel: str, count: int) -> str:
        """A counter went back in a way that may be a reset. Compare it with another meter."""
        wraps = (
            "1 wrap of the counter may be a reset"
            if count == 1
            else f"{count} wraps of the counter may be resets"
        )
        return f"{channel}: {wraps}: the power that it would mean is unlike that before and after"

    @doubt
    def uncovered(self, *, channel: str, covered_ratio: float) -> str:
        """Too much of the window has no samples. Find out why reads fail, and repeat the trial."""
        return f"{channel}: samples cover only {100 * covered_ratio:.0f} % of the window{REFUSED}"

    @doubt
    def gap(self, *, channel: str, missing_ratio: float) -> str:
        """A little of the window has no samples. The energy stands, with the mean of the rest in the gap."""
        return (
            f"{channel}: {100 * missing_ratio:.1f} % of the window has no samples and is counted at the "
            "mean of the rest"
        )

    @doubt
    def unsteady_averages(self, *, channel: str) -> str:
        """The meter averages over a time that nobody states, and the power varied.

        Use its energy counter, or another meter.
        """
        return f"{channel}: averages over an unknown time give no energy unless they are steady"

    @doubt
    def undersampled(self, *, channel: str, period_s: float, refused: bool) -> str:
        """Samples lie so far apart that they miss bursts. Raise `rate`, or use an energy counter."""
        refusal = REFUSED if refused else ""
        return (
            f"{channel}: undersampled, one sample in {period_s:.2g} s misses bursts shorter than "
            f"{3 * period_s:.2g} s{refusal}"
        )

    @doubt
    def too_few(self, *, channel: str, count: int, least_count: int, window_s: float) -> str:
        """The window holds too few samples. Lengthen the load, or raise `rate`."""
        few = f"{count} samples, fewer than {least_count}, in a window of {window_s:.2g} s"
        return f"{channel}: undersampled, {few}{REFUSED}"

    @doubt
    def few_samples(self, *, meter: str, count: int) -> str:
        """The window holds few samples of power. Lengthen the load, or raise `rate`."""
        return f"{meter}: the window holds only {count} power samples"

    @doubt
    def unread(self, *, channel: str, longest_s: float) -> str:
        """A counter was not read for a while.

        The energy stands; how it is spread over that time is not known.
        """
        return (
            f"{channel}: the counter was not read for {longest_s:.2g} s; its rise is spread evenly over "
            "that time"
        )

    @doubt
    def few_steps(self, *, channel: str, count: int, refused: bool) -> str:
        """A counter counts in steps that are large for this load. Lengthen the load."""
        times = ("never", "only once", "only twice")[count] if count < 3 else f"only {count} times"
        refusal = "; its energy is refused" if refused else ""
        return f"{channel}: the counter stepped {times} in the window{refusal}"

    # of samples that look wrong: they are included

    @doubt
    def constant(self, *, channel: str, count: int) -> str:
        """All samples are equal. Check whether the meter is alive; a coarse one may be right."""
        return (
            f"{channel}: all {count} samples are equal: the meter was frozen, or the power stayed within "
            "one of its steps"
        )

    @doubt
    def frozen(self, *, channel: str, still_s: float, count: int, counter: bool) -> str:
        """The meter showed one value for far too long. Find out why it hung, and repeat the trial."""
        which = "counter" if counter else "meter"
        return f"{channel}: the {which} was frozen for {still_s:.3g} s ({count} equal samples)"

    @doubt
    def same_since_before(self, *, channel: str, still_s: float) -> str:
        """The meter did not show the load begin.

        Check whether the meter is alive; a coarse one may be right.
        """
        return (
            f"{channel}: the meter showed the same value for {still_s:.3g} s, beginning before the load: it "
            "was frozen, or the load is smaller than one of its steps"
        )

    @doubt
    def far_above(self, *, channel: str, count: int, highest_w: float) -> str:
        """Few samples are far above all others. They count; look at the figure of power."""
        return f"{channel}: {_samples(count)} far above all others, up to {number(highest_w)} W, and included"

    @doubt
    def spikes(self, *, channel: str, count: int, highest_w: float) -> str:
        """Single samples are far above those beside them. They count; look at the figure of power."""
        return (
            f"{channel}: {_samples(count)} far above those around them, up to {number(highest_w)} W, and "
            "included"
        )

    @doubt
    def at_zero(self, *, channel: str, count: int, median_w: float) -> str:
        """Samples say that nothing was drawn. They count; they are probably failed reads."""
        median = f"where the median is {number(median_w)} W"
        return f"{channel}: {_samples(count)} at 0 W or below, {median}, and included (a failed read?)"

    # of samples that are mended or left out

    @doubt
    def out_of_order(self, *, channel: str, count: int) -> str:
        """Samples came late, or the meter's clock was set. They are sorted; check the clock."""
        return f"{channel}: {count} samples arrived out of order (late, or the clock was set back)"

    @doubt
    def beyond_range(self, *, channel: str, count: int, most_w: float) -> str:
        """Samples show more than the meter can, so they are gaps. Find out why reads fail."""
        return (
            f"{channel}: {count} samples exceed the {most_w:.4g} W that it can show and are treated as "
            "failed reads"
        )

    @doubt
    def unknown_power(self, *, channel: str, count: int, value_w: float) -> str:
        """The meter says that it does not know the power, so these samples are gaps. Find out why."""
        return (
            f"{channel}: {count} samples are {value_w:.7g} W, which stands for a power that is not known: "
            "failed reads"
        )

    @doubt
    def below_zero(self, *, channel: str, count: int, lowest_w: float) -> str:
        """Power flows one way, so these samples are gaps. Turn the clamp or its wires."""
        below = f"{count} samples are below zero, down to {lowest_w:.4g} W, and count as failed reads"
        fix = (
            "power flows one way, so its clamp or its wires are the wrong way round (turn them), or it "
            "misread"
        )
        return f"{channel}: {below}: {fix}"

    @doubt
    def spread_evenly(self, *, channel: str, count: int, spread_s: float) -> str:
        """The meter's timestamps are coarse. The energy stands; short peaks are not dated exactly."""
        shared = f"{count} samples share a timestamp with another"
        return f"{channel}: {shared}: spread evenly over the {spread_s:.3g} s between timestamps"

    @doubt
    def same_timestamp(self, *, channel: str, count: int) -> str:
        """The meter sent samples twice. The energy stands."""
        return f"{channel}: {count} samples are left out: another has the same timestamp"

    @doubt
    def clock_ahead(self, *, channel: str, count: int, most_s: float) -> str:
        """The meter's clock is wrong. Align it, or state its offset."""
        dated = f"{count} samples are dated up to {most_s:.2g} s after they arrived"
        return f"{channel}: {dated}: the meter's clock is ahead {ALIGN}"

    @doubt
    def clock_behind(self, *, channel: str, count: int, least_s: float) -> str:
        """The meter's clock is wrong, or its samples are old. Align it, or state its offset."""
        dated = f"{count} samples are dated {least_s:.3g} s or more before they arrived"
        return f"{channel}: {dated}: the meter's clock is behind {ALIGN}, or they come that late"

    @doubt
    def impossible_steps(self, *, channel: str, count: int, cause: str) -> str:
        """A counter stepped as no load can, so these steps are gaps. Find the cause."""
        return f"{channel}: {count} steps of the counter are neither a wrap nor a possible rate ({cause})"

    @doubt
    def wraps_unseen(self, *, channel: str, count: int) -> str:
        """A counter may have wrapped more than once between two reads. Raise `rate`."""
        times = "once" if count == 1 else f"{count} times"
        return f"{channel}: {times} the counter was read too rarely to tell how often it wrapped"


def _samples(count: int) -> str:
    return f"{count} samples are" if count != 1 else "1 sample is"
