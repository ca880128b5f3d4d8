"""Only file systems that differ in their age alone are compared as aged and new."""

from typing import Any

from perjoule.model import Cell, Spec, Trial
from perjoule.statistics.intervals import interval
from perjoule.views.life.ageing import wear_table

AGED = {"aged": {"full": "50 %"}}


def wear(made: Any, *labels: tuple[str, int, dict[str, Any]]) -> list[tuple[str, str]]:
    """File system and verdict of each row, of cells whose rates differ, by label, storage hosts and
    options.
    """
    work = Spec("fio", {}, "fio write")
    trials = [
        Trial(Spec("virtual", {}, "virtual"), Spec("moosefs", options, label), work, (), 4, 1)
        for label, _, options in labels
    ]
    cells = [
        Cell(
            label,
            "fio write",
            "write",
            4,
            {"throughput_bytes_per_s": interval([rate, rate + 1.0])},
            servers_count=servers,
        )
        for rate, (label, servers, _) in zip((100.0, 200.0, 50.0), labels, strict=False)
    ]
    laid = wear_table([made.record(trial) for trial in trials], cells)
    return [(row[0], row[-1].partition(" than ")[2]) for row in laid.rows]


def test_file_systems_that_differ_in_their_storage_hosts_alone_are_no_pair(made: Any) -> None:
    assert wear(made, ("MooseFS, 3 servers", 3, {}), ("MooseFS, 4 servers", 4, {})) == []


def test_an_aged_one_is_compared_with_the_new_one_on_as_many_storage_hosts(made: Any) -> None:
    rows = wear(
        made,
        ("MooseFS, 3 servers", 3, {}),
        ("MooseFS, 4 servers", 4, {}),
        ("MooseFS, 4 servers, aged", 4, AGED),
    )
    assert rows == [("MooseFS, 4 servers, aged", "MooseFS, 4 servers")]
