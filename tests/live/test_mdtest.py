"""mdtest itself, its ranks in virtual clients; where it is (on the PATH or by PERJOULE_IOR_PREFIX), and
Open MPI 4.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lacking import lacking
from on_hosts import Shared
from perjoule import drivers
from perjoule.drivers.protocols import Hosts, Mounted, Testbed, Workload
from perjoule.model import Json, Outcome
from perjoule.model.errors import WorkloadError


def mdtest(**options: Json) -> Workload:
    made = drivers.build("workloads", "mdtest", {"files": 50, **options})
    assert isinstance(made, Workload)
    return made


MISSING = lacking(mdtest().checks())
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(bool(MISSING), reason=MISSING),
]


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    bed = drivers.build("testbeds", "virtual", {"servers": 1, "disk": "directory"})
    assert isinstance(bed, Testbed)
    with bed.hold(2) as held:
        yield held


def loaded(hosts: Hosts, mounted: Mounted, raw: Path, load: Workload) -> Outcome:
    raw.mkdir()
    load.prepare(hosts.clients, mounted, raw)
    outcome = load.run(hosts.clients, mounted, raw)
    assert repr(load.outcome(raw)) == repr(outcome)
    return outcome


def test_files_are_made_looked_at_and_removed(hosts: Hosts, tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    mounted = Shared(hosts, files)
    for operation, left_count in (("create", 200), ("stat", 200), ("remove", 0)):
        options: dict[str, Json] = {"reorder": True} if operation == "stat" else {}
        outcome = loaded(
            hosts, mounted, tmp_path / operation, mdtest(operation=operation, ranks=2, **options)
        )
        assert outcome.engine.startswith("mdtest-")
        direction = "read" if operation == "stat" else "write"
        assert [(r.host, r.direction, r.operations_count, r.moved_bytes) for r in outcome.results] == [
            ("client-1", direction, 100, 0),
            ("client-2", direction, 100, 0),
        ]
        assert all(r.ended_s > r.began_s for r in outcome.results)
        assert len([path for path in files.rglob("file.*") if path.is_file()]) == left_count


def test_folders_may_all_be_in_one(hosts: Hosts, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    load = mdtest(folders=True, own_folder=False)
    outcome = loaded(hosts, Shared(hosts, tmp_path / "files"), tmp_path / "raw", load)
    assert [r.operations_count for r in outcome.results] == [50, 50]


def test_clients_with_folders_of_their_own_are_refused(hosts: Hosts, tmp_path: Path) -> None:
    for name in ("files", "other", "raw"):
        (tmp_path / name).mkdir()
    mounted = Shared(hosts, tmp_path / "files")
    mounted.directories = {**mounted.directories, "client-2": tmp_path / "other"}
    with pytest.raises(WorkloadError, match=r"client-2: mdtest needs one folder for all clients"):
        mdtest().prepare(hosts.clients, mounted, tmp_path / "raw")
