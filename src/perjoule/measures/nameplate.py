"""What a submission moves per watt on the nameplates of its power supplies: a rating, which nobody measured."""

from typing import TYPE_CHECKING

from perjoule.model import Number, Numbers
from perjoule.model.metrics import NAMEPLATE_W, Metric, Unit
from perjoule.model.units import MIB

if TYPE_CHECKING:
    from perjoule.trial.load import Load

PER_NAMEPLATE_W = Metric(
    "bytes_per_s_per_nameplate_w", "MiB/s per W nameplate", Unit("MiB/s/W", "B/s/W", MIB),
    "bytes moved / duration / W nameplate: no efficiency, and ranked with none",
)  # fmt: skip
METRICS = (PER_NAMEPLATE_W,)


def measure(load: "Load") -> Numbers:
    """Return the ratio; nothing of a load without ratings."""
    rated_w = load.workload_numbers.get(NAMEPLATE_W)
    if not rated_w or not load.moved_bytes:
        return Numbers()
    return Numbers({PER_NAMEPLATE_W.key: Number(load.moved_bytes / load.duration_s / rated_w)})
