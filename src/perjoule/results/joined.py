"""Pledged predictions beside what was measured since, as a table."""

from collections.abc import Iterator, Sequence
from math import expm1
from statistics import median

from perjoule.model.format import number, percent, uncertainty_text
from perjoule.model.series import UNMETERED
from perjoule.model.units import listed
from perjoule.results.ledger import Joined
from perjoule.results.table import NAMES, Table


def joined_table(joined: Sequence[Joined]) -> Table:
    """Lay out pledged predictions beside measurements: a row for each measured metric, and at least one."""
    headers = (
        *("file system", "redundancy", "direction", "clients", "never measured before", "metric"),
        *("predicted", "90 %", "measured", "n", "error", "held"),
    )
    rows: list[tuple[str, ...]] = []
    for join in joined:
        pledged = join.prediction
        place = (
            join.kind,
            pledged.redundancy.text,
            pledged.direction,
            str(pledged.clients_count),
            ", ".join(pledged.beyond) or "–",
        )
        for side in [join.sides[0], *(side for side in join.sides[1:] if side.measured)]:
            value, low, high = (number(end / side.metric.unit.per) for end in side.predicted)
            measured = number(median(side.measured) / side.metric.unit.per) if side.measured else "–"
            error = "–" if side.error is None else f"{percent(expm1(side.error), 1, sign=True)} %"
            holds = {None: "–", True: "yes", False: "no"}[side.held]
            cells = (
                "–" if side.ranged else value,
                f"{low} to {high}",
                measured,
                str(len(side.measured)),
                error,
                holds,
            )
            rows.append((*place, side.metric.label, *cells))
    return Table(headers, tuple(rows), (*NAMES, "never measured before", "metric", "held"))


def joined_remarks(joined: Sequence[Joined]) -> Iterator[str]:
    """Say how many bands held, and what proves nothing."""
    for sides in zip(*(join.sides for join in joined), strict=True):
        measured = [side for side in sides if side.held is not None]
        off = [abs(expm1(side.error)) for side in measured if side.error is not None]
        if measured:
            count = (
                f"{sum(side.held is True for side in measured)} of {len(measured)} bands hold what was "
                "measured"
            )
            yield f"{sides[0].metric.label}: {count}" + (
                f"; median error {uncertainty_text(median(off))} %" if off else ""
            )
    early, odd_count = sum(join.earlier_count for join in joined), sum(join.memory_count for join in joined)
    if not early and not odd_count and all(join.held is None for join in joined):
        yield (
            "nothing was measured that is like a pledged prediction: hardware, redundancy, clients and "
            "bytes must be the same"
        )
    if unmeasured := sorted({grade for join in joined for grade in join.grades if grade in UNMETERED}):
        powered = " and ".join(side.metric.label for side in joined[0].sides[1:])  # all but throughput
        yield (
            f"{powered} of the trials are {listed(unmeasured)}: they rest on values of hardware, as the "
            "predictions do"
        )
    if early:
        yield f"{early} trials had begun before the pledge and are left out: they prove nothing"
    if odd_count:
        yield (
            f"{odd_count} trials are left out because their servers have other memory than was pledged: "
            "predict with --virtual for virtual hosts without memory_cap, and without it for others"
        )
