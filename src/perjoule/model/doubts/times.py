"""Doubts about when a load ran."""

from perjoule.model.doubts.kind import Kind, doubt
from perjoule.model.units import seconds_text


def _idle_words(idle_s: float) -> str:
    """Say how long no operation of a run lasted; nothing if it is not known to be long."""
    return (
        f", but {seconds_text(idle_s)} of the run are in none, by which they may be too early"
        if idle_s
        else ""
    )


class TimeDoubts(Kind):
    """Doubts about when a load ran."""

    @doubt
    def clock_uncertain(self, *, host: str, uncertainty_s: float) -> str:
        """The way to a host is slow or uneven, so its clock is not known well. Lengthen the load."""
        return (
            f"the clock of {host} is known to ± {seconds_text(uncertainty_s)} only: its loads are timed by it"
        )

    @doubt
    def stood_still(self, *, still_s: float) -> str:
        """This machine or perjoule stood still. Keep it awake, and repeat the trial."""
        return f"perjoule or its machine stood still for {seconds_text(still_s)} during the load"

    @doubt
    def set_and_back(self, *, set_s: float) -> str:
        """The clock was set twice during the load. Leave it to chrony, which slews."""
        return (
            f"the clock was set by {set_s:+.3g} s during the load, and set back: times are uncertain by as "
            "much"
        )

    @doubt
    def no_answer(self, *, host: str, silent_s: float) -> str:
        """A host did not answer during the load. Check it and its connection."""
        return f"{host} did not answer for {seconds_text(silent_s)} during the load"

    @doubt
    def host_set_and_back(self, *, host: str, set_s: float) -> str:
        """A host's clock was set twice during the load. Leave it to chrony, which slews."""
        return f"the clock of {host} was set by {set_s:+.3g} s during the load, and set back"

    @doubt
    def host_set(self, *, host: str, set_s: float) -> str:
        """A client's clock was set during the run. Leave it to chrony, which slews."""
        return (
            f"the clock of {host} was set by {set_s:+.3g} s during the run: its times are uncertain by as "
            "much"
        )

    @doubt
    def set(self, *, set_s: float) -> str:
        """The clock was set during the run. Leave it to chrony, which slews."""
        return f"the clock was set by {set_s:+.3g} s during the run: starts and ends are uncertain by as much"

    @doubt
    def began_late(self, *, host: str, late_s: float) -> str:
        """A client began after the others. Lengthen the load."""
        return f"{host} began {late_s * 1e3:.0f} ms late"

    @doubt
    def opened_late(self, *, host: str, late_s: float, client: str) -> str:
        """A client opened its file after the others. Lengthen the load."""
        return f"{host} opened its file {late_s * 1e3:.0f} ms after {client}"

    @doubt
    def late_write_back(self, *, late_s: float) -> str:
        """Hosts began to write back late, and that time counts as writing. Lengthen the load."""
        lateness = f"the write-back began {seconds_text(late_s)} after the last client's end"
        return f"{lateness}, and that time counts as writing"

    @doubt
    def short(self, *, shortest_s: float) -> str:
        """A client ran so shortly that its start and end matter. Lengthen the load."""
        return f"a client ran only {shortest_s * 1e3:.0f} ms"

    @doubt
    def short_for_fio(self, *, shortest_s: float) -> str:
        """fio counts milliseconds, and a client ran for few. Lengthen the load."""
        return f"a client ran only {shortest_s * 1e3:.0f} ms, which fio measures to 1 ms"

    @doubt
    def short_for_mdtest(self, *, shortest_s: float) -> str:
        """mdtest's start is known to a few milliseconds, and a client ran for few. Use more files."""
        return f"a client ran only {shortest_s * 1e3:.0f} ms, whose start is known only to a few"

    @doubt
    def short_worker(self, *, least_s: float) -> str:
        """A worker had too little to do. Use more events."""
        return f"a worker was busy for less than {least_s:g} s"

    @doubt
    def short_run(self, *, length_s: float) -> str:
        """An imported run was short. Lengthen it."""
        return f"it ran only {seconds_text(length_s)}"

    @doubt
    def short_operation(self, *, length_s: float) -> str:
        """An imported operation was short. Use more files."""
        return f"it ran only {length_s * 1e3:.3g} ms"

    @doubt
    def computed_starts(self, *, uncertainty_s: float, window_s: float) -> str:
        """fio does not report when jobs of a file began. Lengthen them."""
        return (
            f"starts of a job file's jobs are computed, to about {uncertainty_s:g} s, and they ran "
            f"{window_s:.2g} s"
        )

    # of imported runs

    @doubt
    def other_clock(self, *, at_begin: bool = False) -> str:
        """fio's job_start is of a clock that the job file chose. The time of its report counts."""
        placed = "first job is taken to have begun" if at_begin else "last job is taken to have ended"
        return f"fio's starts of jobs are of another clock: the {placed} with the report"

    @doubt
    def one_after_another(self) -> str:
        """fio did not report when groups began. Give each group a file, or use fio 3.36."""
        return (
            "groups of fio's jobs are taken to have run one after another: their starts are computed from "
            "how long they took"
        )

    @doubt
    def at_once(self) -> str:
        """fio did not report when groups began. Give each group a file, or use fio 3.36."""
        return (
            "groups of fio's jobs are taken to have run at once: one after another they would have taken "
            "longer than fio ran"
        )

    @doubt
    def fio_to_a_second(self) -> str:
        """This fio reports its end in whole seconds. Use a newer one, or lengthen the load."""
        return "fio reported its end to 1 s: when it ran is uncertain by as much"

    @doubt
    def fio_told(self) -> str:
        """fio --client reports when it told its servers to begin. Use fio 3.36, or lay out files before."""
        return (
            "fio reports, to 1 s, when it told its servers to begin: their jobs are taken to have begun then, "
            "although servers may first have laid out files"
        )

    @doubt
    def ior_to_a_second(self) -> str:
        """IOR reports starts in whole seconds. Run it with -v, or lengthen the load."""
        return "IOR reports the start of an operation to 1 s"

    @doubt
    def ior_in_a_row(self, *, idle_s: float = 0.0) -> str:
        """IOR reports the start of its test alone. Run it with -v."""
        return (
            "IOR reports the start of a test to 1 s and no start of an operation: windows are placed one "
            f"after another{_idle_words(idle_s)}"
        )

    @doubt
    def mdtest_in_a_row(self, *, idle_s: float = 0.0) -> str:
        """mdtest reports the start of its run alone. Run one operation at a time."""
        return (
            "mdtest reports its start to 1 s and no start of an operation: windows are placed one after "
            f"another{_idle_words(idle_s)}"
        )

    @doubt
    def rados_by_file(self, *, may_have_removed: bool = False) -> str:
        """rados bench prints no date. Do not copy or touch its output, and write with --no-cleanup."""
        removed = ", unless it removed its objects before (without --no-cleanup)" if may_have_removed else ""
        return (
            f"rados bench reports no time of day: its end is taken to be when its file was written{removed}"
        )

    @doubt
    def io500_to_a_second(self) -> str:
        """IO500 reports starts in whole seconds. Lengthen the phases."""
        return "IO500 reports the start of a phase to 1 s"

    @doubt
    def programs_to_a_second(self) -> str:
        """IOR and mdtest report starts in whole seconds. Lengthen the phases."""
        return "IOR and mdtest report their start to 1 s"

    @doubt
    def after_phase(self, *, phase: str) -> str:
        """No file dates a phase. It is placed after the one before it."""
        return f"no file says when it began: its start is taken to be the end of {phase}"

    @doubt
    def before_phase(self, *, phase: str) -> str:
        """No file dates a phase. It is placed before the next one."""
        return f"no file says when it began: its end is taken to be the start of {phase}"

    @doubt
    def elbencho_by_row(self, *, digits: str) -> str:
        """This elbencho dates a row when it writes it. Use 3.0-27 or newer."""
        return (
            f"elbencho before 3.0-27 reports, to {digits}, when it wrote a row: the load is taken to have ended "
            "then"
        )

    @doubt
    def elbencho_services(self) -> str:
        """elbencho reports when its master began. Lengthen the load."""
        return "elbencho reports the start of a phase by the clock of its master: its services began later"

    @doubt
    def undated(self, *, file: str) -> str:
        """No file dates a run. Do not copy or touch its files before the import."""
        return f"no file says when it ran: the end of the run is taken to be when {file} was written"

    @doubt
    def own_clocks(self) -> str:
        """Clients' files have times of their own clocks. Synchronise clocks before you measure."""
        return "each client's file has the time of its own clock; the offsets between the clocks are unknown"

    @doubt
    def zone_assumed(self, *, zone: str) -> str:
        """Imported times name no zone. Give `--timezone`."""
        return f"times without a zone are taken to be in {zone}, this machine's zone"

    @doubt
    def power_unaligned(self) -> str:
        """Imported power has times of another clock. Align it by a step of power."""
        return "power is joined by time of day; the offset between the clocks is unknown"


TIMES = TimeDoubts(
    "times",
    "Uncertain times",
    "windows are known less exactly than they last: throughput and energy may be too low or too high",
)
