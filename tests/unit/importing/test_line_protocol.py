"""Power in InfluxDB's line protocol, in the form of
https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/ and of `influx_inspect export`; numbers are made
up.
"""

from pathlib import Path
from random import Random

import numpy as np
import pytest

from perjoule.importing.power import logs
from perjoule.model import Series
from perjoule.model.errors import CampaignError, PerjouleError

T = 1_792_929_600  # seconds of UTC
NS = 10**9
EXPORT = rf"""# DDL
CREATE DATABASE energy WITH NAME autogen
# DML
# CONTEXT-DATABASE:energy
# CONTEXT-RETENTION-POLICY:autogen
power\ log,host=storage-1,rack=r\ 1\,2 power=41.25,note="a b, c=\"d\" \\" {T * NS + 750_000_000}
power\ log,host=storage-1,rack=r\ 1\,2 power=40.5 {T * NS + 250_000_000}
power\ log,host=storage-1,rack=r\ 1\,2 volt=230i {T * NS + 250_000_000}
power\ log,host=storage-1,rack=r\ 1\,2 on=true,power=4.3e1 {T * NS + 1_750_000_000}
power\ log,host=storage-2,rack=r\ 1\,2 power=70i {T * NS + 250_000_000}
power\ log,host=storage-2,rack=r\ 1\,2 power=71u {T * NS + 750_000_000}
"""
DECLARED = ("value=power", "unit=W", "semantics=instantaneous", "grade=wall")
ONE = 'where={host="storage-1"}'


def read(folder: Path, text: str, *options: str) -> Series:
    path = folder / "power.lp"
    path.write_text(text)
    (log,) = logs(path, (*DECLARED, *options), (), "UTC")
    (series,) = log.series
    return series


def test_one_series_of_an_export_is_read_in_the_order_of_time(tmp_path: Path) -> None:
    series = read(tmp_path, EXPORT, ONE)
    assert np.allclose(series.t_s - T, [0.25, 0.75, 1.75], rtol=0, atol=1e-6)
    assert series.value.tolist() == [40.5, 41.25, 43.0]


def test_measurements_and_tags_choose_with_what_their_escapes_stand_for(tmp_path: Path) -> None:
    where = 'where={_measurement="power log", rack="r 1,2", host="storage-2"}'
    assert read(tmp_path, EXPORT, where).value.tolist() == [70.0, 71.0]


def test_series_that_one_tag_distinguishes_are_added_up(tmp_path: Path) -> None:
    """A moment that lacks one of them is a gap."""
    series = read(tmp_path, EXPORT, "by=host")
    assert np.array_equal(series.value, [110.5, 112.25, np.nan], equal_nan=True)
    assert read(tmp_path, EXPORT, "by=host", 'only=["storage-2"]').value.tolist() == [70.0, 71.0]


@pytest.mark.parametrize(("clock", "factor"), [("unix", 1), ("unix ms", 1000), ("unix us", 10**6)])
def test_times_of_another_unit_are_declared(tmp_path: Path, clock: str, factor: int) -> None:
    text = f"plug power=5 {T * factor}\nplug power=6 {(T + 1) * factor}\n"
    assert (read(tmp_path, text, f"clock={clock}").t_s - T).tolist() == [0, 1]
    with pytest.raises(CampaignError, match="no time in nanoseconds"):
        _ = read(tmp_path, text)


def test_a_file_of_commas_alone_is_still_one_with_columns(tmp_path: Path) -> None:
    text = "serial 4 x=1\ntime,power\n2026-10-25T12:00:00Z,5\n2026-10-25T12:00:01Z,6\n"
    assert read(tmp_path, text).value.tolist() == [5.0, 6.0]


LINE = f"plug,host=a power=5 {T * NS}\n"


@pytest.mark.parametrize(
    ("text", "options", "fault"),
    [
        (EXPORT, (), "2 series have"),
        (EXPORT, ("by=rack",), "2 series have"),
        (EXPORT, ("by=outlet",), 'no tag "outlet"'),
        (EXPORT, ('where={host="storage-3"}',), "no series is as where says"),
        (EXPORT, (ONE, "value=energy"), "set value to one of note, on, power, volt"),
        (EXPORT, (ONE, "value=on"), "is true, no number"),
        (EXPORT, (ONE, "value=note"), "no number"),
        (LINE + f"plug,host=a power=6 {T * NS}\n", (), "another value at the same time"),
        (LINE + f"plug,host=b power=5 {T * NS}\n", (), "2 series have"),
        (LINE + f"meter,host=a power=5 {T * NS}\n", (), "2 series have"),
        (LINE + LINE + "plug,host=a power=5\n", (), "line 3 has no time"),
        (LINE + LINE + f"plug,host=a power=NaN {T * NS}\n", (), "no number"),
        (LINE + LINE + f"plug,host=a power=1e999 {T * NS}\n", (), "no number"),
        (LINE + LINE + f"plug,host=a power=٣ {T * NS}\n", (), "no number"),
        (LINE + LINE + f"plug,host=a,host=b power=5 {T * NS}\n", (), "a tag twice"),
        (LINE + LINE + f"plug,host=a power=5,power=6 {T * NS}\n", (), "a field twice"),
        (LINE + LINE + f'plug,host=a note="over\ntwo lines" {T * NS}\n', (), "line 3 is not in"),
        (LINE + LINE + "plug,host=a pow", (), "line 3 is not in"),
        (LINE + LINE + f"plug,host= power=5 {T * NS}\n", (), "line 3 is not in"),
        (LINE + LINE + f"plug,host=a power=5 {T * NS}0\n", (), "no time in nanoseconds"),
        (LINE + LINE + f"plug,host=a power=5 -{T * NS}\n", (), "no time in nanoseconds"),
    ],
)  # fmt: skip
def test_what_is_ambiguous_or_damaged_is_refused(
    tmp_path: Path, text: str, options: tuple[str, ...], fault: str
) -> None:
    with pytest.raises(CampaignError, match=fault):
        _ = read(tmp_path, text, *options)


def test_a_text_that_would_take_a_careless_reader_for_ever_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="line 3 is not in"):
        _ = read(tmp_path, LINE + LINE + "plug," + "a=" * 50_000 + "\\" * 50_000)


def test_changed_bytes_give_a_series_or_a_clear_error(tmp_path: Path) -> None:
    chance = Random(45)
    letters = ' ,="\\\n#x9\0\x1b²'
    for _ in range(200):
        text = list(EXPORT)
        for _ in range(chance.randint(1, 4)):
            text[chance.randrange(len(text))] = chance.choice(letters)
        try:
            series = read(tmp_path, "".join(text), ONE)
        except PerjouleError:
            continue
        assert np.all(np.diff(series.t_s) >= 0)
