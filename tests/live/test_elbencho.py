"""elbencho itself, on virtual clients; on machines that have it on the PATH, with S3 for objects."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lacking import lacking
from on_hosts import Shared
from perjoule import campaign, drivers
from perjoule.drivers.protocols import (
    Bucket,
    FileSystem,
    Host,
    Hosts,
    Mounted,
    OffersBuckets,
    Testbed,
    Workload,
)
from perjoule.execution import runner
from perjoule.measures.amplification import MEASURED, OPPOSITE, TOLERANCE_RATIO
from perjoule.measures.points import points
from perjoule.model import Json, Outcome
from perjoule.model.errors import ProgramFailed, TransientError, WorkloadError
from perjoule.model.units import MIB
from perjoule.results.verification import verify
from perjoule.store import create, open_results
from perjoule.testbeds.local import LocalHost
from s3_store import BUCKET, KEY, REGION, SECRET, S3Store, credentials, refusal, s3_store
from scripted import ScriptedMount


def elbencho(**options: Json) -> Workload:
    geometry: dict[str, Json] = {"size": "24 MiB", "threads": 2, "folders": 2, "files": 3}
    made = drivers.build("workloads", "elbencho", {**geometry, "transfer": "64 KiB", **options})
    assert isinstance(made, Workload)
    return made


MISSING, MISSING_S3 = lacking(elbencho().checks()), lacking(elbencho(access="buckets").checks())
needs_s3 = pytest.mark.skipif(bool(MISSING_S3), reason=MISSING_S3)
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


# Objects


class OneBucket(ScriptedMount, OffersBuckets):
    """A bucket in memory, whose every request is known."""

    def __init__(self, store: S3Store, keys: Path) -> None:
        super().__init__()
        self.store, self.keys = store, keys

    def bucket(self, client: str) -> Bucket:
        return Bucket(BUCKET, self.store.endpoint, REGION, self.keys, f"{client}/")

    def shared(self, client: str) -> Bucket:
        return self.bucket(client)


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[OneBucket]:
    with s3_store() as store:
        yield OneBucket(store, credentials(tmp_path))


@pytest.fixture
def client(tmp_path: Path) -> Host:
    host = LocalHost(tmp_path / "client")
    host.directory.mkdir()
    return host


OBJECTS: dict[str, Json] = {"access": "buckets", "size": "768 KiB", "transfer": "64 KiB"}  # each a request


def object_trial(client: Host, mounted: OneBucket, raw: Path, **options: Json) -> tuple[Outcome, list[str]]:
    """The outcome of a trial, and the requests of its window."""
    raw.mkdir()
    load = elbencho(**OBJECTS | options)
    load.prepare([client], mounted, raw)
    before_count = len(mounted.store.requests)
    outcome = load.run([client], mounted, raw)
    sent = [method for method, _ in mounted.store.requests[before_count:]]
    return load.read_back([client], mounted, raw) or outcome, sent


@needs_s3
def test_each_object_is_put_once_and_got_in_ranges(
    client: Host, mounted: OneBucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "the-users-own")
    mounted.store.objects["theirs"] = b"x"
    outcome, sent = object_trial(client, mounted, tmp_path / "write")
    assert sent == ["PUT"] * 12
    assert outcome.note == "the store has all objects that it acknowledged"
    assert outcome.measured == {"objects_count": 12}
    assert [(r.moved_bytes, r.operations_count) for r in outcome.results] == [(768 * 1024, 12)]
    contents = [content for name, content in mounted.store.objects.items() if name != "theirs"]
    assert sorted(map(len, contents)) == [64 * 1024] * 12
    assert len({*contents}) == 12, "no two objects are alike"
    outcome, sent = object_trial(
        client, mounted, tmp_path / "read", operation="read", in_flight=4, transfer="16 KiB"
    )
    assert sent == ["GET"] * 48, "all was laid out"
    assert [(r.moved_bytes, r.operations_count) for r in outcome.results] == [(768 * 1024, 48)]
    outcome, sent = object_trial(
        client, mounted, tmp_path / "randread", operation="randread", transfer="4 KiB"
    )
    assert sent == ["GET"] * 192
    assert [(r.moved_bytes, r.operations_count) for r in outcome.results] == [(768 * 1024, 192)]
    assert outcome.measured == {}
    for path in tmp_path.rglob("*"):
        if path.is_file() and path != mounted.keys:
            assert KEY not in path.read_text() and SECRET not in path.read_text()
    elbencho(**OBJECTS).prepare([client], mounted, tmp_path)
    assert mounted.store.objects == {"theirs": b"x"}


@needs_s3
def test_a_request_that_fails_is_not_sent_again(client: Host, mounted: OneBucket, tmp_path: Path) -> None:
    failed: list[str] = []

    def busy(method: str, target: str, number: int) -> tuple[int, bytes, dict[str, str]] | None:
        if method == "PUT" and (target in failed or len(mounted.store.objects) == 5):
            failed.append(target)
            return refusal("SlowDown", "reduce your request rate", status=503)
        return None

    mounted.store.answer = busy
    with pytest.raises(ProgramFailed, match="reduce your request rate") as error:
        object_trial(client, mounted, tmp_path / "raw", threads=1, transfer="128 KiB")
    assert len(failed) == 1
    assert "lower in_flight" in error.value.next


@needs_s3
def test_a_body_that_is_cut_fails_the_load(client: Host, mounted: OneBucket, tmp_path: Path) -> None:
    object_trial(client, mounted, tmp_path / "write")
    name = max(mounted.store.objects)
    mounted.store.objects[name] = mounted.store.objects[name][:-1]
    load = elbencho(**OBJECTS, operation="read")
    (tmp_path / "read").mkdir()
    with pytest.raises(WorkloadError, match="Object too small"):
        load.run([client], mounted, tmp_path / "read")


CAMPAIGN = """
name = "objects"
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
kind = "seaweed_s3"
replication = "001"
[[workload]]
kind = "elbencho"
access = "buckets"
operation = ["write", "read"]
transfer = ["6 MiB", "12 MiB"]
size = "48 MiB"
threads = 2
files = 2
[[workload]]
kind = "elbencho"
access = "buckets"
operation = "randread"
transfer = "256 KiB"
size = "48 MiB"
threads = 2
files = 2
[[meter]]
kind = "system"
"""


@needs_s3
def test_bytes_of_servers_are_explained_by_objects_in_parts_and_whole(tmp_path: Path) -> None:
    store = drivers.build("filesystems", "seaweed_s3", {})
    assert isinstance(store, FileSystem)
    if missing := lacking(store.checks()):
        pytest.skip(missing)
    wanted = campaign.parse(CAMPAIGN)
    runner.run(wanted, create(tmp_path / "results", wanted.text, wanted.name), lambda event: None)
    results = open_results(tmp_path / "results")
    calls: dict[tuple[str, int], list[int]] = {}
    for record in results.latest():
        assert (record.status, record.reason) == ("valid", "")
        assert record.outcome is not None
        assert {result.moved_bytes for result in record.outcome.results} == {48 * MIB}
        (point,) = points(record, results.series(record))
        operation = str(record.trial.workload.options["operation"])
        counts = [result.operations_count for result in record.outcome.results]
        calls[operation, counts[0]] = counts
        assert record.amplification is not None
        measured = {name: point.metrics[MEASURED[name]] for name in OPPOSITE}
        derived = {name: point.metrics[f"derived_{MEASURED[name]}"] for name in OPPOSITE}
        print(operation, counts, measured, derived)
        if operation != "randread":  # of which the gateway fetches more than the range
            assert measured == pytest.approx(derived, rel=TOLERANCE_RATIO, abs=TOLERANCE_RATIO)
    assert calls == {
        ("write", 8): [8, 8],
        ("write", 4): [4, 4],
        ("read", 8): [8, 8],
        ("read", 4): [4, 4],
        ("randread", 192): [192, 192],
    }
    assert verify(results).differences == ()
