"""One storage host ten times slower than the others is named, and where none is, none is named."""

from pathlib import Path

import pytest

from perjoule import campaign
from perjoule.execution import runner
from perjoule.measures.points import points
from perjoule.store import create, open_results
from perjoule.testbeds.virtual.host import VirtualHost

pytestmark = pytest.mark.live

SLOW = "storage-2"
CAMPAIGN = """
name = "slow"
repetitions = 1
clients = [8]  # enough files that each host has some of them
settle = "200 ms"
quiet = 0
[testbed]
kind = "virtual"
servers = 2
disk = "xfs"
scale = 0.2
[[filesystem]]
kind = "moosefs"
goal = 1
[[workload]]
kind = "fio"
operation = "read"
transfer = "1 MiB"
size = "16 MiB"
[[meter]]
kind = "system"
"""


# Beside other tests any host may be slower.
@pytest.mark.slow  # by day: tests/unit/measures/test_stragglers.py
@pytest.mark.parametrize("factor", [pytest.param(1, marks=pytest.mark.alone), 10])
def test_a_storage_host_with_a_tenth_of_the_others_disk_rate_is_named(
    factor: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cap = VirtualHost.cap_disks
    monkeypatch.setattr(
        VirtualHost, "cap_disks", lambda host, scale: cap(host, scale / (factor if host.name == SLOW else 1))
    )
    wanted = campaign.parse(CAMPAIGN)
    runner.run(wanted, create(tmp_path / "results", wanted.text, wanted.name), lambda event: None)
    results = open_results(tmp_path / "results")
    (record,) = results.latest()
    assert record.reason == ""
    (point,) = points(record, results.series(record))
    named = [doubt for doubt in point.doubts if "slower than the other data hosts" in doubt]
    if factor == 1:
        assert named == []
    else:
        (doubt,) = named
        assert doubt.startswith(f"{SLOW} was slower than the other data hosts ("), doubt
        assert "reading from its disks took it " in doubt
