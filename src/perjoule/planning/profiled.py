"""The work of a server's CPU as the profiles that come with perjoule measured it."""

from statistics import median

from perjoule import prediction
from perjoule.model import Direction
from perjoule.planning.quantities import Quantity

OTHER_CPU_RATIO = 2.0  # by which the work may differ on another CPU of the same rating, to either side


def server_cpu(filesystem: str, direction: Direction) -> Quantity | None:
    """Return 7-zip MIPS x seconds of the servers for each byte at their disks: the median of a profile's points.

    The interval holds all points, and what another CPU may need; see docs/how-to/plan.md. None without such a profile.
    """
    if filesystem not in prediction.names():
        return None
    found = prediction.shipped(filesystem)
    points = [one for one in found.points if one.case.direction == direction]
    works = [
        one.server_mips_s_per_byte / (one.case.flow.disk_read_ratio + one.case.flow.disk_written_ratio)
        for one in points
        if one.server_mips_s_per_byte > 0
    ]
    if not works:
        return None
    value = median(works)
    low, high = min(*works, value / OTHER_CPU_RATIO), max(*works, value * OTHER_CPU_RATIO)
    source = f"profile of {filesystem} {found.release}, {len(works)} points on {'emulated' if found.emulated else 'real'} hosts"
    return Quantity(value, low, high, "measured", source)
