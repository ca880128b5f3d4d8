"""The few lines of a first measurement: why watts are missing."""

from perjoule.cli.terminal import few
from perjoule.model import Cell
from perjoule.model.doubts import METERS

RATE = "throughput_bytes_per_s"


def lines(cell: Cell, *, remote: bool = False) -> str:
    return "\n".join(few._missing([cell], [few.NAS if remote else "here"], remote))


def test_a_meter_that_fell_silent_is_the_reason_before_any_other() -> None:
    silent = METERS.doubt("shelly: 29 of 37 reads failed, the last with: Connection refused")
    text = lines(Cell("local", "fio", "write", 1, {}, doubts=(silent,)))
    assert text.startswith(f"watts: {silent}; check the meter, then measure again")
    assert "parts alone" not in text


def test_meters_of_parts_need_one_of_the_whole() -> None:
    text = lines(Cell("local", "fio", "write", 1, {}))
    assert "parts alone" in text
    assert "the whole machine" in text
