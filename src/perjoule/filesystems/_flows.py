"""Bytes per user byte by who encodes and who forwards. Shared by drivers, not a driver.

Only data count: no headers, metadata, journals or caches. A read takes only data parts, as all file systems here do while all
servers are up.
"""

from perjoule.model import Amplification, Flow, Redundancy


def explained(redundancy: Redundancy, *, by_client: bool) -> Amplification:
    """Return what redundancy explains, if the client makes the copies or parts itself or leaves that to a server."""
    if redundancy.data_count:
        return coded(redundancy.data_count, redundancy.parity_count, by_client=by_client)
    return copied(redundancy.copies_count, by_client=by_client)


def copied(copies: float, *, by_client: bool) -> Amplification:
    """Whole copies: the client sends every one, or sends one that servers forward; any one copy is read."""
    write = Flow(
        client_sent_ratio=copies if by_client else 1.0,
        storage_received_ratio=copies,
        storage_sent_ratio=0.0 if by_client else copies - 1,
        disk_written_ratio=copies,
    )
    return Amplification(write, Flow(client_received_ratio=1.0, storage_sent_ratio=1.0, disk_read_ratio=1.0))


def coded(data_count: int, parity_count: int, *, by_client: bool) -> Amplification:
    """An erasure code of k data and m parity parts on as many hosts: the client encodes, or the first part's server does."""
    all_ratio, passed_ratio = (data_count + parity_count) / data_count, 0.0
    if not by_client:
        passed_ratio = (data_count + parity_count - 1) / data_count
    write = Flow(
        client_sent_ratio=all_ratio if by_client else 1.0,
        storage_received_ratio=all_ratio if by_client else 1.0 + passed_ratio,
        storage_sent_ratio=passed_ratio,
        disk_written_ratio=all_ratio,
    )
    gathered_ratio = 0.0 if by_client else (data_count - 1) / data_count
    read = Flow(
        client_received_ratio=1.0,
        storage_received_ratio=gathered_ratio,
        storage_sent_ratio=1.0 + gathered_ratio,
        disk_read_ratio=1.0,
    )
    return Amplification(write, read)
