"""Published clusters beside what is predicted of them, as a table."""

from collections.abc import Iterable, Iterator, Sequence

from perjoule.model.format import number, percent
from perjoule.model.metrics import metric_of
from perjoule.prediction.published import Published
from perjoule.results.table import Table

_RATE = metric_of("throughput_bytes_per_s")
_HEADERS = ("paper", "cluster", "file system", "redundancy", "direction", "clients", "by")
_BASES = {
    "profile": "a profile that comes with perjoule; the range is its 90 % band",
    "law": "the law of queues alone; a range is what the paper leaves open",
    "bytes": "the bytes of the servers' networks alone, from three copies on the same servers",
}


def published_table(found: Sequence[Published]) -> Table:
    """Lay out what papers print beside what is predicted."""
    rows = tuple(
        (
            *(one.paper, one.cluster, one.filesystem, one.redundancy, one.direction, one.clients, one.basis),
            "–" if one.value_bytes_per_s is None else _rate(one.value_bytes_per_s),
            "–" if one.range_bytes_per_s is None else f"{_rate(one.range_bytes_per_s[0])} to {_rate(one.range_bytes_per_s[1])}",
            _rate(one.printed_bytes_per_s),
            "–" if one.value_bytes_per_s is None else _error(one.value_bytes_per_s / one.printed_bytes_per_s),
            {None: "–", True: "yes", False: "no"}[one.held],
        )
        for one in found
    )
    headers = (*_HEADERS, f"predicted {_RATE.label}", "range", "printed", "error", "held")
    return Table(headers, rows, {*_HEADERS, "held"} - {"clients"})


def published_remarks(found: Sequence[Published], unpredicted: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Say what predictions rest on, and what can't be predicted."""
    used = {one.basis for one in found}
    yield "; ".join(f"{basis}: {words}" for basis, words in _BASES.items() if basis in used)
    for paper, what, why in unpredicted:
        yield f"not predicted: {paper}, {what}: {why}"
    yield "not scored: another host like those of the profiles; all their points were measured on one machine"


def _error(ratio: float) -> str:
    return f"{percent(ratio - 1, 1, sign=True)} %"


def _rate(bytes_per_s: float) -> str:
    return number(bytes_per_s / _RATE.unit.per)
