"""Tables for narrow terminals: whatever the width, every number is whole and every column is accounted for."""

import random
import re

import pytest
from rich.cells import cell_len

from perjoule.cli.terminal.tables import TableLines, laid_out, wrapped_at_words
from perjoule.results.table import Table

HEADERS = ("file system", "redundancy", "direction", "clients", "MiB/s", "max", "MiB/J", "burst MiB/J", "n")
SPARE = ("max", "burst MiB/J", "redundancy")
ROWS = (
    ("GlusterFS", "4+1", "read", "1", "110.38 ± 0.02", "110.4", "2.52 ± 0.11", "–", "3 !"),
    ("MooseFS", "1 copy", "read", "1", "9.6 ± 3.0", "10.6", "0.247 ± 0.014", "–", "3"),
    (
        "CephFS on a mirror of disks",
        "2 copies",
        "write",
        "1",
        "222 (218–419)",
        "419",
        "5.05 (5.0–9.0)",
        "1.87",
        "8",
    ),
)
TABLE = Table(HEADERS, ROWS)


def printed(layout: TableLines) -> str:
    return "\n".join((*layout.headers, *layout.rows))


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100, 120, 200, 1000])
def test_no_number_is_cut_and_no_column_is_lost_at_any_width(width: int) -> None:
    layout = laid_out(TABLE, width, SPARE)
    text = printed(layout)
    assert all(cell_len(line) <= width for line in text.splitlines())
    common = [header for header in HEADERS if f"{header} " in layout.common]
    for index, header in enumerate(HEADERS):
        if header in layout.hidden:
            assert header in SPARE
        elif header in common:
            assert len({row[index] for row in ROWS}) == 1
        else:
            assert all(word in text for word in header.split())
            words = header in TABLE.words
            pieces = [row[index].split() if words else re.split(r" (?=[±(])", row[index]) for row in ROWS]
            assert all(piece in text for several in pieces for piece in several)


def test_columns_are_left_out_in_their_order_and_only_as_many_as_needed() -> None:
    widths = range(60, 140)
    hidden = [laid_out(TABLE, width, SPARE).hidden for width in widths]
    assert set(hidden) == {(), SPARE[:1], SPARE[:2], SPARE}
    assert hidden == sorted(hidden, key=len, reverse=True)


def test_what_is_the_same_in_all_rows_is_said_once_where_there_is_no_room() -> None:
    assert laid_out(TABLE, 1000, SPARE).common == ""
    assert laid_out(TABLE, 90, SPARE).common == "clients 1"
    alone = Table(HEADERS, ROWS[:1])
    assert laid_out(alone, 60, SPARE).common == ""  # in one row that says nothing


def test_numbers_are_aligned_at_the_decimal_point_of_the_first_number_of_a_cell() -> None:
    rates = ("110.38 ± 0.02", "9.6 ± 3.0", "222 (218–419)", "–")
    layout = laid_out(Table(("MiB/s",), tuple((rate,) for rate in rates)), 80)
    ones = {match.start() for line in layout.rows for match in [re.search(r"\d(?!\d)|–", line)] if match}
    assert len(ones) == 1, layout.rows


def test_the_thousands_of_a_number_are_aligned_with_those_of_others() -> None:
    layout = laid_out(Table(("USD",), (("980",), ("1 060",), ("13 400",))), 80)
    assert [*layout.headers, *layout.rows] == ["   USD", "   980", " 1 060", "13 400"]


def test_a_range_stands_below_its_number_before_a_column_goes_or_rows_become_records() -> None:
    rows = (
        ("CephFS", "74.3 ± 6.6", "66.76", "4"),
        ("GlusterFS", "120.2 (100.9–121.6) ± 0.48", "53.99", "8 !!"),
    )
    layout = laid_out(Table(("file system", "MiB/s", "% TPP", "n"), rows), 40)
    assert layout == TableLines(
        ("file system          MiB/s  % TPP     n",),
        (
            ("CephFS          74.3 ± 6.6  66.76  4",),
            (
                "GlusterFS      120.2        53.99  8 !!",
                "             (100.9–121.6)",
                "                    ± 0.48",
            ),
        ),
    )


def test_a_table_that_can_t_fit_becomes_records_with_all_columns() -> None:
    layout = laid_out(TABLE, 34, SPARE)
    assert (layout.headers, layout.hidden, layout.common) == ((), (), "")
    assert layout.rows[: len(HEADERS)] == (
        "file system  GlusterFS",
        "redundancy   4+1",
        "direction    read",
        "clients      1",
        "MiB/s        110.38 ± 0.02",
        "max          110.4",
        "MiB/J        2.52 ± 0.11",
        "burst MiB/J  –",
        "n            3 !",
    )
    assert layout.rows[len(HEADERS)] == ""
    assert "file system  CephFS on a mirror of" in layout.rows
    assert "             disks" in layout.rows


def test_words_are_wrapped_only_at_spaces_and_to_the_width_that_is_there() -> None:
    words = "the servers' disks read more than the one byte per user byte that redundancy explains"
    table = Table(("W", "doubt"), (("12.5", words), ("7", "none")), ("doubt",))
    for width in (30, 50, 70):
        layout = laid_out(table, width)
        assert max(map(len, layout.rows)) <= width
        assert re.sub(r"\s+", " ", " ".join(line[6:] for line in layout.rows[:-1])) == words


def test_a_number_of_thousands_or_per_cent_is_not_broken() -> None:
    text = "6 400 (5 750 to 7 180) kWh in 5 years, now 1 080 USD, in 94 % of the draws"
    for width in range(12, 60):
        lines = wrapped_at_words(text, width, "  ")
        assert " ".join(line.strip() for line in lines) == text
        assert not any(re.match(r"\s*(\d{3}\b|%)", line) for line in lines)
    table = Table(("W", "cost"), (("1", text),), ("cost",))
    assert not any(re.match(r"\s*\d{3}\b", line) for line in laid_out(table, 24).rows)


def test_random_tables_at_random_widths() -> None:
    """The limits above, for tables that nobody thought of."""
    chance = random.Random(7)
    for _ in range(300):
        count = chance.randint(1, 9)
        headers = tuple(f"{chance.choice(['of a', 'MiB', 'x' * 12])} h{index}" for index in range(count))
        words = {header for header in headers if chance.random() < 0.4}
        cells = ("–", "1", "1234.5 ± 0.25", "0.001", "a few words here", "")
        rows = tuple(tuple(chance.choice(cells) for _ in headers) for _ in range(chance.randint(1, 5)))
        spare = [header for header in headers if chance.random() < 0.3]
        width = chance.randint(34, 120)
        layout = laid_out(Table(headers, rows, words), width, spare)
        assert max(map(cell_len, (*layout.headers, *layout.rows))) <= width
        text = printed(layout)
        for index, header in enumerate(headers):
            shown = text + layout.common + "".join(layout.hidden)
            assert header.split()[-1] in shown
            if header not in layout.hidden and header not in words and f"{header} " not in layout.common:
                assert all(part in text for row in rows for part in re.split(r" (?=±)", row[index]))
