"""Bytes per user byte by who encodes and who forwards. Shared by drivers, not a driver.

Only data count: no headers, metadata, journals or caches. A read takes only data parts, as all file systems
here do while all servers are up.
"""

from typing import NamedTuple

from perjoule.model import Amplification, Flow, Redundancy


class Hops(NamedTuple):
    """Shares of users' bytes that gateways pass on to, or get from, another host."""

    write_ratio: float = 0.0
    read_ratio: float = 0.0


NO_HOPS = Hops()


def explained(redundancy: Redundancy, *, by_client: bool, hops: Hops = NO_HOPS) -> Amplification:
    """Return what redundancy explains, if the client makes the copies or parts itself or leaves that to the
    first one's server, and of what passes gateways their hops.

    Whole copies are a code of one data part: each further copy is a parity part that equals it.
    """
    data_count = redundancy.data_count or 1
    parts_count = data_count + redundancy.tolerated_count
    all_ratio = parts_count / data_count
    sent_ratio, passed_ratio, gathered_ratio = all_ratio, 0.0, 0.0
    if not by_client:
        sent_ratio, passed_ratio, gathered_ratio = (
            1.0,
            (parts_count - 1) / data_count,
            (data_count - 1) / data_count,
        )
    write = Flow(
        client_sent_ratio=sent_ratio,
        storage_received_ratio=sent_ratio + passed_ratio + hops.write_ratio,
        storage_sent_ratio=passed_ratio + hops.write_ratio,
        disk_written_ratio=all_ratio,
    )
    read = Flow(
        client_received_ratio=1.0,
        storage_received_ratio=gathered_ratio + hops.read_ratio,
        storage_sent_ratio=1.0 + gathered_ratio + hops.read_ratio,
        disk_read_ratio=1.0,
    )
    return Amplification(write, read)
