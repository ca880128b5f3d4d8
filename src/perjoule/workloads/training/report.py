"""How busy emulated accelerators were, from the batches that they noted."""

import csv
from collections.abc import Sequence

from perjoule.machine.untrusted import text_of
from perjoule.model.series import Floats
from perjoule.workloads._ranks.report import ROUNDED_S, RankRecords

HEADER = ["epoch", "samples", "errors", "ready_s", "ended_s"]


def batches_of(raw: RankRecords) -> list[Floats]:
    """Return the batches of each accelerator, shape (N, 5): epoch, samples, errors, and when it had the batch and
    had computed it, seconds since its client began.

    Raises OSError or one of UNEXPECTED.
    """
    import numpy as np  # `perjoule check` only builds the driver

    of_all: list[Floats] = []
    for client, ranks in raw.ranks.items():
        for number, rank in enumerate(ranks):
            name = f"{client}.{number}.batches.csv"
            header, *rows = csv.reader(text_of(raw.folder / name).splitlines())
            batches = np.array(rows, dtype=np.float64)
            if header != HEADER or not len(rows):
                raise ValueError(f"{name} has no batches")
            in_order = np.concatenate([[0.0], batches[:, 3:].ravel(), [rank.ended_s + ROUNDED_S]])
            if not (np.diff(in_order) >= 0).all() or not (np.diff(batches[:, 0]) >= 0).all():
                raise ValueError(f"{name} has batches that overlap, or end after their rank")
            if batches[:, 1].sum() != len(rank.calls) or (batches[:, 1:3] < 0).any():
                raise ValueError(f"{name} has other samples than there were calls")
            of_all.append(batches)
    return of_all


def accelerator_ratio(batches: Sequence[Floats], batch_count: int, compute_s: float) -> float | None:
    """Return the accelerator utilisation as MLPerf Storage defines it; None if an epoch has but one batch.

    Of each accelerator and epoch, without its first batch: the time that it was to compute by the time that it
    took. The mean over epochs and accelerators.
    """
    ratios: list[float] = []
    for rows in batches:
        for epoch in sorted(set(rows[:, 0])):
            first, *rest = rows[rows[:, 0] == epoch]
            if not rest:
                return None
            computed_s = sum(float(row[1] + row[2]) for row in rest) / batch_count * compute_s
            ratios.append(computed_s / float(rest[-1][4] - first[4]))
    return sum(ratios) / len(ratios)
