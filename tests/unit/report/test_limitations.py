"""Doubts are grouped by what they can cost, each told once with the rows it touches."""

import pytest

from perjoule.model import Cell
from perjoule.report.limitations import KINDS, kind_of, limitations


def cell(filesystem: str, clients: int, *doubts: str) -> Cell:
    return Cell(filesystem, "fio read", "read", clients, {}, doubts=doubts)


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("client-1 moved 1.32 times what its network can carry: a cache served the read", "Caches and physical bounds"),
        ("write: 1.31 times the theoretical peak performance of the cluster", "Caches and physical bounds"),
        ("still busy 30 s after the load, gave up waiting: storage-1 writes", "Data still in flight"),
        (
            "other programs took 20 % of this machine's CPUs during the load",
            "The machine as the limit",
        ),
        (
            "storage-2 was slower than the other data hosts (reading from its disks took it 6.8 s, the others 1.7 s): check its "
            "disks, CPU and network",
            "One host as the limit",
        ),
        ("system: 3 of 15 samples left out, the host was too slow or too busy", "Energy missing or uncertain"),
        ("plug: undersampled, one sample in 2 s misses bursts shorter than 6 s", "Energy missing or uncertain"),
        ("repetitions have power of different grades (BMC, wall)", "Energy missing or uncertain"),
        ("clients started 0.4 s apart, the shortest ran 1.2 s", "Clients that did not run as one"),
        ("MiB/J drifts by -12.8% from the first trial to the last (-19.8% to -5.3%, p = 0.003)", "Change over the campaign"),
        ("not every repetition has tail J", "Few or unequal repetitions"),
        ("the moon was full", "Other"),
    ],
)
def test_a_doubt_has_the_kind_of_its_consequence(words: str, title: str) -> None:
    assert kind_of(words).title == title


def test_kinds_stand_in_the_order_of_what_they_can_cost_and_lines_in_that_of_their_rows() -> None:
    cells = [
        cell("a", 1, "not every repetition has tail J", "write: 1.31 times the theoretical peak performance of the cluster"),
        cell("a", 2, "plug: 12.0% of the window has no samples", "the counter stepped in the window"),
        cell("b", 2, "the counter stepped in the window"),
    ]
    found = limitations(cells, ())
    assert [group.kind.title for group in found] == [KINDS[0].title, "Energy missing or uncertain", "Few or unequal repetitions"]
    assert [line.rows for line in found[1].lines] == ["a, fio read, 2 clients; b, fio read, 2 clients", "a, fio read, 2 clients"]


def test_doubts_that_differ_only_in_numbers_or_meter_are_one_line_and_none_is_lost() -> None:
    one, other = (f"{meter}: {count} of 15 samples left out" for meter, count in (("system", 1), ("modelled", 3)))
    cells = [cell("a", 1, one, other), cell("a", 2, one), cell("a", 4)]
    ((line,),) = (group.lines for group in limitations(cells, ()))
    assert (line.text, line.rows, line.others) == (one, "a, fio read, 1 and 2 clients", (other,))


def test_a_doubt_of_the_campaign_or_of_every_row_says_so() -> None:
    cells = [cell("a", 1, "the counter stepped"), cell("b", 1, "the counter stepped")]
    groups = limitations(cells, ("MiB/s drifts by +5.0%",))
    assert [(group.lines[0].text, group.lines[0].rows) for group in groups] == [
        ("the counter stepped", "all rows"),
        ("MiB/s drifts by +5.0%", "the campaign"),
    ]


def test_of_many_rows_some_are_named_and_the_others_counted() -> None:
    cells = [cell(name, clients, "the counter stepped") for name in "abcdef" for clients in (1, 2)] + [cell("z", 1)]
    (group,) = limitations(cells, ())
    assert group.lines[0].rows.startswith("a, fio read, 1 and 2 clients; b, ")
    assert group.lines[0].rows.endswith("; and 4 more rows")


def test_without_a_doubt_there_is_no_group() -> None:
    assert limitations([cell("a", 1)], ()) == ()
