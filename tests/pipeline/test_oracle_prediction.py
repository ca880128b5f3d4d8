"""What `perjoule predict` says is what a second calculation makes of the profile's file and the
catalogue's.
"""

import json
from math import inf
from pathlib import Path
from typing import Any

import pytest

from commanded import printed
from oracle.prediction import predicted
from perjoule.model import Direction, Redundancy
from perjoule.prediction.fitting import Fit, Works
from perjoule.prediction.profile import Known, Profile
from perjoule.prediction.queueing import Way
from perjoule.prediction.validation import Test
from perjoule.store.records import to_json
from tests import made

CLIENTS = (1, 4, 64)  # of the last, servers' memory can't hold all that is left to be written back
CLUSTER = "odroid-hc4"
WAY = Way(in_flight=3.0, overlap=2.5, on_disk_ratio=0.3, fixed_s=0.05, at_once=1.5, cpu_ratio=0.7)
UNEVEN = ((Redundancy(1, acknowledged="in memory"), 1.3),)
NUMBERS = ("throughput_bytes_per_s", "mean_w", "efficiency_bytes_per_j")


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A profile whose numbers are made by hand; those of reads say that data wait to be written back, as
    of writes.
    """
    fit = Fit(Works(3e-5, 9e-5), WAY, UNEVEN)
    tests = tuple(Test("clients", float(n), 1e8, 1.05e8, 5.0, 5.1, {}, 5.0) for n in range(1, 11))
    ways: tuple[Direction, ...] = ("write", "read")
    points = [one for way in ways for one in made.points(direction=way, repetitions_count=1)]
    known: dict[Direction, Known] = {way: Known(fit, (fit, fit), tests) for way in ways}
    found = Profile(
        "moosefs", {"goal": 1}, "made up", ("storage",), inf, True, tuple(points), known, cpu_of="window"
    )
    file = tmp_path_factory.mktemp("prediction") / "made.json"
    data = to_json(found)
    assert isinstance(data, dict)
    file.write_text(json.dumps({**data, "digest": found.digest}))
    return file


def said(profile: Path, copies_count: int) -> list[dict[str, Any]]:
    """Each prediction, as `--json` prints it."""
    clients = ",".join(map(str, CLIENTS))
    words = ("--on", CLUSTER, "--clients", clients, "--set", f"goal={copies_count}", "--json")
    return json.loads(printed("predict", profile, *words))["predictions"]


@pytest.mark.parametrize("copies_count", [1, 2])
def test_a_prediction_is_that_of_the_second_calculation_and_of_reads_nothing_is_written_back(
    profile: Path, copies_count: int
) -> None:
    data, found = json.loads(profile.read_text()), said(profile, copies_count)
    assert {(one["direction"], one["clients_count"]) for one in found} == {
        (w, n) for w in ("write", "read") for n in CLIENTS
    }
    for one in found:
        own = predicted(data, CLUSTER, copies_count, one["direction"], one["clients_count"])
        assert {name: one[name][0] for name in NUMBERS} == pytest.approx(own, rel=1e-9), one["direction"]
