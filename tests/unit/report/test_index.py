"""The page over many campaigns."""

import json
import re
from types import SimpleNamespace
from typing import Any, cast

from perjoule.model import Cell, Interval
from perjoule.model.units import MIB
from perjoule.report.index import IndexEntry, index
from perjoule.views.content import Content


def cell(filesystem: str, *values_mib: float) -> Cell:
    values = tuple(value * MIB for value in values_mib)
    interval = Interval(sum(values) / len(values), 0.9 * min(values), 1.1 * max(values), values)
    return Cell(filesystem, "fio", "write", 1, {"throughput_bytes_per_s": interval})


def entry(name: str, *cells: Cell) -> IndexEntry:
    return IndexEntry(name, cast("Content", SimpleNamespace(cells=cells, records=())), f"{name}/report.html")


def test_the_best_of_a_campaign_is_drawn_as_its_row_prints_it() -> None:
    """Of repetitions with two modes a median, here above another row's mean, although its mean is below."""
    apart, steady = cell("apart", 90, 90.01, 90.02, 90.03, 10), cell("steady", 80, 80, 80.01)
    page = index("all", [entry("two-modes", steady, apart), entry("even", steady)])
    figure = throughput(page)
    rows = {row["row"]: row for row in figure["data"]["values"]}
    assert rows["two-modes"]["of"] == "apart, write, 1 client"
    ends = [round(rows["two-modes"][end], 3) for end in ("centre", "low", "high")]
    assert ends == [90.01, 10, 90.03]
    assert rows["even"]["of"] == "steady, write, 1 client"
    assert [round(rows["even"][end], 3) for end in ("low", "high")] == [72, 88.011]
    assert "median and range" in " ".join(figure["title"]["subtitle"])
    assert "90 (10\N{EN DASH}90)" in page
    assert "median" not in " ".join(throughput(index("one", [entry("even", steady)]))["title"]["subtitle"])


def throughput(page: str) -> dict[str, Any]:
    data = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert data
    return json.loads(data[1])["figures"]["throughput"]
