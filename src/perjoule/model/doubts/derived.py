"""Doubts about numbers that are computed from what a tool reports."""

from perjoule.model.doubts.kind import Kind, doubt


class DerivedDoubts(Kind):
    """Doubts about numbers that are computed from what a tool reports."""

    @doubt
    def equal_shares(self, *, program: str) -> str:
        """The program reports a sum. Numbers of all nodes stand; those of one do not."""
        return f"{program} reports the sum of all nodes: each node is assigned an equal share"

    @doubt
    def stonewalled(self) -> str:
        """IOR reports a sum after a stonewall. Numbers of all clients stand; those of one do not."""
        return (
            "the stonewall ended the load: IOR reports the sum of the bytes, and each client is assigned an "
            "equal share"
        )

    @doubt
    def ior_amount(self, *, digits: str) -> str:
        """IOR did not report the bytes. Run it with -v."""
        return f"IOR does not report the amount moved: it is rate times time, to {digits}"

    @doubt
    def io500_amount(self) -> str:
        """IO500 reports rates and times. Amounts include what it does around a phase."""
        return "the amount of work is rate times time, and that time includes what IO500 does around a phase"

    @doubt
    def elbencho_amount(self, *, unsure_ratio: float) -> str:
        """elbencho's CSV has whole MiB. Import its JSON."""
        return f"elbencho's CSV has whole MiB: the amount is known to ± {100 * unsure_ratio:.2g} %"

    @doubt
    def elbencho_hosts(self) -> str:
        """elbencho's command line does not name its hosts. Name the clients at the import."""
        return (
            "elbencho counts services and does not name their hosts: each is taken to be a client of its own"
        )

    @doubt
    def nominal_samples(self, *, deviating: bool) -> str:
        """DLIO counts samples. Bytes are those of the configuration's mean sample."""
        mean = "mean " if deviating else ""
        return f"DLIO counts no bytes: they are samples times the {mean}size in its configuration"

    @doubt
    def fits_in_memory(self) -> str:
        """DLIO found that a host's share of the data set fits in its memory. Read more than caches hold."""
        return "DLIO notes that a host's data fit in its memory: from the second epoch on, a cache may have served them"

    @doubt
    def iterations_unordered(self) -> str:
        """mdtest reports iterations by highest and lowest. Their order is not known; run it with -v."""
        return "mdtest does not report which of its iterations was first"

    @doubt
    def grouped(self, *, count: int) -> str:
        """fio sums up processes. Measure without group_reporting."""
        return (
            f"fio sums up {count} processes: they are taken to have run at once, with the options of the last"
        )


DERIVED = DerivedDoubts(
    "derived",
    "Computed from what a tool reports",
    "amounts, or the shares of hosts, are not measured but computed from the tool's own rounded numbers",
)
