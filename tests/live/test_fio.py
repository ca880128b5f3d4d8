"""fio itself: on this machine and on virtual hosts."""

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from on_hosts import hosts_of
from perjoule import drivers
from perjoule.drivers.protocols import Check, FileSystem, Host, Mounted, Testbed, Workload
from perjoule.model import Json, Outcome
from perjoule.model.errors import TransientError, WorkloadError
from perjoule.model.units import MIB
from perjoule.workloads._running import remove_old
from sshd import until

pytestmark = pytest.mark.live

# A folder shared with clients that remove their files at this moment: names without types, of files that are
# gone when somebody asks for them, or when somebody removes them.
VANISHING = """
import errno, os, stat, sys
os.environ.setdefault("FUSE_LIBRARY_NAME", "fuse3")
from mfusepy import FUSE, FuseOSError, Operations

class Vanishing(Operations):
    use_ns = True
    def readdir(self, path, fh): return [(name, 0, 0) for name in (".", "..", "local.data", "client-2.data", "client-3.data")]
    def getattr(self, path, fh=None):
        if path == "/": return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
        if path == "/client-2.data": raise FuseOSError(errno.ENOENT)
        return {"st_mode": stat.S_IFREG | 0o644, "st_nlink": 1, "st_size": 4096}
    def unlink(self, path):
        with open(sys.argv[2], "a") as log: log.write(path + "\\n")
        raise FuseOSError(errno.ENOENT if sys.argv[3] == "gone" else errno.EACCES)

FUSE(Vanishing(), sys.argv[1], foreground=True, raw_fi=False, allow_other=True)
"""


def fio(**options: Json) -> Workload:
    made = drivers.build("workloads", "fio", options)
    assert isinstance(made, Workload)
    return made


def this_machine() -> Testbed:
    made = drivers.build("testbeds", "local", {})
    assert isinstance(made, Testbed)
    return made


def outcomes(
    testbed: str, clients_count: int, folder: Path, *loads: Workload, **options: Json
) -> list[Outcome]:
    """Run the loads one after the other on one deployment, each in a raw folder of its own."""
    (folder / "files").mkdir(exist_ok=True)
    bed = hosts_of(**options) if testbed == "virtual" else drivers.build("testbeds", testbed, options)
    files = drivers.build("filesystems", "directory", {"path": str(folder / "files")})
    assert isinstance(bed, Testbed)
    assert isinstance(files, FileSystem)
    found: list[Outcome] = []
    with bed.hold(clients_count) as hosts, files.mount(hosts) as mounted:
        for number, load in enumerate(loads):
            raw = folder / f"raw-{number}"
            raw.mkdir()
            load.prepare(hosts.clients, mounted, raw)
            outcome = load.run(hosts.clients, mounted, raw)
            found.append(load.read_back(hosts.clients, mounted, raw) or outcome)
            assert repr(load.outcome(raw)) == repr(found[-1])
    return found


def test_a_write_a_read_and_a_mix_move_what_was_requested(tmp_path: Path) -> None:
    loads = [
        fio(operation=operation, size="32 MiB", transfer="1 MiB") for operation in ("write", "read", "randrw")
    ]
    written, read, mixed = outcomes("local", 1, tmp_path, *loads)
    assert re.fullmatch(r"fio-\d\.\d+.*", written.engine)
    assert [(r.direction, r.moved_bytes, r.operations_count) for r in written.results] == [
        ("write", 32 * MIB, 32)
    ]
    assert [(r.direction, r.moved_bytes, r.operations_count) for r in read.results] == [
        ("read", 32 * MIB, 32)
    ]
    assert {r.direction for r in mixed.results} == {"write", "read"}
    assert sum(r.moved_bytes for r in mixed.results) == 32 * MIB
    for outcome in (written, read, mixed):
        for series in outcome.series:
            assert float((series.value * series.duration_s).sum()) == pytest.approx(32 * MIB, rel=0.01)


def test_a_read_uses_what_a_write_left_and_lays_out_what_is_missing(tmp_path: Path) -> None:
    loads = [
        fio(operation="write", size="8 MiB"),
        fio(operation="read", size="8 MiB"),
        fio(operation="read", size="16 MiB"),
    ]
    outcomes("local", 1, tmp_path, *loads)
    assert not list((tmp_path / "raw-1").glob("layout-*"))
    assert list((tmp_path / "raw-2").glob("layout-*.json"))


def test_a_client_removes_its_own_files_and_nothing_else(tmp_path: Path) -> None:
    folder, kept = (
        tmp_path / "a b",
        {"client-2.data", "client-10.data", "client-1.folder", "client-1.link", "other"},
    )
    (folder / "client-1.folder").mkdir(parents=True)
    for name in ("client-1.data", "client-1.crc32c 4", "client-2.data", "client-10.data", "other"):
        (folder / name).touch()
    (folder / "client-1.link").symlink_to("other")
    with this_machine().hold(1) as hosts:
        remove_old(hosts.clients[0], folder, "client-1.*", timeout_s=20)
        assert {path.name for path in folder.iterdir()} == kept
        with pytest.raises(WorkloadError, match=r"cd: .*: No such file"):  # and not: nothing is there
            remove_old(hosts.clients[0], folder / "none", "client-1.*", timeout_s=20)


@pytest.mark.parametrize("own", ["gone", "kept"])
def test_files_that_vanish_while_a_client_removes_its_own_are_no_fault(own: str, tmp_path: Path) -> None:
    folder, unlinked = tmp_path / "shared", tmp_path / "unlinked"
    folder.mkdir()
    serving = subprocess.Popen([sys.executable, "-c", VANISHING, folder, unlinked, own])
    try:
        until(folder.is_mount)
        with this_machine().hold(1) as hosts:
            if own == "gone":
                remove_old(hosts.clients[0], folder, "local.*", timeout_s=20)
            else:
                with pytest.raises(WorkloadError, match="Permission denied"):
                    remove_old(hosts.clients[0], folder, "local.*", timeout_s=20)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True, timeout=20)
        serving.wait(20)
    assert unlinked.read_text() == "/local.data\n"


def test_deep_queues_work_direct_and_buffered(tmp_path: Path) -> None:
    for direct in (True, False):
        folder = tmp_path / f"direct-{direct}"
        folder.mkdir()
        load = fio(operation="randread", size="8 MiB", transfer="64 KiB", in_flight=8, direct=direct)
        (outcome,) = outcomes("local", 1, folder, load)
        assert outcome.results[0].operations_count == 128


def test_a_runtime_ends_a_load_early(tmp_path: Path) -> None:
    load = fio(operation="randwrite", size="1 GiB", transfer="4 KiB", direct=True, duration="0.3 s")
    (outcome,) = outcomes("local", 1, tmp_path, load)
    assert 0 < outcome.results[0].moved_bytes < 1024 * MIB


def test_a_time_limit_ends_a_load_that_is_not_done(tmp_path: Path) -> None:
    with pytest.raises(TransientError, match=r"not finished within 0.3 s on local"):
        outcomes(
            "local",
            1,
            tmp_path,
            fio(operation="randwrite", size="1 GiB", direct=True, transfer="4 KiB", time_limit="0.3 s"),
        )


def test_a_full_disk_is_reported_with_fios_message(tmp_path: Path) -> None:
    small = tmp_path / "files"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", small], check=True, timeout=10)
    try:
        with pytest.raises(WorkloadError, match=r"local: fio failed .*error 28.*No space left on device"):
            outcomes("local", 1, tmp_path, fio(size="16 MiB"))
    finally:
        subprocess.run(["umount", small], check=True, timeout=10)


def test_virtual_clients_start_together_or_are_said_to_be_late(tmp_path: Path) -> None:
    spreads_s: list[float] = []
    for outcome in outcomes(
        "virtual", 2, tmp_path, *(fio(operation=one, size="64 MiB") for one in ("write", "read") * 3)
    ):
        assert [(r.host, r.moved_bytes) for r in outcome.results] == [
            ("client-1", 64 * MIB),
            ("client-2", 64 * MIB),
        ]
        starts_s = [r.began_s for r in outcome.results]
        spreads_s.append(max(starts_s) - min(starts_s))
        assert spreads_s[-1] < 0.05 or any("ms late" in doubt for doubt in outcome.doubts)
    assert min(spreads_s) < 0.05  # a machine whose CPU is taken away meanwhile starts some late


@pytest.mark.slow  # by day: over SSH: test_cluster.py
def test_fios_own_servers_load_from_all_clients_and_are_gone_afterwards(tmp_path: Path) -> None:
    loads = [
        fio(operation=operation, size="16 MiB", transfer="1 MiB", client_server=True)
        for operation in ("write", "randrw")
    ]
    left: list[str] = []
    look = Aside(lambda _: left.extend(processes_with("fio", "--server=ip:")))
    written, _, mixed = outcomes("virtual", 2, tmp_path, loads[0], look, loads[1])
    assert sorted((r.host, r.moved_bytes) for r in written.results) == [
        ("client-1", 16 * MIB),
        ("client-2", 16 * MIB),
    ]
    assert sum(r.moved_bytes for r in mixed.results) == 32 * MIB
    assert left == []


@pytest.mark.alone  # other tests have servers of fio on this address, too
def test_servers_end_with_a_time_limit_and_their_jobs_with_them(tmp_path: Path) -> None:
    endless = fio(
        operation="randwrite",
        size="1 GiB",
        transfer="4 KiB",
        direct=True,
        client_server=True,
        time_limit="1 s",
    )
    with pytest.raises(TransientError, match="fio not finished within 1 s"):
        outcomes("local", 1, tmp_path, endless)
    assert processes_with("fio", "--server=ip:127.0.0.1") == []


def processes_with(*words: str) -> list[str]:
    """Command lines of this machine's programs that have all of these words."""
    lines = [
        path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        for path in Path("/proc").glob("[0-9]*/cmdline")
    ]
    return [line for line in lines if all(word in line for word in words)]


@pytest.mark.slow  # by day: over SSH: test_cluster.py; tests/unit/workloads/fio/test_steady.py
def test_a_load_continues_until_it_is_steady_or_has_had_its_rounds(tmp_path: Path) -> None:
    load = fio(operation="randwrite", size="16 MiB", transfer="64 KiB", direct=True, round="0.5 s", rounds=8)
    windows_s: list[float] = []
    for outcome in outcomes("virtual", 2, tmp_path, load, load):
        assert {r.host for r in outcome.results} == {"client-1", "client-2"}
        windows_s.append(max(r.ended_s - r.began_s for r in outcome.results))
        assert all(r.ended_s - r.began_s > 2.3 for r in outcome.results)
        assert 0 <= outcome.measured["warm_up_rounds_count"] <= 3
        unsteady = re.search("not steady after 8 rounds", " ".join(outcome.doubts))
        assert not unsteady or outcome.measured["warm_up_rounds_count"] == 3
    assert min(windows_s) < 2.7  # five rounds; a machine whose CPU is taken away meanwhile may end one late


def test_what_was_written_is_verified_over_cold_caches_and_a_lie_is_found(tmp_path: Path) -> None:
    same = {"size": "4 MiB", "transfer": "64 KiB", "verify": "crc32c"}
    written, read = outcomes(
        "virtual", 2, tmp_path, fio(operation="write", **same), fio(operation="randread", **same)
    )
    assert "read back and verified (crc32c)" in written.note
    assert [(r.direction, r.moved_bytes) for r in read.results] == [("read", 4 * MIB)] * 2
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(WorkloadError, match=r"local: fio failed .*error 84.*verify"):
        outcomes("local", 1, other, fio(operation="write", **same), Aside(lie), fio(operation="read", **same))


def lie(mounted: Mounted) -> None:
    """Change one byte of each file, behind fio's back."""
    for path in mounted.directories["local"].glob("*.crc32c-*"):
        with path.open("r+b") as file:
            file.seek(1_000_000)
            file.write(b"!")


class Aside(Workload):
    """Do something else between two loads."""

    def __init__(self, do: Callable[[Mounted], object]) -> None:
        self.do = do

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        self.do(mounted)

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        return self.outcome(folder)

    def outcome(self, folder: Path) -> Outcome:
        return Outcome("aside", ())

    def checks(self) -> tuple[Check, ...]:
        return ()

    def moved_bytes(self, clients_count: int) -> int:
        return 0


JOB = """
[global]
size=4m
bs=64k
filename=data
[w]
rw=write
end_fsync=1
[mix]
stonewall
rw=randrw
numjobs=2
percentile_list=50:99.5
"""


def test_a_job_file_is_measured_as_it_is_on_every_client(tmp_path: Path) -> None:
    (outcome,) = outcomes("virtual", 2, tmp_path, fio(job={"name": "my.fio", "text": JOB}))
    for host in ("client-1", "client-2"):
        own = {(r.user, r.direction): r for r in outcome.results if r.host == host}
        assert own["w", "write"].moved_bytes == 4 * MIB
        assert own["mix", "write"].moved_bytes + own["mix", "read"].moved_bytes == 8 * MIB
        assert own["mix", "read"].began_s >= own["w", "write"].ended_s - 0.002
    assert (tmp_path / "raw-0" / "job.fio").read_text() == JOB
