"""Doubts that the work that was counted is the work that was done."""

from perjoule.model.doubts.kind import Kind, doubt

DAMAGED = "damaged: "  # how a doubt about a part of a file begins


class WorkDoubts(Kind):
    """Doubts that the work that was counted is the work that was done."""

    @doubt
    def log_contradicts(self, *, host: str) -> str:
        """fio's log of bandwidth and its report differ.

        Repeat the trial; a time series of it is not shown.
        """
        return f"{host}: fio's bandwidth log contradicts the bytes moved"

    @doubt
    def latencies_contradict(self, *, host: str) -> str:
        """fio's log of latencies and its report differ.

        Repeat the trial; latencies over time are not shown.
        """
        return f"{host}: fio's log of latencies contradicts its report"

    @doubt
    def not_read_back(self) -> str:
        """The data were not checked. Repeat the trial."""
        return "the written data were not read back"

    @doubt
    def errors(self, *, host: str, count: int) -> str:
        """fio went on after errors. Read its output, and mend their cause."""
        return f"{host}: fio continued after {count} errors"

    @doubt
    def engine_busy(self, *, host: str, busy_ratio: float) -> str:
        """A client's S3 engine had no CPU time left. Use more clients, or larger objects."""
        return (
            f"{host}: the S3 engine used {100 * busy_ratio:.0f} % of a core, and may be what limits: use more "
            "clients or larger objects"
        )

    @doubt
    def ior_warned(self, *, warning: str) -> str:
        """IOR printed a warning. It says what."""
        return f"IOR warned: {warning}"

    @doubt
    def fastest_rank(self) -> str:
        """This mdtest prints the rate of its fastest rank. Run it with -v, or mdtest 4."""
        return (
            "mdtest before 3.3 prints the rate of the fastest rank, which may be too high: run it with -v, "
            "or mdtest 4"
        )

    @doubt
    def two_rates(self, *, summary: str, table: str) -> str:
        """IOR's summary and its table differ. The table counts."""
        return f"IOR's summary states {summary} and its table {table}: the table is taken"

    @doubt
    def invalid(self, *, reason: str) -> str:
        """IO500 does not accept its own result. The reason says why."""
        return f"IO500 calls it invalid: {reason}"

    @doubt
    def results_differ(self, *, summary_file: str, summary: str, result_file: str, result: str) -> str:
        """Two files of a submission state other results. Find out which was changed."""
        return f"{summary_file} states {summary}, {result_file} {result}"

    @doubt
    def output_missing(self, *, file: str) -> str:
        """A submission lacks a file. Its number rests on the summary alone."""
        return f"{DAMAGED}{file} is missing"

    @doubt
    def output_truncated(self, *, file: str) -> str:
        """A file of a submission ends early. Its number rests on the summary alone."""
        return f"{DAMAGED}{file} is truncated: it has no rate"

    @doubt
    def output_differs(self, *, file: str, rate: float, unit: str, stated: str) -> str:
        """A program's own output and the summary differ. Find out which was changed."""
        return f"{file} states {rate:.6g} {unit}, not {stated}"

    @doubt
    def unreadable(self, *, file: str) -> str:
        """A file was not imported. If it is of this load, import it again once it can be read."""
        return (
            f"{file} can't be read and was left out: if it is of a client of this load, that client's work "
            "is missing"
        )

    @doubt
    def no_fit(self, *, peak: str, error: str) -> str:
        """The physics result has no such peak. Analyse more events."""
        return f"the peak {peak} can't be fitted: {error}"

    @doubt
    def wrong_mass(self, *, peak: str, pull: float) -> str:
        """The physics result is wrong by more than chance. Check the data set."""
        return f"the peak {peak} lies {pull:+.1f} standard errors from its true mass"

    @doubt
    def configured(self) -> str:
        """The simulated load was configured to be doubted: a test."""
        return "a doubt, as configured"


WORK = WorkDoubts(
    "work",
    "Work that may not be what was counted",
    "after errors, in damaged or contradictory reports, throughput may be that of less work",
    disqualifies=True,
    spared=("not_read_back",),
)
