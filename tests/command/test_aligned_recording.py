"""A recording from elsewhere finds its place by the load patterns of a campaign."""

from pathlib import Path

import numpy as np
import pytest

from measured import measured
from perjoule.execution.clocks import clock_sync
from perjoule.model import Channel
from perjoule.store.patterns import read_patterns
from perjoule.store.recordings import Recording, read_recording


@pytest.mark.slow  # by day: tests/unit/execution/clocks
def test_a_recorders_clock_is_found_by_the_load_patterns_of_the_campaign(tmp_path: Path) -> None:
    results = measured(tmp_path / "results", 'repetitions = 1\nsettle = "200 ms"\nquiet = 0\nalign = "6 s"')
    patterns = read_patterns(results.folder)
    assert len(patterns) == 2 and all(len(load.edges_s) >= 4 for load, _ in patterns)
    sink = Recording(tmp_path / "lmg.csv")
    whole = Channel("lmg", "", "total", "power", "W", "window mean", "wall")
    ahead_s, width_s = 1.3, 0.25
    first_s, last_s = patterns[0][0].edges_s[0] - 3, patterns[-1][0].edges_s[-1] + 3
    on = [
        (low, high)
        for load, _ in patterns
        for low, high in zip(load.edges_s[::2], load.edges_s[1::2], strict=True)
    ]
    for t_s in np.arange(first_s, last_s, width_s):
        share = sum(max(0.0, min(t_s, high) - max(t_s - width_s, low)) for low, high in on) / width_s
        sink.append(whole, t_s + ahead_s, 40 + 15 * share, width_s)
    sink.close()
    found = clock_sync.clock_of(read_recording(tmp_path / "lmg.csv"), results)
    assert found is not None
    assert found.offset_s == pytest.approx(ahead_s, abs=0.02)
    assert found.drift_ratio == pytest.approx(0, abs=0.005)
