"""A simulated load read again: its log has windows of half a second, of a load of any length no more than
memory holds.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from perjoule import drivers
from perjoule.model import Series, Spec


def calls(folder: Path, length_s: float) -> Series:
    """The log of a load of 1000 calls."""
    result = {
        "host": "client-1",
        "direction": "write",
        "began_s": 10.0,
        "ended_s": 10.0 + length_s,
        "moved_bytes": 1000,
    }
    (folder / "simulated.json").write_text(
        json.dumps({"results": [{**result, "operations_count": 1000}], "doubts": []})
    )
    found = drivers.workload(Spec("simulated", {})).outcome(folder)
    return next(one for one in found.series if one.channel.quantity == "calls")


def test_windows_are_half_a_second_until_there_are_too_many(tmp_path: Path) -> None:
    assert calls(tmp_path, 2.25).duration_s.tolist() == [0.5, 0.5, 0.5, 0.5, 0.25]
    many = calls(tmp_path, 2e9)
    assert len(many.value) == pytest.approx(10_000, abs=1)
    assert many.duration_s == pytest.approx(2e5)
    assert np.sum(many.value) == 1000
