"""Doubts about time that an emulated cluster does not dilate."""

from perjoule.model.doubts.kind import Kind, doubt
from perjoule.model.units import seconds_text


class UndilatedDoubts(Kind):
    """Doubts about time that an emulated cluster does not dilate."""

    @doubt
    def idle(self, *, scale: str, often_ratio: float) -> str:
        """Daemons of an emulated cluster act too often. Measure idle power at scale 1."""
        return (
            f"daemons keep their own time, which {scale} does not dilate: for each emulated second they act "
            f"up to {often_ratio:.3g} times as often as on the hardware; what an idle file system does, and "
            "the watts of it, are upper bounds"
        )

    @doubt
    def timeouts(self, *, scale: str) -> str:
        """Timeouts of daemons are too short on an emulated cluster. Measure failures at scale 1."""
        return (
            f"timeouts of daemons keep their own time, which {scale} does not dilate: what waits for one "
            "takes less emulated time than on the hardware"
        )

    @doubt
    def compute(self, *, preset: str, wall_s: float, emulated_s: float, meant_s: float) -> str:
        """An accelerator computes in wall time. Write the longer compute time, or measure at scale 1."""
        return (
            f"{preset} computes a batch in {seconds_text(wall_s)} of wall time, which is "
            f"{seconds_text(emulated_s)} of the emulated cluster: a faster accelerator, which waits more; "
            f'write compute = "{meant_s:.3g} s"'
        )


UNDILATED = UndilatedDoubts(
    "undilated",
    "Time that emulation does not dilate",
    "what daemons do by their own clocks comes too early and too often: watts without a load are upper "
    "bounds",
)
