"""How fast the work of a window was done, and by how much of what the hardware could do."""

from perjoule.energy.efficiency import peak_bytes_per_s
from perjoule.measures.energies import Work
from perjoule.model import Record


def rates(record: Record, work: Work) -> dict[str, float]:
    """Return duration and rates."""
    if not work.loaded:
        return {"duration_s": work.duration_s}
    rate = work.count / work.duration_s
    if work.per_j == "operations_per_j":
        return {"duration_s": work.duration_s, "operations_per_s": rate}
    metrics = {"duration_s": work.duration_s, "throughput_bytes_per_s": rate}
    if tpp := peak_bytes_per_s(record):
        metrics |= {"tpp_bytes_per_s": tpp, "tpp_ratio": rate / tpp}
    return metrics
