"""How many low-power machines replace a server, of the results of one campaign or of several."""

from collections.abc import Sequence

from perjoule.model import Replacement
from perjoule.model.format import span_text
from perjoule.results.table import NAMES, Table
from perjoule.statistics import replacement
from perjoule.store import Results
from perjoule.summary import summary


def replacements(several: Sequence[Results]) -> tuple[Replacement, ...]:
    """Compare the machines of results folders: how many of one replace another."""
    cells = [pair for results in several for pair in replacement.machines(results.latest(), summary(results).cells)]
    return replacement.replacements(cells)


def replacement_table(found: Sequence[Replacement]) -> Table:
    """Lay out how many low-power machines replace a server, in fractions and whole, and their relative power."""
    rows = tuple(
        (
            one.server,
            one.low_power,
            one.workload,
            one.direction,
            span_text(one.machines_ratio),
            span_text(one.power_ratio),
            str(one.machines_count),
            span_text(one.whole_power_ratio),
            one.verdict,
        )
        for one in found
    )
    headers = ("replaced server", "machine", "workload", "direction", "machines", "power / server's")
    return Table((*headers, "whole machines", "power / server's", "verdict"), rows, (*NAMES, *headers[:2], "verdict"))
