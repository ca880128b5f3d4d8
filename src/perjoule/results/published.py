"""Published clusters beside what is predicted of them, as a table."""

from collections.abc import Iterable, Iterator, Sequence

from perjoule.model.format import number, percent
from perjoule.model.metrics import THROUGHPUT, metric_of
from perjoule.prediction.elsewhere import band_factor, errors
from perjoule.prediction.published import Published
from perjoule.prediction.scores import published_score
from perjoule.results.table import Table

_RATE = metric_of(THROUGHPUT)
_HEADERS = ("paper", "cluster", "file system", "redundancy", "direction", "clients", "by")
_BASES = {
    "profile": "a profile that comes with perjoule; the range is its 90 % band, which knows the other clusters alone",
    "law": "the law of queues alone; a range is what the paper leaves open",
    "bytes": "the bytes of the servers' networks alone, from three copies on the same servers",
}


def published_table(published: Sequence[Published]) -> Table:
    """Lay out what papers print beside what is predicted."""
    rows = tuple(
        (
            *(row.paper, row.cluster, row.filesystem, row.redundancy, row.direction, row.clients, row.basis),
            "–" if row.value_bytes_per_s is None else _rate(row.value_bytes_per_s),
            "–"
            if row.range_bytes_per_s is None
            else f"{_rate(row.range_bytes_per_s[0])} to {_rate(row.range_bytes_per_s[1])}",
            _rate(row.printed_bytes_per_s),
            "–" if row.value_bytes_per_s is None else _error(row.value_bytes_per_s / row.printed_bytes_per_s),
            {None: "–", True: "yes", False: "no"}[row.held],
        )
        for row in published
    )
    headers = (*_HEADERS, f"predicted {_RATE.label}", "range", "printed", "error", "held")
    return Table(headers, rows, {*_HEADERS, "held"} - {"clients"})


def published_remarks(
    published: Sequence[Published], unpredicted: Iterable[tuple[str, str, str]]
) -> Iterator[str]:
    """Say what predictions rest on, and what can't be predicted."""
    used = {row.basis for row in published}
    yield _another_machine(published)
    yield "; ".join(f"{basis}: {explanation}" for basis, explanation in _BASES.items() if basis in used)
    for paper, system, why in unpredicted:
        yield f"not predicted: {paper}, {system}: {why}"
    yield "not scored: another host like those of the profiles; all their points were measured on one machine"


def _another_machine(published: Sequence[Published]) -> str:
    """Say what another machine adds to bands, and what they held without it."""
    score, of = published_score(published), errors()
    without = "" if score.emulated_held_ratio is None else f"{percent(score.emulated_held_ratio)} %"
    return (
        f"another machine than those emulated adds a factor of {number(band_factor())} to bands, by "
        f"{sum(map(len, of.values()))} numbers of {len(of)} clusters, each judged by the others; bands hold "
        f"{percent(score.held_ratio)} % of these numbers, without this level {without}"
    )


def _error(ratio: float) -> str:
    return f"{percent(ratio - 1, 1, sign=True)} %"


def _rate(bytes_per_s: float) -> str:
    return number(bytes_per_s / _RATE.unit.per)
