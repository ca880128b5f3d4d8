"""Doubts that the cluster, and not the machine that emulates it, was measured."""

from perjoule.model.doubts.kind import Kind, doubt


class MachineDoubts(Kind):
    """Doubts that the cluster, and not the machine that emulates it, was measured."""

    @doubt
    def strangers(self, *, share_ratio: float) -> str:
        """Other programs computed during the load. Stop them and repeat the trial."""
        share = f"about {100 * share_ratio:.0f} %"
        return (
            f"other programs took {share} of this machine's CPUs during the load: stop them and repeat the "
            "trial"
        )

    @doubt
    def busy(self, *, used_ratio: float) -> str:
        """The emulated hosts used up the machine. Use a smaller scale."""
        share = f"{100 * used_ratio:.0f} %"
        return (
            f"the hosts used {share} of this machine's CPUs, which slowed down the emulation: use a smaller "
            "scale"
        )

    @doubt
    def rated_while_busy(self, *, busy_ratio: float) -> str:
        """The processor was rated beside other programs. Repeat on a quiet machine."""
        cause = f"other programs took {100 * busy_ratio:.0f} % of the CPUs"
        advice = "caps and modelled watts may be wrong; repeat on a quiet machine"
        return f"this machine's CPU was rated while {cause}: {advice}"


MACHINE = MachineDoubts(
    "machine",
    "The machine as the limit",
    "the numbers may be those of the test machine: throughput may be too low",
    disqualifies=True,
)
