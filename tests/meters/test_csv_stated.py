"""What a log says about itself, in its names, units and rows, where that contradicts how it is declared."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from perjoule.importing.power import logs
from perjoule.meters._unit_names import other_unit
from perjoule.meters.csv import Csv, LogSample
from perjoule.model import Clock
from perjoule.model.errors import CampaignError, PerjouleError
from typed import as_written, present

NOON = Clock(0.0, 0.0)
DECLARED: dict[str, Any] = {"unit": "W", "semantics": "instantaneous", "grade": "wall", "value": "P"}


def samples(text: str, **options: Any) -> list[LogSample]:
    return list(as_written(Csv, path="log.csv", **{**DECLARED, **options}).samples(text, NOON))


# The end


@pytest.mark.parametrize(
    ("end", "values"),
    [
        ("\n2024-01-15 12:00:20,2", [200.5]),  # of 200.5
        ("\n2024-01-15 12:0", [200.5]),
        ("\n2024-01-15 12:00:20,199.5", [200.5, 199.5]),
        ("\n2024-01-15 12:00:20,2\n", [200.5, 2.0]),
        ("\n", [200.5]),
        ("", [200.5]),
    ],
    ids=["in the number", "in the time", "complete", "short", "line feed", "none"],
)
@pytest.mark.parametrize("rows_count", [20, 20_000], ids=["row by row", "at once"])
def test_a_last_line_that_was_cut_is_no_row(
    end: str, values: list[float], rows_count: int, tmp_path: Path
) -> None:
    start = datetime(2024, 1, 15, 12, 0, 19, tzinfo=UTC)
    times = [start - timedelta(seconds=ago) for ago in range(rows_count - 1, -1, -1)]
    (tmp_path / "a.csv").write_text(
        "t,P\n" + "\n".join(f"{time:%Y-%m-%d %H:%M:%S},200.5" for time in times) + end
    )
    declared = ("time=t", "value=P", "unit=W", "semantics=instantaneous", "grade=wall", "zone=UTC")
    ((series,),) = (log.series for log in logs(tmp_path / "a.csv", declared, (), "UTC"))
    assert series.value[rows_count - 1 :].tolist() == values


# Units


@pytest.mark.parametrize(
    ("column", "unit", "stated"),
    [
        ("Power (kW)", "W", "kW"),
        ("power.draw [W]", "kW", "W"),
        ("P [ mW ]", "W", "mW"),
        ("power_mw", "W", "mw"),
        ("node_kW", "W", "kW"),
        ("S (VA)", "W", "VA"),
        ("I1 [A]", "W", "A"),
        ("P (\u00b5W)", "W", "uW"),
        ("Real Energy (kWh)", "Wh", "kWh"),
        ("Energy (Wh)", "kWh", "Wh"),
        ("E [MJ]", "mJ", "MJ"),
        ("Pwr.kW", "W", "kW"),
        ("P / kW", "W", "kW"),
        ("kW", "W", "kW"),
        ("Power W", "kW", "W"),
        ("Power, mW", "W", "mW"),
        ("Apparent Power VA", "W", "VA"),
        ("power_VA", "W", "VA"),
        ("power_milliwatts", "W", "milliwatts"),
        ("scaph_host_power_microwatts", "W", "microwatts"),
        ("Power (Kilowatts)", "W", "kW"),
        ("Energy.kWh", "Wh", "kWh"),
        ("Mains_A (kWhs)", "Wh", "kWh"),
        ("Mains_A (kWatts)", "W", "kW"),  # as an Emporia exports them
        ("Power_MWatts", "W", "MWatts"),
        ("energy_watthours", "kWh", "watthours"),
        ("Energy (Kilowatt-Hours)", "Wh", "kWh"),
        ("energy_mWh", "Wh", "mWh"),
        ("energy_joules_total", "Wh", "joules"),
        # anywhere in the name
        ("P (kW) of server", "W", "kW"),
        ("Power [kW] L1", "W", "kW"),
        ("Power(kW)_1", "W", "kW"),
        ("P_kW_avg", "W", "kW"),
        ("power_kw_mean", "W", "kw"),
        ("kW (avg)", "W", "kW"),
        ("powerKw", "W", "Kw"),
        ("powerkW", "W", "kW"),
        ("activePowerMilliWatts", "W", "MilliWatts"),
        ("(kilo watt)", "W", "kW"),
        ("Energy (W h)", "kWh", "Wh"),
        ("Energy (kW\u00b7h)", "Wh", "kWh"),
        ("Energy (Watt hours)", "kWh", "Wh"),
        ("Energy (Ws)", "Wh", "J"),
        # other prefixes, powers and scripts
        ("Power (dW)", "W", "dW"),
        ("Power [cW]", "W", "cW"),
        ("power_deciwatts", "W", "deciwatts"),
        ("Power (BTU/hr)", "W", "BTU/hr"),
        ("Apparent Power", "W", "VA"),
        ("Scheinleistung", "W", "VA"),
        ("reactive_power", "W", "var"),
        ("Power\uff08kW\uff09", "W", "kW"),
        ("\u6d88\u8cbb\u96fb\u529b\uff08\uff4b\uff37\uff09", "W", "kW"),
        ("\u529f\u7387(\u5343\u74e6)", "W", "kW"),
        ("\u041c\u043e\u0449\u043d\u043e\u0441\u0442\u044c, \u043a\u0412\u0442", "W", "kW"),
        ("P \u33be", "W", "kW"),  # one letter
        # scaled
        ("Power (0.1 W)", "W", "0.1 W"),
        ("P in 1/10 W", "W", "1/10 W"),
        ("Power (W x 10)", "W", "W x 10"),
    ],
)
def test_a_column_whose_name_states_another_unit_is_refused(column: str, unit: str, stated: str) -> None:
    semantics = "instantaneous" if unit.endswith("W") else "counter"
    with pytest.raises(ValueError, match=re.escape(f'is in {stated}, and unit is "{unit}"')):
        samples("", value=column, unit=unit, semantics=semantics)


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        ("Power (kW)", "kW"),
        ("power_mw", "mW"),
        ("Power (total)", "W"),
        ("P1", "W"),
        ("node_total", "W"),
        ("energy_kwh", "kWh"),
        ("P (W) of server", "W"),
        ("W", "W"),
        ("PkgWatt", "W"),
        ("power_watts", "W"),
        ("Power (Watts)", "W"),
        ("Power (KW)", "kW"),
        ("Power (kWatts)", "kW"),
        ("kilowatthours", "kWh"),
        ("Phase A", "W"),
        ("phase_a", "W"),
        ("Pwr.kW", "kW"),
        ("P_kW_avg", "kW"),
        ("P [W] (A)", "W"),
        ("rackW", "W"),
        ("cpuW", "W"),
        ("systemW", "W"),
        ("powerKW", "kW"),
        ("interactive", "W"),
        ("PkgWatt", "W"),
        ("Watts up? 3", "W"),
        ("Power of KW48", "W"),
        ("transparent proxy", "W"),
        ("Outlet 10 W", "W"),
        ("\u041c\u043e\u0449\u043d\u043e\u0441\u0442\u044c \u0412\u0442", "W"),
    ],
)
def test_a_column_that_states_the_unit_or_none_is_read(column: str, unit: str) -> None:
    semantics = "instantaneous" if unit.endswith("W") else "counter"
    (sample,) = samples(
        f"time,{column}\n5,2\n", value=column, unit=unit, semantics=semantics, clock="monotonic"
    )
    assert sample.value == {"W": 2.0, "kW": 2000.0, "mW": 0.002, "kWh": 7.2e6}[unit]


@pytest.mark.parametrize(("below", "refused"), [("W", False), ("kW", True), ("[kW]", True), ("text", False)])
def test_a_row_of_units_below_the_names_is_held_against_the_declaration(below: str, *, refused: bool) -> None:
    text = f"time;U1;P\ns;V;{below}\n5;230;2\n"
    if refused:
        with pytest.raises(PerjouleError, match='below the names it says kW, and unit is "W"'):
            samples(text, delimiter=";", clock="monotonic")
    else:
        assert [sample.value for sample in samples(text, delimiter=";", clock="monotonic")] == [2.0]


def test_units_below_names_that_come_again_are_held_against_the_declaration_too() -> None:
    text = "time,P\n,W\n5,2\ntime,P\n,{}\n6,3\n"
    assert [sample.value for sample in samples(text.format("W"), clock="monotonic")] == [2.0, 3.0]
    with pytest.raises(PerjouleError, match='below the names it says kW, and unit is "W"'):
        samples(text.format("kW"), clock="monotonic")


def test_the_heads_that_nvidia_smi_repeats_are_no_gaps() -> None:
    """`nvidia-smi dmon -s p -o DT`: https://docs.nvidia.com/deploy/nvidia-smi/"""
    head = "#Date       Time        gpu    pwr  gtemp\n#YYYYMMDD   HH:MM:SS    Idx      W      C\n"
    rows = [f" 20261129   12:00:0{second}      0     7{second}     45\n" for second in range(4)]
    declared = {"time": ["Date", "Time"], "value": "pwr", "delimiter": " ", "format": "%Y%m%d %H:%M:%S"}
    read_samples = samples("".join([head, *rows[:2], head, *rows[2:]]), zone="UTC", **declared)
    assert [sample.value for sample in read_samples] == [70.0, 71.0, 72.0, 73.0]


@pytest.mark.parametrize("line", ["Unit,kW", "# unit: kW", "Einheit = kW", "Units (kW)"])
def test_a_unit_above_the_names_is_held_against_the_declaration(line: str) -> None:
    text = f"Serial,12\n{line}\ntime,P\n5,2\n"
    assert samples(text, unit="kW", clock="monotonic")[0].value == 2000.0
    with pytest.raises(PerjouleError, match='above the names it says kW, and unit is "W"'):
        samples(text, clock="monotonic")
    assert samples(text.replace("kW", "A"), clock="monotonic")[0].value == 2.0  # the unit that is called A


@pytest.mark.parametrize(
    ("names", "row"),
    [
        ("time,Q,Unit,P,Unit", "5,0.3,kW,2,W"),
        ("time,U,Unit,P,Unit", "5,230,V,2,W"),
        ("time,P,Power Unit", "5,0.002,kW"),
        ("time,P,unitOfMeasure", "5,0.002,kW"),
        ("time,P,Unit\u00e0", "5,0.002,kW"),
        ("time,P,\u5355\u4f4d", "5,0.002,kW"),
        ("time,unit,P", "5,mW,2000"),
        ("time,P,community", "5,2,kW"),
    ],
)
def test_the_unit_of_a_number_is_in_the_next_column_or_the_only_one_of_units(names: str, row: str) -> None:
    assert samples(f"{names}\n{row}\n", clock="monotonic")[0].value == pytest.approx(2.0)


# Columns


@pytest.mark.parametrize(
    "text",
    [
        "time,P\n2026-10-25 12:00:00,500,40.5\n",  # a decimal comma in the time
        "time,P\n2026-10-25T12:00:00Z,40,5\n",  # or in the number
        "kVAh,time,P\n1,2026-10-25T12:00:00Z,40.5,15\n",
    ],
)
def test_a_row_with_more_columns_than_names_is_refused(text: str) -> None:
    with pytest.raises(PerjouleError, match="columns, and the line with their names"):
        samples(text, zone="UTC")


def test_a_delimiter_at_the_end_of_a_row_is_no_column() -> None:
    assert samples("time,P\n5,40.5,\n", clock="monotonic")[0].value == 40.5


def test_tabs_between_columns_are_written_as_in_a_campaign_that_has_no_control_characters() -> None:
    (sample,) = samples("time\tP\n5\t2,5\n", delimiter=r"\t", decimal=",", clock="monotonic")
    assert sample.value == 2.5
    rows = "".join(f"{second}\t40.5\n" for second in range(1_795_953_600, 1_795_953_600 + 20_000))
    long_log = as_written(Csv, path="log.csv", **{**DECLARED, "clock": "unix", "delimiter": r"\t"})
    assert present(long_log.plain(f"time\tP\n{rows}".encode()))[1].sum() == 20_000 * 40.5
    with pytest.raises(ValueError, match="delimiter must be one character"):
        samples("", delimiter=r"\t\t")


def test_decimal_commas_in_quotes_may_stand_between_commas() -> None:
    declared = {"decimal": ",", "clock": "monotonic"}
    assert samples('time,P\n5,"200,5"\n', **declared)[0].value == 200.5
    with pytest.raises(PerjouleError, match="a row has 3 columns"):
        samples("time,P\n5,200,5\n", **declared)
    with pytest.raises(ValueError, match="without a header, delimiter and decimal must differ"):
        samples("", **{**declared, "time": ["1"], "value": "2", "header": False})


@pytest.mark.parametrize("names", ["time,P,P", "time,P,time,P"])
def test_two_columns_of_one_name_are_not_chosen_from(names: str) -> None:
    row = ",".join("5" for _ in names.split(","))
    with pytest.raises(PerjouleError, match="two columns are called"):
        samples(f"{names}\n{row}\n", clock="monotonic")


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [("#time,P\n5,2\n", ","), ("# time,P\n5,2\n", ","), ("# time P\n5 2\n", " "), ("#,time,P\n1,5,2\n", ",")],
)
def test_columns_may_be_named_in_a_comment(text: str, delimiter: str) -> None:
    (sample,) = samples(text, clock="monotonic", delimiter=delimiter)
    assert (sample.t_s, sample.value) == (5.0, 2.0)


def test_two_columns_of_another_name_are_no_doubt() -> None:
    assert samples("time,Q,Q,P\n5,1,2,3\n", clock="monotonic")[0].value == 3.0


def test_a_table_in_the_middle_that_lacks_the_number_is_left_out() -> None:
    text = "time,P,Q\n5,1,9\n6,2,9\ntime,Q\n7,9\n8,9\ntime,Q,P\n9,9,3\n"
    assert [(sample.t_s, sample.value) for sample in samples(text, clock="monotonic")] == [
        (5, 1),
        (6, 2),
        (9, 3),
    ]


# Times


@pytest.mark.parametrize(
    ("format", "words"),
    [
        ("%Y-%m-%d %H:%M:%S %p", "needs both %I and %p"),
        ("%d/%m/%Y %I:%M:%S", "needs both %I and %p"),
        ("%Y-%m-%d %H:%M:%S %Z", "strptime loses the zone"),
    ],
)
def test_a_format_with_which_hours_get_lost_is_refused(format: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        samples("", format=format, zone="UTC")


def test_hours_of_afternoons_are_read() -> None:
    (sample,) = samples("time,P\n01/02/1970 01:00:00 PM,5\n", format="%m/%d/%Y %I:%M:%S %p", zone="UTC")
    assert sample.t_s == (24 + 13) * 3600


@pytest.mark.parametrize(
    "column",
    [
        "interval_start",
        "Start",
        "start time",
        "_start",
        "From",
        "Begin",
        "time_bucket",
        "startTime",
        "windowStart",
        "Startzeit",
        "Anfang",
        "Zeit von",
        "interval_beginning",
        "D\u00e9but",
        "\u8a08\u6e2c\u958b\u59cb\u6642\u523b",
    ],
)
def test_a_window_that_is_dated_by_its_start_is_refused(column: str) -> None:
    with pytest.raises(ValueError, match="is the start of a window"):
        samples("", time=[column], semantics="window mean", window="300 s")
    with pytest.raises(ValueError, match="is the start of a window"):
        samples("", time=[column], semantics="average")
    assert samples("from start,P\n5,1\n", time=["from start"], clock="beginning", semantics="average")
    assert samples(f"{column},P\n5,1\n", time=[column], clock="monotonic")


@pytest.mark.parametrize(
    ("column", "format", "text"),
    [
        ("Date/time UTC", "", "2026-11-29 12:00:00"),
        ("time_utc", "", "2026-11-29 12:00:00"),
        ("Time (GMT)", "", "2026-11-29 12:00:00"),
        ("time", "%Y-%m-%dT%H:%M:%SZ", "2026-11-29T12:00:00Z"),
        ("time", "%d.%m.%Y %H:%M:%S.%f UTC", "29.11.2026 12:00:00.0 UTC"),
        ("timestampUTC", "", "2026-11-29 12:00:00"),
        ("timeUtcMs", "", "2026-11-29 12:00:00"),
        ("UTCTime", "", "2026-11-29 12:00:00"),
        ("TIMEUTC", "", "2026-11-29 12:00:00"),
        ("Time (Z)", "", "2026-11-29 12:00:00"),
        ("Zulu time", "", "2026-11-29 12:00:00"),
        ("(PDH-CSV 4.0) (Coordinated Universal Time)(0)", "", "2026-11-29 12:00:00"),
    ],
)
def test_dates_that_are_called_utc_are_of_no_other_zone(column: str, format: str, text: str) -> None:
    log = f"{column},P\n{text},5\n"
    (sample,) = samples(log, time=[column], format=format, zone="UTC")
    assert sample.t_s == 1795953600.0
    with pytest.raises(PerjouleError, match='says UTC, and zone is "Europe/Berlin"'):
        samples(log, time=[column], format=format, zone="Europe/Berlin")


@pytest.mark.parametrize(
    ("column", "text"), [("time_utc", "2026-11-29T13:00:00+01:00"), ("Time (UTC+1)", "2026-11-29 13:00:00")]
)
def test_an_offset_beats_the_name_of_a_column(column: str, text: str) -> None:
    (sample,) = samples(f"{column},P\n{text},5\n", time=[column], zone="Europe/Berlin")
    assert sample.t_s == 1795953600.0


@pytest.mark.parametrize(("zone", "hour"), [("+0100", 13), ("-0330", 8.5), ("+0000", 12)])
def test_a_zone_may_be_an_offset_as_where_the_machine_s_own_has_no_name(
    zone: str, hour: float, tmp_path: Path
) -> None:
    rows = [f"2026-11-29 {int(hour):02}:{30 if hour % 1 else 0:02}:{second:02},5\n" for second in range(3)]
    (tmp_path / "log.csv").write_text("time,P\n" + "".join(rows))
    declared = ("value=P", "unit=W", "semantics=instantaneous", "grade=wall")
    (log,) = logs(tmp_path / "log.csv", declared, (), zone)
    assert log.series[0].t_s.tolist() == [1795953600.0, 1795953601.0, 1795953602.0]
    with pytest.raises(ValueError, match="zone or encoding is not known"):
        samples("", zone="+1h")


@pytest.mark.parametrize(
    "encoding", ["zlib", "bz2", "uu", "hex", "rot13", "punycode", "idna", "unicode_escape", "undefined"]
)
def test_what_unpacks_or_takes_a_text_apart_is_no_encoding(encoding: str) -> None:
    """A chunk by zlib is a gigabyte, and punycode takes the square of a text's length in time."""
    with pytest.raises(ValueError, match="zone or encoding is not known"):
        samples("time,P\n7,1\n", encoding=encoding)


@pytest.mark.parametrize(
    "encoding", ["utf8", "L1", "windows-1252", "mac_roman", "sjis", "euc-kr", "gb18030", "koi8_r", "U16"]
)
def test_encodings_of_programs_are_known(encoding: str) -> None:
    assert samples("time,P\n7,1\n", clock="monotonic", encoding=encoding)[0].value == 1


@pytest.mark.parametrize(
    ("column", "stated"),
    [
        ("Time (UTC+1)", "+0100"),
        ("time_gmt-03:30", "-0330"),
        ("Date/Time [UTC+01:00]", "+0100"),
        ("Time (+01:00)", "+0100"),
        ("Time +0100", "+0100"),
    ],
)
def test_an_offset_in_the_name_of_a_column_is_held_against_the_zone(column: str, stated: str) -> None:
    log = f"{column},P\n2026-11-29 13:00:00,5\n"
    hour = int(stated[:3])
    (sample,) = samples(log, time=[column], zone=stated)
    assert sample.t_s == pytest.approx(1795953600.0 + (1 - hour) * 3600, abs=1800)
    for zone in ("UTC", "Asia/Tokyo"):
        with pytest.raises(PerjouleError, match=rf'says \{stated}, and zone is "{zone}"'):
            samples(log, time=[column], zone=zone)


def test_a_zone_in_the_name_of_a_column_is_held_against_the_declared_one() -> None:
    column = "Time (America/New_York)"
    log = f"{column},P\n2026-07-29 08:00:00,5\n"
    for zone in ("America/New_York", "America/Toronto", "-0400"):
        assert samples(log, time=[column], zone=zone)[0].t_s == 1785326400.0
    with pytest.raises(PerjouleError, match='says America/New_York, and zone is "UTC"'):
        samples(log, time=[column], zone="UTC")
    assert samples("Time (Volt/Ampere),P\n2026-07-29 08:00:00,5\n", time=["Time (Volt/Ampere)"], zone="UTC")


@pytest.mark.parametrize(
    ("letters", "zones"), [("CET", ("Europe/Berlin", "+0100")), ("EDT", ("America/New_York",))]
)
def test_letters_of_a_zone_in_the_name_of_a_column_are_held_against_it(
    letters: str, zones: tuple[str, ...]
) -> None:
    column = f"Time ({letters})"
    log = f"{column},P\n2026-11-29 13:00:00,5\n"
    for zone in zones:
        assert samples(log, time=[column], zone=zone)
    for zone in ("UTC", "Asia/Tokyo"):
        with pytest.raises(PerjouleError, match=f'says {letters}, which "{zone}" is not called'):
            samples(log, time=[column], zone=zone)
    assert samples("Time (MEZ),P\n2026-07-29 13:00:00,5\n", time=["Time (MEZ)"], zone="Europe/Berlin")
    assert samples("Time (RMS),P\n2026-07-29 13:00:00,5\n", time=["Time (RMS)"], zone="UTC")


@pytest.mark.parametrize(
    ("column", "zone"),
    [
        ("Time EST", "America/New_York"),
        ("time_cet", "Europe/Berlin"),
        ("Time CET/CEST", "Europe/Berlin"),
        ("Ortszeit (MEZ/MESZ)", "Europe/Berlin"),
        ("Time\uff08JST\uff09", "Asia/Tokyo"),
        ("Time [HST]", "Pacific/Honolulu"),
        ("Time Europe/Berlin", "Europe/Berlin"),
        ("Time (Central Standard Time)", "America/Chicago"),
        ("Eastern Time (US & Canada)", "America/New_York"),
        ("(PDH-CSV 4.0) (W. Europe Standard Time)(-60)", "Europe/Berlin"),  # of Windows' typeperf
    ],
)
def test_a_zone_anywhere_in_the_name_of_a_column_is_held_against_the_declared_one(
    column: str, zone: str
) -> None:
    log = f'"{column}",P\n2026-11-29 13:00:00,5\n'
    assert samples(log, time=[column], zone=zone)
    with pytest.raises(PerjouleError, match=r"it says .* \(set zone"):
        samples(log, time=[column], zone="UTC")


@pytest.mark.parametrize(
    "column", ["outcome time", "Dutch time", "Date/Time", "time (local)", "log-2024", "Date Time", "restored"]
)
def test_names_that_only_look_like_zones_say_nothing(column: str) -> None:
    assert samples(f"{column},P\n2026-11-29 13:00:00,5\n", time=[column], zone="Asia/Tokyo")


@pytest.mark.parametrize(
    ("letters", "zone", "wrong_zone"),
    [
        ("CET", "Europe/Berlin", "UTC"),
        ("EST", "America/New_York", "Europe/Berlin"),
        ("+01:00", "+0100", "UTC"),
    ],
)
def test_the_zone_in_a_format_is_held_against_the_declared_one(
    letters: str, zone: str, wrong_zone: str
) -> None:
    log = f"time,P\n2026-11-29 13:00:00 {letters},5\n"
    format = f"%Y-%m-%d %H:%M:%S {letters}"
    assert samples(log, format=format, zone=zone)
    with pytest.raises(PerjouleError, match=r"it says .*(zone|not called)"):
        samples(log, format=format, zone=wrong_zone)


@pytest.mark.parametrize(
    ("text", "t_s"),
    [
        ("2026-11-29 12:00:00 UTC", 1795953600.0),
        ("2026-11-29T12:00:00.5GMT", 1795953600.5),
        ("2026-11-29 05:00:00.250000001 -0700 MST m=+0.000012", 1795953600.25),  # of Go
        ("2026-11-29 05:00:00 -0700 -0700", 1795953600.0),
        ("2026-11-29 12:00:00 +0000 UTC", 1795953600.0),
    ],
)
def test_letters_of_a_zone_that_say_nothing_more_may_end_a_date(text: str, t_s: float) -> None:
    (sample,) = samples(f"time,P\n{text},5\n", zone="Europe/Berlin")
    assert sample.t_s == pytest.approx(t_s, abs=1e-6)
    with pytest.raises(PerjouleError, match="is no date"):
        samples("time,P\n2026-11-29 12:00:00 MST,5\n", zone="Europe/Berlin")


@pytest.mark.parametrize(
    ("line", "zone"),
    [
        ("Time zone: UTC", "UTC"),
        ("# all times in UTC", "UTC"),
        ("Timezone,GMT+8", "Asia/Shanghai"),
        ("Zeitzone: Europe/Berlin", "Europe/Berlin"),
    ],
)
def test_a_zone_above_the_names_is_held_against_the_declared_one(line: str, zone: str) -> None:
    log = f"Model,7\n{line}\ntime,P\n2026-11-29 13:00:00,5\n"
    assert samples(log, zone=zone)
    with pytest.raises(PerjouleError, match="says"):
        samples(log, zone="America/New_York")
    assert samples(log.replace(line, "Created 12:00 UTC"), zone="America/New_York")  # when it was exported
    with pytest.raises(PerjouleError, match="says"):
        samples(
            f"{line}\ntime,P\n2026-11-29T01:00Z,5\ntime,P\n2026-11-29 13:00:00,5\n", zone="America/New_York"
        )


@pytest.mark.parametrize("column", ["Zone", "timezone", "time_zone", "tz", "timeZone"])
@pytest.mark.parametrize("zones", [("CET", "CEST"), ("+01:00", "+0200"), ("Europe/Berlin", "Europe/Berlin")])
def test_a_column_of_zones_is_held_against_the_declared_one(column: str, zones: tuple[str, str]) -> None:
    winter, summer = zones
    log = f"time,{column},P\n2026-01-29 13:00:00,{winter},5\n2026-07-29 13:00:00,{summer},5\n"
    assert len(samples(log, zone="Europe/Berlin")) == 2
    with pytest.raises(PerjouleError, match="it says"):
        samples(log, zone="America/New_York")
    assert samples(log.replace(winter, "rack 1").replace(summer, "rack 1"), zone="America/New_York")


def test_a_column_of_zones_that_changes_to_utc_is_refused() -> None:
    log = "time,tz,P\n2026-01-29 13:00:00,CET,5\n2026-01-29 12:00:01,UTC,5\n"
    with pytest.raises(PerjouleError, match="'UTC' says UTC, and zone is \"Europe/Berlin\""):
        samples(log, zone="Europe/Berlin")


def test_a_column_of_units_counts_as_a_unit_behind_each_number() -> None:
    log = "time,P,Unit\n5,2,{}\n6,3,{}\n"
    declared = {"clock": "monotonic"}
    assert [sample.value for sample in samples(log.format("kW", "kW"), **declared)] == [2000.0, 3000.0]
    for unit in ("1", "rack", ""):  # of something else
        assert [sample.value for sample in samples(log.format(unit, unit), **declared)] == [2.0, 3.0]
    with pytest.raises(PerjouleError, match='a number is in V, and unit is "W"'):
        samples(log.format("V", "V"), **declared)
    volts = "time,sensor,P,Unit\n5,power,2,kW\n5,voltage,230,V\n6,power,3,kW\n6,voltage,230,V\n"
    for chosen in ({"where": {"sensor": "power"}}, {"by": "sensor", "only": ["power"]}):
        assert [sample.value for sample in samples(volts, **declared, **chosen)] == [2000.0, 3000.0]


@pytest.mark.parametrize("name", ["UTC-8601 time", "utc-time", "GMT+Berlin"])
def test_what_is_no_offset_in_a_name_says_nothing(name: str) -> None:
    assert samples(f"{name},P\n2026-11-29 13:00:00,5\n", time=[name], zone="Asia/Tokyo")


@pytest.mark.parametrize("text", ["nan", "inf", "12:00", "1795953600,5"])
def test_a_time_that_is_no_number_is_refused_where_it_has_a_reading(text: str) -> None:
    with pytest.raises(PerjouleError, match="is no time in numbers"):
        samples(f"time;P\n1;5\n{text};6\n", clock="monotonic", delimiter=";")


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("46355.5", "if they are days of a spreadsheet"),
        ("46355,541667", "if they are days of a spreadsheet"),
        ("20261129120000", 'set format = "%Y%m%d%H%M%S"'),
    ],
)
def test_numbers_in_place_of_dates_are_called_what_they_are(text: str, advice: str) -> None:
    with pytest.raises(PerjouleError, match=advice):
        samples(f"time;P\n{text};5\n", delimiter=";", zone="UTC")


def test_a_number_of_milliseconds_is_not_read_as_decimals() -> None:
    declared = {"time": ["Time", "Millisecond"], "format": "%Y-%m-%d %H:%M:%S %f", "zone": "UTC"}
    log = "Time,Millisecond,P\n1970-01-01 00:00:05,{},5\n"
    assert [samples(log.format(text), **declared)[0].t_s for text in ("012", "000012")] == [5.012, 5.000012]
    with pytest.raises(PerjouleError, match="strptime reads as decimals"):
        samples(log.format("12"), **declared)


def test_a_log_with_the_newest_row_first_is_refused_with_what_to_do() -> None:
    with pytest.raises(PerjouleError, match="sort them if the newest come first"):
        samples("time,P\n7,1\n6,1\n5,1\n", clock="monotonic")


def test_a_log_whose_rows_have_one_time_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("time,P\n2026-11-29,5\n2026-11-29,6\n")
    declared = ("value=P", "unit=W", "semantics=instantaneous", "grade=wall")
    with pytest.raises(CampaignError, match="all its rows have the same time"):
        logs(tmp_path / "log.csv", declared, (), "UTC")


# Counters


def imported(tmp_path: Path, energies: list[float], *more: str) -> list[float]:
    path = tmp_path / "log.csv"
    path.write_text("t,e\n" + "".join(f"{1_700_000_000 + 900 * n},{e}\n" for n, e in enumerate(energies)))
    declared = ("time=t", "value=e", "unit=Wh", "semantics=counter", "grade=wall", "clock=unix", *more)
    (log,) = logs(path, declared, (), "UTC")
    return log.series[0].value.tolist()


def test_energies_of_intervals_are_not_taken_for_a_counter(tmp_path: Path) -> None:
    quarters = [150.0, 140.0, 130.0, 180.0, 150.0, 140.0, 145.0]  # Wh of each quarter of an hour
    with pytest.raises(CampaignError, match="they are of intervals"):
        _ = imported(tmp_path, quarters)


def test_a_counter_that_is_reset_or_wraps_is_read(tmp_path: Path) -> None:
    day = [10.0 * n for n in range(12)]
    assert imported(tmp_path, day * 3) == [3600 * energy for energy in day * 3]
    wrapped = [0.0, 9.0, 2.0, 8.0, 1.0, 9.0, 2.0]
    assert imported(tmp_path, wrapped, "range=10 Wh") == [3600 * energy for energy in wrapped]


# Files that are no rows


@pytest.mark.parametrize(
    "text",
    [
        '{"status":"success","data":{"result":[{"metric":{},"values":[[1700000000.7,"40.5"]]}]}}',
        '[\n  {"time": 1700000000, "e": 5}\n]\n',
        "[[1700000000000, 40.5], [1700000001000, 41]]",
        '{"t": 1700000000, "e": 5}\n{"t": 1700000001, "e": 6}\n',
    ],
)
def test_json_is_called_so(text: str, tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text(text)
    declared = ("time=t", "value=e", "unit=W", "semantics=instantaneous", "grade=wall", "clock=unix")
    with pytest.raises(CampaignError, match="the log is JSON"):
        _ = logs(tmp_path / "log.json", declared, (), "UTC")


def test_brackets_around_times_are_no_json(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("[2023-11-14 22:13:20],40.5\n[2023-11-14 22:13:21],41\n")
    declared = ("time=1", 'value="2"', "header=false", "format=[%Y-%m-%d %H:%M:%S]", "zone=UTC", "unit=W")
    (log,) = logs(tmp_path / "log.csv", (*declared, "semantics=instantaneous", "grade=wall"), (), "UTC")
    assert list(log.series[0].value) == [40.5, 41.0]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", ["(" * 100_000, "_a" * 100_000 + "1", "[a" * 50_000 + " "])
def test_the_end_of_a_long_name_states_its_unit(name: str) -> None:
    assert other_unit(name, "W") == ""
    assert other_unit(f"{name} P (kW)", "W") == "kW"
