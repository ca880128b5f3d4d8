"""elbencho itself, on virtual clients; on machines that have it on the PATH."""

import time
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


def elbencho(**options: Json) -> Workload:
    geometry: dict[str, Json] = {"size": "24 MiB", "threads": 2, "folders": 2, "files": 3}
    made = drivers.build("workloads", "elbencho", {**geometry, "transfer": "64 KiB", **options})
    assert isinstance(made, Workload)
    return made


MISSING = lacking(elbencho().checks())
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


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


def loaded(hosts: Hosts, mounted: Mounted, raw: Path, load: Workload) -> Outcome:
    raw.mkdir()
    load.prepare(hosts.clients, mounted, raw)
    before_s = time.monotonic()
    outcome = load.run(hosts.clients, mounted, raw)
    assert before_s < outcome.began_s < outcome.ended_s < time.monotonic()
    assert repr(load.outcome(raw)) == repr(outcome)
    return outcome


def sizes(files: Path, client: str) -> list[int]:
    return [path.stat().st_size for path in (files / f"{client}.elbencho").rglob("*-f*")]


def test_what_one_load_writes_the_next_ones_read(hosts: Hosts, files: Path, tmp_path: Path) -> None:
    written_ns: dict[Path, int] = {}
    loads: dict[str, dict[str, Json]] = {
        "write": {},
        "read": {"transfer": "256 KiB"},
        "randread": {"direct": True, "in_flight": 4},
    }
    for operation, options in loads.items():
        load = elbencho(operation=operation, **options)
        outcome = loaded(hosts, Shared(hosts, files), tmp_path / operation, load)
        assert outcome.engine.startswith("elbencho ")
        direction = "write" if operation == "write" else "read"
        calls_count = 24 * MIB // (load.pattern.transfer_bytes or 0)
        assert [(r.host, r.direction, r.moved_bytes, r.operations_count) for r in outcome.results] == [
            (client, direction, 24 * MIB, calls_count) for client in ("client-1", "client-2")
        ]
        first, second = outcome.results
        assert abs(first.began_s - second.began_s) < 0.5
        assert sizes(files, "client-1") == sizes(files, "client-2") == [2 * MIB] * 12
        written_ns = written_ns or {path: path.stat().st_mtime_ns for path in files.rglob("*-f*")}
    assert {path: path.stat().st_mtime_ns for path in files.rglob("*-f*")} == written_ns


def test_a_random_write_leaves_no_hole(hosts: Hosts, files: Path, tmp_path: Path) -> None:
    loaded(hosts, Shared(hosts, files), tmp_path / "raw", elbencho(operation="randwrite", direct=True))
    paths = [*files.rglob("*-f*")]
    assert len(paths) == 24
    for path in paths:
        assert path.stat().st_blocks * 512 >= path.stat().st_size == 2 * MIB
        content = path.read_bytes()
        assert not any(content[at : at + 4096] == bytes(4096) for at in range(0, len(content), 4096))


def test_files_that_were_cut_are_laid_out_again(hosts: Hosts, files: Path, tmp_path: Path) -> None:
    mounted = Shared(hosts, files)
    loaded(hosts, mounted, tmp_path / "write", elbencho())
    cut, *_ = sorted((files / "client-2.elbencho").rglob("*-f*"))
    with cut.open("r+b") as file:
        file.truncate(MIB)
    loaded(hosts, mounted, tmp_path / "read", elbencho(operation="read"))
    assert sizes(files, "client-2") == [2 * MIB] * 12


def test_a_load_that_takes_too_long_is_ended(hosts: Hosts, files: Path, tmp_path: Path) -> None:
    mounted = Shared(hosts, files)
    (tmp_path / "raw").mkdir()
    slow: dict[str, Json] = {"size": "12 GiB", "transfer": "4 KiB", "direct": True}
    elbencho(**slow).prepare(hosts.clients, mounted, tmp_path / "raw")
    with pytest.raises(TransientError, match="elbencho not finished within 1 s on client-1, client-2"):
        elbencho(**slow, time_limit="1 s").run(hosts.clients, mounted, tmp_path / "raw")
    written_bytes = sum(sizes(files, "client-1"))
    time.sleep(0.5)
    assert sum(sizes(files, "client-1")) == written_bytes


def test_nothing_is_written_below_a_mount_that_is_gone(hosts: Hosts, files: Path, tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    mounted = Shared(hosts, files / "gone")
    with pytest.raises(WorkloadError, match="gone"):
        elbencho().prepare(hosts.clients, mounted, tmp_path / "raw")
    assert not [*files.iterdir()]
