"""IOR itself, its ranks in virtual clients; on machines that have IOR (on the PATH or by
PERJOULE_IOR_PREFIX) and Open MPI 4.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lacking import lacking
from on_hosts import Shared
from perjoule import drivers
from perjoule.drivers.protocols import Hosts, Mounted, Testbed, Workload
from perjoule.model import Json, Outcome
from perjoule.model.errors import TransientError, WorkloadError
from perjoule.model.units import MIB


def ior(**options: Json) -> Workload:
    made = drivers.build("workloads", "ior", {"size": "8 MiB", "transfer": "1 MiB", **options})
    assert isinstance(made, Workload)
    return made


MISSING = lacking(ior().checks())
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(bool(MISSING), reason=MISSING),
]


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    bed = drivers.build("testbeds", "virtual", {"servers": 1, "disk": "directory"})
    assert isinstance(bed, Testbed)
    with bed.hold(3) as held:
        yield held


@pytest.fixture
def mounted(hosts: Hosts, tmp_path: Path) -> Mounted:
    (tmp_path / "files").mkdir()
    return Shared(hosts, tmp_path / "files")


def loaded(hosts: Hosts, mounted: Mounted, raw: Path, load: Workload, clients_count: int = 2) -> Outcome:
    clients = hosts.clients[:clients_count]
    raw.mkdir()
    load.prepare(clients, mounted, raw)
    outcome = load.run(clients, mounted, raw)
    assert repr(load.outcome(raw)) == repr(outcome)
    return outcome


def test_ranks_run_inside_the_clients_and_each_client_has_its_bytes_and_its_window(
    hosts: Hosts, mounted: Mounted, tmp_path: Path
) -> None:
    written = loaded(hosts, mounted, tmp_path / "write", ior(ranks=2), 3)
    read = loaded(hosts, mounted, tmp_path / "read", ior(ranks=2, operation="read", reorder=True), 3)
    for outcome, direction in ((written, "write"), (read, "read")):
        assert outcome.engine.startswith("IOR-")
        assert [(r.host, r.direction, r.moved_bytes, r.operations_count) for r in outcome.results] == [
            (client.name, direction, 8 * MIB, 8) for client in hosts.clients
        ]
        assert all(0 < r.ended_s - r.began_s < 30 for r in outcome.results)
        assert max(r.began_s for r in outcome.results) - min(r.began_s for r in outcome.results) < 0.5
    assert "nodes" in (tmp_path / "write" / "ior.json").read_text()
    assert not list((tmp_path / "read").glob("layout-*"))  # what the write left is read
    log = (tmp_path / "write" / "ior.log").read_text()
    assert "OMPI_COMM_WORLD_SIZE=6" in log
    assert "PYTEST_CURRENT_TEST" not in log  # IOR prints its environment, which is not ours


def test_one_file_for_all_is_laid_out_and_read_by_mpi_io(
    hosts: Hosts, mounted: Mounted, tmp_path: Path
) -> None:
    options: dict[str, Json] = {"shared_file": True, "api": "MPIIO", "collective": True, "operation": "read"}
    outcome = loaded(hosts, mounted, tmp_path / "read", ior(**options))
    assert (mounted.directories["client-1"] / "ior.shared").stat().st_size == 16 * MIB
    assert [r.moved_bytes for r in outcome.results] == [8 * MIB, 8 * MIB]
    assert list((tmp_path / "read").glob("layout-ior.json"))


def test_a_stonewall_counts_what_was_moved(hosts: Hosts, mounted: Mounted, tmp_path: Path) -> None:
    load = ior(size="4 GiB", transfer="16 KiB", stonewall="1 s", fsync=False, direct=True)
    outcome = loaded(hosts, mounted, tmp_path / "raw", load, 1)
    moved = sum(file.stat().st_size for file in mounted.directories["client-1"].glob("ior.part*"))
    assert 0 < outcome.results[0].moved_bytes == moved < 4096 * MIB


def test_a_shared_file_needs_a_shared_folder(hosts: Hosts, mounted: Mounted, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    mounted.directories = {**mounted.directories, "client-2": tmp_path / "other"}
    with pytest.raises(WorkloadError, match=r"client-2: a shared file needs one folder for all clients"):
        loaded(hosts, mounted, tmp_path / "raw", ior(shared_file=True))
    loaded(hosts, mounted, tmp_path / "each", ior())  # files of their own need none
    assert sorted(p.name for p in (tmp_path / "other").iterdir()) == ["ior.rank.00000001"]


def test_a_time_limit_ends_all_ranks(hosts: Hosts, mounted: Mounted, tmp_path: Path) -> None:
    with pytest.raises(TransientError, match=r"ior not finished within 3 s on client-1"):
        loaded(
            hosts,
            mounted,
            tmp_path / "raw",
            ior(size="64 GiB", transfer="4 KiB", direct=True, time_limit="3 s"),
        )
    for client in hosts.clients[:2]:
        running = client.run(["ps", "-eo", "stat=,comm="], timeout_s=10).stdout.splitlines()
        assert not [
            line for line in running if line.split()[-1] in ("ior", "orted", "mpirun") and line[0] != "Z"
        ]


def test_a_full_disk_is_reported_with_iors_message(hosts: Hosts, mounted: Mounted, tmp_path: Path) -> None:
    client, small = hosts.clients[0], mounted.directories["client-1"]
    client.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small], timeout_s=10)
    try:
        with pytest.raises(WorkloadError, match=r"ior failed .*No space left on device"):
            loaded(hosts, mounted, tmp_path / "raw", ior(), 1)
    finally:
        client.run(["umount", small], timeout_s=10)
