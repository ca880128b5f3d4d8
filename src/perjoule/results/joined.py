"""Pledged predictions beside what was measured since, as a table."""

from collections.abc import Iterator, Sequence
from math import expm1
from statistics import median

from perjoule.model.format import number, percent, uncertainty_text
from perjoule.model.series import UNMETERED
from perjoule.model.units import listed
from perjoule.results.ledger import Joined
from perjoule.results.table import NAMES, Table


def joined_table(found: Sequence[Joined]) -> Table:
    """Lay out pledged predictions beside what was measured: a row for each metric that was, and at least one."""
    headers = (
        *("file system", "redundancy", "direction", "clients", "never measured before", "metric"),
        *("predicted", "90 %", "measured", "n", "error", "held"),
    )
    rows: list[tuple[str, ...]] = []
    for one in found:
        asked = one.prediction
        where = (one.kind, asked.redundancy.text, asked.direction, str(asked.clients_count), ", ".join(asked.beyond) or "–")
        for side in [one.sides[0], *(side for side in one.sides[1:] if side.measured)]:
            value, low, high = (number(end / side.metric.unit.per) for end in side.predicted)
            told = number(median(side.measured) / side.metric.unit.per) if side.measured else "–"
            said = "–" if side.error is None else f"{percent(expm1(side.error), 1, sign=True)} %"
            held = {None: "–", True: "yes", False: "no"}[side.held]
            shown = ("–" if side.ranged else value, f"{low} to {high}", told, str(len(side.measured)), said, held)
            rows.append((*where, side.metric.label, *shown))
    return Table(headers, tuple(rows), (*NAMES, "never measured before", "metric", "held"))


def joined_remarks(found: Sequence[Joined]) -> Iterator[str]:
    """Say how many bands held, and what proves nothing."""
    for sides in zip(*(one.sides for one in found), strict=True):
        measured = [side for side in sides if side.held is not None]
        off = [abs(expm1(side.error)) for side in measured if side.error is not None]
        if measured:
            held = f"{sum(side.held is True for side in measured)} of {len(measured)} bands hold what was measured"
            yield f"{sides[0].metric.label}: {held}" + (f"; median error {uncertainty_text(median(off))} %" if off else "")
    early, other = sum(one.earlier_count for one in found), sum(one.memory_count for one in found)
    if not early and not other and all(one.held is None for one in found):
        yield "nothing was measured that is like a pledged prediction: hardware, redundancy, clients and bytes must be the same"
    if unmeasured := sorted({grade for one in found for grade in one.grades if grade in UNMETERED}):
        powered = " and ".join(side.metric.label for side in found[0].sides[1:])  # all but throughput
        yield f"{powered} of the trials are {listed(unmeasured)}: they rest on values of hardware, as the predictions do"
    if early:
        yield f"{early} trials had begun before the pledge and are left out: they prove nothing"
    if other:
        yield (
            f"{other} trials are left out because their servers have other memory than was pledged: predict with --virtual for "
            "virtual hosts without memory_cap, and without it for others"
        )
