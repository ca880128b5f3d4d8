"""CSV logs with several rows a moment, of outlets, phases and GPUs; numbers with separators and units;
encodings.
"""

import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from perjoule.importing.power import logs
from perjoule.meters.csv import Csv
from perjoule.meters.csv.moments import LogSample
from perjoule.meters.csv.rows import number
from perjoule.model import Clock
from perjoule.model.errors import PerjouleError
from typed import present

WINDOW = {"semantics": "window mean", "window": "1 s"}


def samples(text: str, **options: Any) -> list[LogSample]:
    declared: dict[str, Any] = {
        "value": "P",
        "unit": "W",
        "semantics": "instantaneous",
        "grade": "PDU",
        "clock": "monotonic",
        **options,
    }
    return list(Csv(path=Path("log.csv"), **declared).samples(text, Clock(0.0, 0.0)))


def watts(text: str, **options: Any) -> list[float]:
    return [one.value for one in samples(text, **options)]


def table(head: str, *rows: str, moments: int = 12, apart: float = 0.0) -> str:
    """A log with these rows at each moment; `apart` delays each after the one before."""
    lines = [f"{t + n * apart},{row}" for t in range(moments) for n, row in enumerate(rows)]
    return "\n".join([f"time,{head}", *lines]) + "\n"


OUTLETS = ("1,200", "2,50", "3,30", "4,20")


@pytest.mark.parametrize(
    ("head", "rows", "column"),
    [
        ("Outlet,P", OUTLETS, "Outlet"),
        ("phase,P", ("L1,100", "L2,100", "L3,100"), "phase"),  # equal but for the phase
        ("x,P", ("a,100", "b,120"), "x"),
        ("x,P", ("7,100", "8,120"), "x"),
        ("index,uuid,P", ("0,GPU-a,70", "1,GPU-b,80"), "index"),
        ("metric_id,device_id,P", ("wattmetre,node-1,70", "wattmetre,node-2,80"), "device_id"),
        ("socket,P", ("0,60", "1,60"), "socket"),
    ],
)
@pytest.mark.parametrize("apart", [0.0, 0.1])
def test_rows_of_several_things_are_refused_by_the_column_that_tells_them_apart(
    head: str, rows: tuple[str, ...], column: str, apart: float
) -> None:
    if apart and head == "x,P" and rows[0][0].isdigit():
        return  # numbers that come again may be measurements
    with pytest.raises(PerjouleError, match=f'several things: column "{column}" has .*by = "{column}"'):
        samples(table(head, *rows, moments=60, apart=apart))


def test_entities_that_report_at_any_time_are_refused() -> None:
    rows = [f"{t},sensor.{'pump' if t % 7 == 3 else 'server'}_power,{t}" for t in range(40)]
    with pytest.raises(PerjouleError, match='column "entity_id" has'):
        samples("\n".join(["time,entity_id,P", *rows]))


@pytest.mark.parametrize("column", ["phase", "Label"])
def test_a_name_that_comes_again_after_many_rows_is_that_of_a_phase(column: str) -> None:
    rows = [f"{t},{'load' if 20 <= t < 60 else 'idle'},{t}" for t in range(80)]
    assert len(samples("\n".join([f"time,{column},P", *rows]))) == 80


def test_rows_are_added_or_chosen_by_a_column() -> None:
    text = table("Outlet,P", *OUTLETS, moments=3)
    assert watts(text, by="Outlet") == [300, 300, 300]
    assert watts(text, by="Outlet", only=["2"]) == [50, 50, 50]
    assert watts(text, by="Outlet", only=["1", "3"]) == [230, 230, 230]


def test_a_moment_that_lacks_a_row_is_a_gap() -> None:
    lines = table("Outlet,P", *OUTLETS, moments=3).splitlines()
    del lines[6]
    first, second, third = watts("\n".join(lines), by="Outlet")
    assert (first, third, math.isnan(second)) == (300, 300, True)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (table("o,P", "a,1", "b,2", apart=0.1), {"by": "o"}, '"b", which is not at the first moment'),
        (
            table("o,P", "a,1", "b,2", apart=0.1),
            {"by": "o", "only": ["a", "b"]},
            "no moment has rows of all of a, b",
        ),
        (table("o,P", "a,1", "b,2", "a,3"), {"by": "o"}, '"a" in column "o" has two values at one moment'),
        (table("o,P", "a,1"), {"by": "outlet"}, "no line has the columns time, P, outlet"),
    ],
)
def test_sums_that_can_t_be_made_are_refused(text: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(PerjouleError, match=said):
        samples(text, **options)


def test_equal_rows_at_every_moment_are_not_lines_written_twice() -> None:
    with pytest.raises(PerjouleError, match="most moments have several equal rows"):
        samples(table("P", "100", "100", "100"))
    assert watts("time,P\n0,1\n0,1\n1,2\n2,3\n3,4\n4,5\n") == [1, 2, 3, 4, 5]


def bursts(*watts: float, count: int = 12, apart_s: float = 0.002, noise_w: float = 0.0) -> str:
    """A log of rows that follow each other every second, in the order of these watts."""
    rows = [
        f"{second + place * apart_s},{power_w + noise_w * (-1) ** (second * place)}"
        for second in range(count)
        for place, power_w in enumerate(watts)
    ]
    return "\n".join(["time,P", *rows])


def test_rows_that_come_in_bursts_in_the_same_order_of_watts_are_of_several_things() -> None:
    with pytest.raises(PerjouleError, match="come in bursts of 2, each with the same order of watts"):
        samples(bursts(105.0, 98.0))
    with pytest.raises(PerjouleError, match="bursts of 4"):
        samples(bursts(50.0, 50.0, 50.0, 300.0))
    assert len(samples(bursts(105.0, 98.0, count=9))) == 18  # by chance
    assert len(samples(bursts(105.0, 105.0))) == 24
    assert len(samples(bursts(105.0, 105.0, noise_w=3.0))) == 24
    assert len(samples(bursts(105.0, 104.0, apart_s=0.5))) == 24  # evenly apart
    assert len(samples(bursts(98.0, 105.0, apart_s=0.0))) == 24  # of coarse stamps
    assert len(samples(bursts(1.0, 2.0), unit="J", semantics="counter")) == 24


def noisy(*levels_w: float, count: int = 60, noise_w: float = 1.0) -> list[float]:
    """Readings of meters in turns, each with noise that has no period."""
    return [
        round(levels_w[place % len(levels_w)] + noise_w * ((place * place + 3 * place) % 17 / 8 - 1), 2)
        for place in range(count)
    ]


def every_second(readings_w: Sequence[float]) -> str:
    return "\n".join(["time,P", *(f"{second},{power_w}" for second, power_w in enumerate(readings_w))])


@pytest.mark.parametrize(
    ("readings_w", "meters_count"),
    [
        (noisy(50, 200), 2),
        (noisy(50, 200, count=20), 2),
        (noisy(190, 200), 2),
        (noisy(50, 200) + noisy(250, 400), 2),  # under load
        (noisy(50, 200) + noisy(200, 50), 2),  # a row is missing
        (noisy(50, 200, 120), 3),
        (noisy(50, 200, 120, 80), 4),
    ],
)
def test_rows_of_several_meters_in_turns_are_refused(readings_w: list[float], meters_count: int) -> None:
    with pytest.raises(PerjouleError, match=f"come in turns, .* {meters_count} meters"):
        samples(every_second(readings_w))


@pytest.mark.parametrize(
    "readings_w",
    [
        noisy(200),
        noisy(200, noise_w=100),
        noisy(200, 202),  # a difference within what a level has
        noisy(50, 200, count=19),  # too few
        noisy(50, 50, 50, 200, 200, 200),  # a load that goes on and off
        noisy(50, 50, 200, 200),
        noisy(50, 50, 200),
        noisy(*range(50, 650, 10)),  # a ramp
        [100.0, 100.1] * 30,  # between two steps of a meter
    ],
)
def test_readings_of_one_meter_are_not_taken_for_several_in_turns(readings_w: list[float]) -> None:
    assert len(samples(every_second(readings_w))) == len(readings_w)


def test_rows_of_one_stamp_in_the_same_order_of_watts_are_of_several_things() -> None:
    with pytest.raises(PerjouleError, match="bursts of 2, each with the same order of watts"):
        samples(table("P", "200", "270", moments=40))
    noise = [f"{t},{200 + (7 * t + 5 * n) % 11}" for t in range(40) for n in range(2)]
    assert len(samples("\n".join(["time,P", *noise]))) > 70  # one thing, read more often than stamps tell
    assert len(samples(table("P", "200", "202", moments=40))) == 80


def test_windows_of_one_moment_that_overlap_are_refused() -> None:
    with pytest.raises(PerjouleError, match="moments have 4 rows, whose windows of 1 s overlap"):
        samples(table("P", "200", "50", "30", "20"), **WINDOW)
    # stamps are coarse
    assert len(samples(table("P", "1", "2", "3", "4"), semantics="window mean", window="250 ms")) == 48


@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("I,P", "{v},{v}"),
        ("state,P", "OK,{v}"),
        ("id,P", "{t},{v}"),
        ("range,P", "{r},{v}"),
        ("Hz,P", "{h},{v}"),
    ],
)
def test_columns_of_measurements_and_states_tell_nothing_apart(head: str, row: str) -> None:
    rows = [
        f"{t},{row.format(t=t, v=200 + t % 5, r='600 W' if t < 50 else '1200 W', h=50 + t % 3 / 10)}"
        for t in range(100)
    ]
    assert len(samples("\n".join([f"time,{head}", *rows]))) == 100


@pytest.mark.parametrize(
    ("text", "options", "value"),
    [
        ("1,900.0", {}, 1900.0),
        ("1,234,567", {}, 1234567.0),
        ("1'234.5", {}, 1234.5),
        ("1 234.5", {}, 1234.5),
        ("1\u202f234,5", {"decimal": ","}, 1234.5),
        ("1.234,5", {"decimal": ","}, 1234.5),
        ("1,234", {"thousands": ","}, 1234.0),
        ("1.234", {"decimal": ",", "thousands": "."}, 1234.0),
        ("\u22125.5", {}, -5.5),
        ("1.234", {}, 1.234),
    ],
)
def test_separators_of_thousands(text: str, options: dict[str, str], value: float) -> None:
    assert number(text, **options) == pytest.approx(value)


@pytest.mark.parametrize(("text", "decimal"), [("1,234", "."), ("1.234", ",")])
def test_a_separator_that_may_be_either_is_refused(text: str, decimal: str) -> None:
    with pytest.raises(ValueError, match=r"may have a decimal separator or one of thousands \(set decimal"):
        number(text, decimal)


@pytest.mark.parametrize(
    "cell", ["12.3.4", "12,34.5", "1,23,4.5", "200 *", "200 W (est)", "2.0D+02", "0xC8", '=""200""']
)
def test_a_cell_that_only_looks_like_a_number_is_refused_and_not_a_gap(cell: str) -> None:
    with pytest.raises(PerjouleError, match="is not a number"):
        samples(f'time,P\n1,5\n2,"{cell}"\n')


@pytest.mark.parametrize(
    "cell", ["[N/A]", "[Not Supported]", "unavailable", "OL", "#N/A", "", "E02", "-1.#IND"]
)
def test_a_cell_without_a_number_is_a_gap(cell: str) -> None:
    assert math.isnan(watts(f"time,P\n1,5\n2,{cell}\n3,6\n")[1])


def test_a_log_without_a_number_says_so(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("time,P\n1795953600,on\n1795953601,on\n")
    asked = ["value=P", "unit=W", "semantics=instantaneous", "grade=wall", "clock=unix"]
    with pytest.raises(PerjouleError, match='no row has a number in column "P"'):
        logs(path, asked, (), "UTC")


def test_a_unit_in_the_cell_counts() -> None:
    assert watts("time,P\n1,200.0 W\n2,1.05 kW\n3,950W\n4,5\n") == [200.0, 1050.0, 950.0, 5.0]
    assert watts("time,P\n1,2 Wh\n", unit="kWh", semantics="counter") == [7200.0]
    powers_w = watts("time,P\n1,200 Watts\n2,1.05 KW\n3,950 milliwatts\n4,5 \u00b5W\n")
    assert powers_w == pytest.approx([200.0, 1050.0, 0.95, 5e-6])


@pytest.mark.parametrize("cell", ["200 VA", "5 kWh", "20 C", "3 A"])
def test_a_unit_of_something_else_is_refused(cell: str) -> None:
    with pytest.raises(PerjouleError, match=r'a number is in .*unit is "W"'):
        samples(f"time,P\n1,{cell}\n")


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8-sig", ""),
        ("utf-16", ""),
        ("utf-16-le", ""),
        ("latin-1", "latin-1"),
        ("cp1252", "cp1252"),
        ("utf-8", "latin-1"),
    ],
)
def test_import_reads_a_log_in_its_encoding(encoding: str, declared: str, tmp_path: Path) -> None:
    column = "Leistung Gerät" if encoding != "utf-8" else "Leistung"
    path = tmp_path / "p.csv"
    path.write_bytes(f"Time,{column}\n2026-11-27 12:00:00,200\n2026-11-27 12:00:01,210\n".encode(encoding))
    asked = ["time=Time", f"value={column}", "unit=W", "semantics=instantaneous", "grade=wall", "zone=UTC"]
    (log,) = logs(path, [*asked, *([f"encoding={declared}"] if declared else [])], (), "UTC")
    assert list(log.series[0].value) == [200.0, 210.0]


def test_a_wrong_encoding_is_suspected_where_columns_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes("Time,Gerät\n2026-11-27 12:00:00,200\n".encode("latin-1"))
    asked = ["time=Time", "value=Gerät", "unit=W", "semantics=instantaneous", "grade=wall", "zone=UTC"]
    with pytest.raises(PerjouleError, match="set encoding"):
        logs(path, asked, (), "UTC")


LONG = [f"{1_795_000_000 + row / 10:.1f},{100 + row % 7}.5,{row}" for row in range(30_000)]


@pytest.mark.parametrize(("clock", "zone"), [("unix", ""), ("date", "UTC"), ("date", "Europe/Berlin")])
def test_a_long_plain_log_is_read_at_once_and_as_row_by_row(clock: str, zone: str, tmp_path: Path) -> None:
    rows = LONG
    if clock == "date":
        moments = (datetime.fromtimestamp(float(row.split(",")[0]), ZoneInfo(zone)) for row in LONG)
        rows = [
            f"{t:%Y-%m-%d %H:%M:%S.%f}{row[row.index(',') :]}" for t, row in zip(moments, LONG, strict=True)
        ]
    content = "\n".join(["time,P,n", *rows, ""]).encode()
    of_clock: dict[str, Any] = {"clock": clock, "zone": zone}
    meter = Csv(
        path=Path("log.csv"), value="P", unit="kW", semantics="instantaneous", grade="PDU", **of_clock
    )
    t_s, watts = present(meter.plain(content))
    slow = list(meter.samples(content.decode(), Clock(0.0, 0.0)))
    assert list(t_s) == pytest.approx([one.t_s for one in slow], abs=1e-6)
    assert list(watts) == [one.value for one in slow]


@pytest.mark.parametrize(
    "row",
    [
        "1795003000.1,n/a,1",
        "1795003000.1,,1",
        '1795003000.1,"1,234.5",1',
        "1795002999.9,5,1",
        "1795000000,5,1",
        "x,5,1",
        "1795003000.1",
    ],
)
def test_a_long_log_that_is_not_plain_is_read_row_by_row(row: str) -> None:
    content = "\n".join(["time,P,n", *LONG, row, ""]).encode()
    meter = Csv(
        path=Path("log.csv"), value="P", unit="W", semantics="instantaneous", grade="PDU", clock="unix"
    )
    assert meter.plain(content) is None


def test_a_long_log_of_several_things_is_refused_as_a_short_one() -> None:
    rows = [f"{1_795_000_000 + row / 10:.1f},{100 + row % 7}.5,outlet-{row % 4}" for row in range(30_000)]
    meter = Csv(
        path=Path("log.csv"), value="P", unit="W", semantics="instantaneous", grade="PDU", clock="unix"
    )
    with pytest.raises(PerjouleError, match='column "n" has outlet-0'):
        meter.plain("\n".join(["time,P,n", *rows, ""]).encode())


def log_of(*names: str, watts: Sequence[tuple[float, ...]]) -> str:
    rows = [
        f"{t},{name},{w:g}" for t, moment in enumerate(watts) for name, w in zip(names, moment, strict=True)
    ]
    return "\n".join(["time,psu,P", *rows]) + "\n"


# two supplies of a shelf (171 and 189 W in NetApp Harvest #4116), with the fans between them and the load
SUPPLIES = [(171 + w, 189 + w // 2) for w in (0, 1, 0, 14, 22, 31, 29, 30, 12, 4, 0, 1, 2)]


def test_a_row_that_is_the_sum_of_the_others_is_not_added_to_them():
    """A PDU's export that lists its inlet beside the outlets: 360 W were shown as 720 W."""
    inlet = [(a, b, a + b) for a, b in SUPPLIES]
    text = log_of("1", "2", "total", watts=inlet)
    with pytest.raises(
        PerjouleError, match=r'"total" in column "psu" is the sum of the others.*only = \["total"\]'
    ):
        watts(text, by="psu")
    assert watts(text, by="psu", only=["total"]) == [a + b for a, b in SUPPLIES]
    assert watts(text, by="psu", only=["1", "2"]) == [a + b for a, b in SUPPLIES]
    assert watts(text, by="psu", only=["1", "2", "total"])[0] == 720  # whoever names all means all
    rounded = [(round(a * 1.013), round(b * 1.013), round((a + b) * 1.013)) for a, b in SUPPLIES]
    with pytest.raises(PerjouleError, match="is the sum of the others"):
        watts(log_of("a", "b", "inlet", watts=rounded), by="psu")


def test_rows_that_are_no_sum_are_added():
    assert watts(log_of("1", "2", watts=SUPPLIES), by="psu")[0] == 360
    twins = [(a, a) for a, _ in SUPPLIES]
    assert watts(log_of("1", "2", watts=twins), by="psu")[0] == 342
    three = [(a, b, a + b + 9 * (t % 3)) for t, (a, b) in enumerate(SUPPLIES)]
    assert watts(log_of("1", "2", "3", watts=three), by="psu")[0] == 720
    assert (
        watts(log_of("1", "2", "3", watts=[(5.0, 5.0, 10.0)] * 20), by="psu") == [20.0] * 20
    )  # nothing moves


@pytest.mark.parametrize(
    "total",
    [
        "-",
        "Total",
        "inlet",
        "Inlet 1",
        "PDU total",
        "total_w",
        "Gesamt",
        "Gesamtleistung",
        "Summe",
        "Totale",
        "Suma",
        "Sum of outlets",
        "All outlets",
        "\u5408\u8a08",
        "\u603b\u8ba1",
        "\u0418\u0442\u043e\u0433\u043e",
    ],
)
def test_a_row_whose_name_is_that_of_a_sum_is_not_added(total: str):
    """turbostat's row of all packages beside that of the only one, and an inlet with its losses."""
    lossy = [(a, 1.02 * a) for a, _ in SUPPLIES]
    text = log_of("0", total, watts=lossy)
    with pytest.raises(PerjouleError, match="is the sum of the others by its name"):
        watts(text, by="psu")
    assert watts(text, by="psu", only=["0"]) == [a for a, _ in SUPPLIES]
    assert watts(text, by="psu", only=[total, "0"])[0] == pytest.approx(2.02 * 171)
    assert watts(log_of(total, watts=[(a,) for a, _ in SUPPLIES]), by="psu")[0] == 171


def test_totals_of_several_racks_are_added():
    assert watts(log_of("rack 1 total", "rack 2 total", watts=SUPPLIES), by="psu")[0] == 360
    assert watts(log_of("allflash-1", "summit", watts=SUPPLIES), by="psu")[0] == 360
