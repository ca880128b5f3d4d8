"""Rows of printed numbers beside ours."""

from dataclasses import replace

from perjoule.model import Cell, Spec
from perjoule.papers import published
from perjoule.papers.comparison import held
from perjoule.papers.facts import beside, measured
from perjoule.results.paper_comparison import alongside_table
from perjoule.statistics.intervals import interval


def test_power_of_a_whole_benchmark_has_no_direction(made):
    metrics = {
        "whole_w": interval([170.0, 171.0]),
        "whole_lowest_w": interval([149.0, 148.5]),
        "throughput_bytes_per_s": interval([1.1e8, 1.2e8]),
    }
    cells = [Cell("Ceph", "rados bench", "write", 5, metrics, grade="modelled")]
    trial = replace(
        made.trial(), filesystem=Spec("rados", {}, "Ceph"), workload=Spec("rados", {}, "rados bench")
    )
    paper, records = published.paper("cubieboard"), [made.record(trial, cluster="cubieboard2")]
    table = alongside_table(held(paper, beside(paper, measured(records, cells)), records, cells))
    rows = [dict(zip(table.headers, row, strict=True)) for row in table.rows]
    of = {row["published"]: row for row in rows if row["number"].startswith("Table")}
    assert of["170.8 ± 0.2 ± 1.4 W"]["direction"] == "–"
    assert of["115.67 ± 0.76 MB/s"]["direction"] == "write"
    least = of["148.7 ± 1.4 W"]
    assert (least["here"], least["compared"]) == ("148.5 W", "minimum of 2")
