"""SeaweedFS's folders for real: what its servers move is explained by its copies."""

from pathlib import Path

import pytest

from lacking import lacking
from perjoule import campaign, drivers
from perjoule.drivers.protocols import FileSystem
from perjoule.execution import runner
from perjoule.measures.amplification import MEASURED, OPPOSITE, SUBJECTS, TOLERANCE_RATIO
from perjoule.measures.points import points
from perjoule.results.verification import verify
from perjoule.store import create, open_results

CAMPAIGN = """
name = "folders"
clients = 2
repetitions = 1
settle = "0.1 s"
quiet = "1 s"
[testbed]
kind = "virtual"
disk = "directory"
cpu_cap = false
servers = 4
[[filesystem]]
kind = "seaweedfs"
replication = "001"
[[workload]]
kind = "fio"
operation = ["write", "read"]
size = "64 MiB"
[[meter]]
kind = "system"
"""


def lacks() -> str:
    store = drivers.build("filesystems", "seaweedfs", {})
    assert isinstance(store, FileSystem)
    return lacking(store.checks())


@pytest.mark.slow  # by day: test_filesystem_contract.py; tests/unit/measures/test_amplification.py
@pytest.mark.live
@pytest.mark.skipif(bool(lacks()), reason=lacks())
def test_bytes_of_servers_are_explained_by_copies_which_a_first_server_passes_on(tmp_path: Path) -> None:
    wanted = campaign.parse(CAMPAIGN)
    runner.run(wanted, create(tmp_path / "results", wanted.text, wanted.name), lambda event: None)
    results = open_results(tmp_path / "results")
    seen: set[str] = set()
    for record in results.latest():
        assert (record.status, record.reason) == ("valid", "")
        (point,) = points(record, results.series(record))
        seen.add(point.direction)
        derived = {name: point.metrics[f"derived_{MEASURED[name]}"] for name in OPPOSITE}
        measured = {name: point.metrics[MEASURED[name]] for name in OPPOSITE}
        print(point.direction, [(derived[name], measured[name]) for name in OPPOSITE])
        assert measured == pytest.approx(derived, rel=TOLERANCE_RATIO, abs=TOLERANCE_RATIO)
        assert not [doubt for doubt in point.doubts if any(s in doubt for s in SUBJECTS.values())]
    assert seen == {"write", "read"}
    assert verify(results).differences == ()
