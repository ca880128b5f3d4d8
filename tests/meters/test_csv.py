"""Logs: lines above the header, commas, hours that come twice or never, and files that grow while they are
read.
"""

import math
import os
import re
import threading
import time
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from perjoule import drivers
from perjoule.meters.csv import Csv, LogSample
from perjoule.meters.csv.rows import number
from perjoule.model import Clock
from perjoule.model.doubts import METERS
from perjoule.model.errors import PerjouleError
from perjoule.model.waveform import Waveform
from perjoule.simulators import csv as simulator
from places import TRANSCRIPTS
from typed import as_written, present

SAID = TRANSCRIPTS / "csv"
WAVE = Waveform("sine", 20.0, 80.0, 1.0)
COUNTED = {"unit": "mJ", "semantics": "counter"}
DECLARED = {"unit": "W", "semantics": "instantaneous", "grade": "wall", "value": "P"}
NOON = Clock(100.0, datetime(2026, 10, 25, 12, tzinfo=UTC).timestamp())


def samples(text: str, *, began_s: float = 0.0, **options: Any) -> list[LogSample]:
    return list(as_written(Csv, path="log.csv", **{**DECLARED, **options}).samples(text, NOON, began_s))


def test_an_export_of_an_lmg_is_read_as_it_is():
    lmg: dict[str, Any] = {
        "time": ["Date", "Time"],
        "value": "P1",
        "delimiter": ";",
        "decimal": ",",
        "zone": "UTC",
    }
    text = (SAID / "lmg450.csv").read_text()
    whole = (
        text.replace(",5;230", ",500000;230")
        .replace("00;230,1;1,0021", "00,0;230,1;1,0021")
        .replace("01;230,0", "01,0;230,0")
    )
    found = samples(whole, **lmg, semantics="window mean", window="500 ms", format="%d.%m.%Y %H:%M:%S,%f")
    assert [(s.t_s, s.duration_s) for s in found] == [(100.0, 0.5), (100.5, 0.5), (101.0, 0.5), (101.5, 0.5)]
    assert [s.value for s in found[:2]] == [225.8, 225.75]
    assert math.isnan(found[2].value)  # 9.91E+37


def test_an_export_of_a_yokogawa_is_read_as_it_is():
    wt: dict[str, Any] = {"time": ["Date", "Time"], "format": "%Y/%m/%d %H:%M:%S", "zone": "UTC"}
    found = samples((SAID / "wt310.csv").read_text(), value="P-1 [W]", **wt)
    assert [s.t_s for s in found] == [100.0, 101.0, 102.0]
    # -OL- is overload, not a power
    assert [s.value for s in found if not math.isnan(s.value)] == [225.8, 226.1]
    counted = samples(
        (SAID / "wt310.csv").read_text(), value="WP-1 [Wh]", unit="Wh", semantics="counter", **wt
    )
    assert counted[-1].value == pytest.approx(0.1255 * 3600)


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [("1.5", ".", 1.5), ("1,5", ",", 1.5), ("-3e2", ".", -300), (".5", ".", 0.5)],
)
def test_numbers(text, decimal, value):
    assert number(text, decimal) == value


@pytest.mark.parametrize("text", ["", "-", "NaN", "inf", "9.91E37", "9.9E+37", "-9.91E37"])
def test_what_instruments_write_for_no_number_is_none(text):
    assert math.isnan(present(number(text)))


@pytest.mark.parametrize("text", ["abc", "1_000", "0x10", "12 W", "1.2.3"])
def test_what_is_no_number_is_not_made_one(text):
    assert number(text) is None


def test_a_comma_is_not_guessed_at():
    with pytest.raises(PerjouleError, match=r"'12,5' has a comma, .*set decimal"):
        samples('time;P\n2026-10-25T12:00:00Z;"12,5"\n', delimiter=";")
    with pytest.raises(PerjouleError, match=r"'12\.5' has a point"):
        samples("time;P\n2026-10-25T12:00:00Z;12.5\n", delimiter=";", decimal=",")


@pytest.mark.parametrize(
    ("options", "text", "t_s"),
    [
        ({}, "2026-10-25T12:00:01Z", 101.0),
        ({}, "2026-10-25T13:00:01.5+01:00", 101.5),
        ({"zone": "Europe/Berlin"}, "2026-10-25 13:00:01", 101.0),
        ({"clock": "unix"}, str(NOON.utc_s + 2.25), 102.25),
        ({"clock": "monotonic"}, "123.5", 123.5),
        ({"clock": "beginning"}, "3", 53.0),
    ],
)
def test_times_are_put_on_the_records_clock(options, text, t_s):
    assert samples(f"time,P\n{text},5\n", began_s=50.0, **options)[0].t_s == pytest.approx(t_s)


@pytest.mark.parametrize(
    ("options", "text", "words"),
    [
        ({}, "2026-10-25 13:00:00", "no time zone"),
        ({"zone": "Europe/Berlin"}, "2026-10-25 02:30:00", "occurred twice in Europe/Berlin"),
        ({"zone": "Europe/Berlin"}, "2026-03-29 02:30:00", "never occurred in Europe/Berlin"),
        ({"zone": "UTC", "format": "%H:%M:%S"}, "12:00:00", "has no date"),
        ({"zone": "UTC", "format": "%d.%m.%Y"}, "2026-10-25", "does not match"),
    ],
)
def test_ambiguous_times_are_refused(options, text, words):
    with pytest.raises(PerjouleError, match=words):
        samples(f"time,P\n{text},5\n", **options)


def test_the_hour_that_comes_twice_can_be_recognised_by_the_order_of_the_rows():
    rows = ["01:59:00", "02:20:00", "02:40:00", "02:10:00", "02:30:00", "03:00:00"]
    text = "time,P\n" + "".join(f"2026-10-25 {row},5\n" for row in rows)
    found = samples(text, zone="Europe/Berlin", twice="in order")
    assert list(np.diff([s.t_s for s in found]) / 60) == [21, 20, 30, 20, 30]


def test_time_that_goes_back_is_refused_and_a_line_written_twice_is_one():
    with pytest.raises(PerjouleError, match="time goes back 1 s"):
        samples("time,P\n5,1\n4,1\n", clock="monotonic")
    assert len(samples("time,P\n5,1\n5,1\n6,1\n", clock="monotonic")) == 2


def test_a_line_that_is_not_csv_is_named_as_that():
    with pytest.raises(PerjouleError, match=r"log.csv: a line is not CSV \(new-line character seen"):
        samples("time,P\n5,1\r6,3\n", clock="monotonic")


def test_a_damaged_line_is_a_gap_and_a_header_again_is_none():
    found = samples("time,P\n5,1\nti5!\n6,x\ntime,P\n7,2\n", clock="monotonic")
    assert [(round(s.t_s, 9), str(s.value)) for s in found] == [
        (5.0, "1.0"),
        (5.0, "nan"),
        (6.0, "nan"),
        (7.0, "2.0"),
    ]


def test_columns_may_have_numbers_in_the_place_of_names():
    assert (
        samples("5;x;1\n6;x;2\n", clock="monotonic", header=False, time=["1"], value="3", delimiter=";")[
            1
        ].value
        == 2.0
    )


def test_missing_columns_are_reported_with_those_that_exist():
    with pytest.raises(
        PerjouleError, match=r"no line has the columns time, P; the first lines are: when,watts \| 5,1"
    ):
        samples("when,watts\n5,1\n", clock="monotonic")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delimiter": ",", "decimal": ",", "header": False}, "delimiter and decimal must differ"),
        ({"header": False}, "columns are numbers"),
        ({"zone": "Mars/Olympus"}, "not known"),
        ({"semantics": "window mean"}, "needs its window"),
    ],
)
def test_what_can_not_be_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        samples("", **options)


def test_each_row_may_tell_its_own_window():
    found = samples(
        "time,P,s\n5,1,0.5\n6,2,1\n", clock="monotonic", semantics="window mean", window_column="s"
    )
    assert [s.duration_s for s in found] == [0.5, 1.0]


def test_a_log_is_replayed_from_the_beginning_as_time_goes(tmp_path, listen):
    log = tmp_path / "log.csv"
    log.write_text("time,P\n" + "".join(f"{n / 50},{n}\n" for n in range(15)) + "3600,99\n")
    heard = listen(
        {"kind": "csv", "path": str(log), "clock": "beginning", "rate": "50 Hz", **DECLARED},
        lambda h: len(h.samples) > 14,
    )
    t_s, watts = heard.of()
    assert list(watts) == list(range(15))
    assert np.diff(t_s) == pytest.approx(0.02, abs=1e-6)


def test_a_line_is_read_when_it_is_whole(tmp_path, listen):
    log = tmp_path / "log.csv"
    log.write_text("time,P\n")

    def write():
        with log.open("a") as file:
            for n in range(20):
                file.write(f"{time.monotonic()},1")
                file.flush()
                time.sleep(0.005)
                file.write(f"{n:02d}\n")
                file.flush()

    writer = threading.Thread(target=write)
    options = {"kind": "csv", "path": str(log), "clock": "monotonic", "rate": "200 Hz", **DECLARED}
    started = []

    def until(heard):
        if not started:
            started.append(writer.start())
        return len(heard.samples) >= 20

    heard = listen(options, until)
    writer.join()
    assert list(heard.of()[1]) == [float(f"1{n:02d}") for n in range(20)]


@pytest.mark.parametrize(("ahead_s", "refused"), [(5.0, True), (0.3, False)])
def test_a_row_from_the_future_is_refused_where_no_rounding_of_its_time_explains_it(
    tmp_path, listen, ahead_s, refused
):
    log = tmp_path / "log.csv"
    log.write_text("time,P\n")

    def grown(heard):
        with log.open("a") as file:
            file.write(f"{time.monotonic() + ahead_s},7\n")
        return len(heard.samples) > 2 or len(heard.doubts) or time.monotonic() > until_s

    until_s = time.monotonic() + 0.2
    heard = listen(
        {"kind": "csv", "path": str(log), "clock": "monotonic", "rate": "100 Hz", **DECLARED}, grown
    )
    assert bool(heard.failures) == refused
    assert set(heard.of()[1]) == (set() if refused else {7.0})
    assert all(re.search(r"its clock is at least (5\.0|4\.9) s ahead", failure) for failure in heard.failures)


def test_what_was_logged_before_need_not_be_in_order_but_its_last_row_must_be_as_declared(tmp_path, listen):
    log = tmp_path / "log.csv"
    log.write_text("time,P\n9,1\n5,1\n6,1\n")
    options = {"kind": "csv", "path": str(log), "clock": "monotonic", "rate": "100 Hz", **DECLARED}

    def grown(heard):
        with log.open("a") as file:
            file.write(f"{time.monotonic()},7\n")
        return len(heard.samples) > 2

    heard = listen(options, grown)
    assert set(heard.of()[1]) == {7.0}
    with pytest.raises(
        PerjouleError, match=r"names no zone|is no date as ISO 8601 writes it .set clock = .unix."
    ):
        listen({**options, "clock": "date"}, lambda h: True)


def test_a_log_that_does_not_grow_is_a_doubt_and_refused_before_a_campaign(tmp_path, listen):
    log = tmp_path / "log.csv"
    log.write_text(f"time,P\n{time.monotonic()},7\n")
    options = {"path": str(log), "clock": "monotonic", "rate": "100 Hz", **DECLARED}
    until_s = time.monotonic() + 0.2
    heard = listen({"kind": "csv", **options}, lambda heard: time.monotonic() > until_s)
    assert "csv: it delivered nothing during the trial" in heard.doubts
    (check,) = as_written(Csv, **options).answers()
    assert check.ok
    os.utime(log, times=(time.time() - 600, time.time() - 600))
    (check,) = as_written(Csv, **options).answers()
    assert (check.ok, check.fix) == (False, "start the program that writes it, or state its period")
    assert re.search(r"log\.csv has not grown for 10 min \d s", check.detail)
    counter = {"unit": "Wh", "semantics": "counter"}
    for slower in ({"clock": "beginning"}, {"period": "400 s"}, counter):
        (check,) = as_written(Csv, **{**options, **slower}).answers()
        assert check.ok


@pytest.mark.parametrize(
    ("numbers", "declared", "doubts"),
    [
        ([200 * n for n in range(25)], {}, [METERS.not_as_declared]),
        ([200 * n for n in range(10)], {}, [METERS.only_rises]),
        ([50 + 150 * (n % 2) + n % 5 for n in range(30)], {}, [METERS.not_as_declared]),
        ([50 + 150 * (n % 2) + n % 5 for n in range(14)], {}, [METERS.in_turns]),
        ([998, 997, 999.5, 1.001, 1.004], {}, [METERS.not_as_declared]),
        ([30, 31, 29, 32, 28, 33, 27, 31], COUNTED, [METERS.not_as_declared]),
        ([3.1, 3.3, 3.4], COUNTED, [METERS.counter_or_intervals]),
        ([200 * n for n in range(25)], COUNTED, []),
        ([200 + (n * n + 3 * n) % 17 for n in range(30)], {}, []),
    ],
)
def test_the_readings_of_a_trial_are_held_against_what_is_declared(
    numbers, declared, doubts, tmp_path, listen
):
    log, step_s = tmp_path / "log.csv", 0.02
    log.write_text("time,P\n" + "".join(f"{n * step_s:.2f},{number}\n" for n, number in enumerate(numbers)))
    options = {**DECLARED, "clock": "beginning", "rate": "100 Hz", **declared}
    heard = listen({"kind": "csv", "path": str(log), **options}, lambda h: len(h.samples) >= len(numbers))
    late = METERS.left_out.id  # by which a busy machine may add one of its own
    assert [doubt.id for doubt in heard.doubts if doubt.id != late] == [doubt.id for doubt in doubts]


def test_a_log_that_is_not_there_is_reported(listen):
    (check,) = as_written(Csv, path="/nonexistent.csv", **DECLARED).checks()
    assert not check.ok
    with pytest.raises(PerjouleError, match="No such file"):
        listen({"kind": "csv", "path": "/nonexistent.csv", **DECLARED}, lambda h: True)


@pytest.mark.timeout(30)
def test_a_pipe_or_a_device_in_the_place_of_a_log_is_refused_and_not_waited_for(tmp_path, listen):
    os.mkfifo(tmp_path / "log.csv")
    for path in (tmp_path / "log.csv", "/dev/zero"):
        with pytest.raises(PerjouleError, match="not a file, but a pipe or a device"):
            listen({"kind": "csv", "path": str(path), **DECLARED}, lambda h: True)


def test_the_watts_are_those_of_the_waveform(listen, noted):
    behaviour = noted(WAVE)
    with simulator.serve(behaviour) as options:
        heard = listen({**options, "rate": "50 Hz"}, lambda h: len(h.samples) > 20)
    t_s, watts = heard.of()
    assert behaviour.told(watts, lambda said: round(said.power_w, 4))
    assert watts == pytest.approx([WAVE.power_w(t) for t in t_s], abs=2.0)  # dated by the log itself
    assert isinstance(drivers.build("meters", "csv", {k: v for k, v in options.items() if k != "kind"}), Csv)


@pytest.mark.parametrize("fault", simulator.FAULTS)
def test_a_fault_is_a_gap_or_nothing_new(listen, noted, fault):
    behaviour = noted(WAVE, faults=(fault,), share_ratio=0.0, away_s=0.1)

    def told(heard):
        watts = heard.of()[1]
        behaviour.share_ratio = 0.2 if len(watts) > 2 else 0.0
        if fault in ("duplicate", "frozen", "missing"):
            return len(watts) > 10
        odd = np.isnan(watts) | (watts > 1000)
        return odd.any() and (fault == "clock jump" or not odd[-1])

    with simulator.serve(behaviour) as options:
        heard = listen({**options, "rate": "50 Hz"}, told)
    t_s, watts = heard.of()
    assert behaviour.told([w for w in watts if not math.isnan(w)], lambda said: round(said.power_w, 4))
    if fault == "clock jump":
        assert any("its clock is at least 3" in failure and "ahead" in failure for failure in heard.failures)
    elif fault != "disconnect":
        assert not heard.failures
        assert (np.diff(t_s) > 0).all()  # nothing is counted twice


def test_rows_of_one_stamp_all_come_where_their_values_differ():
    text = "time,P\n5,1\n5,1\n5,2\n6,3\n6,3\n7,\n7,4\n7,4\n"
    assert [(s.t_s, str(s.value)) for s in samples(text, clock="monotonic")] == [
        (5, "1.0"), (5, "2.0"), (6, "3.0"), (6, "3.0"), (7, "nan"), (7, "4.0"), (7, "4.0")
    ]  # fmt: skip
