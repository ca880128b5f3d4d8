"""Lines of `perjoule meters watch`: whatever the width, no number is cut."""

import numpy as np
import pytest
from rich.cells import cell_len

from perjoule.cli.meters._plot import plot
from perjoule.model import Channel, Series


def watts(host: str, *values: float) -> Series:
    channel = Channel("shelly", host, "all", "power", "W", "window mean", "wall")
    t_s = np.arange(1.0, len(values) + 1)
    return Series(channel, t_s, np.ones(len(values)), np.array(values))


SERIES = (watts("storage-1", 35.5, 1235.5, 36.25), watts("a host with a long name", 5.5, 6.5, np.nan))


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_watts_are_whole_at_any_width(width: int) -> None:
    text = plot(SERIES, 3.5, width=width, span_s=60.0).plain
    assert max(map(cell_len, text.splitlines())) <= width
    for number in ("36.25", "435.8", "35.50", "1236", "6.50", "5.50", "6.00", "no answer"):
        assert number in text
    assert "…" not in text
    assert any(bar in text for bar in "▁▂▃▄▅▆▇█") == (width >= 80)


def test_a_channel_without_readings_says_so() -> None:
    lines = plot((watts("storage-1"),), 3.5, width=80, span_s=60.0).plain.splitlines()
    assert lines[0].endswith("last 60 s")
    assert lines[1].split() == ["shelly", "power", "storage-1", "–", "–", "–", "–", "nothing", "yet"]
