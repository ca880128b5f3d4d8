"""rados bench: its reports of strings are read rightly, and its arguments fit what it can do."""

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.drivers.protocols import Host, MakesPools, Mounted, Pool, Process, Workload
from perjoule.model import Json, Outcome
from perjoule.model.errors import ProgramFailed, TimeLimit, TransientError, UnexpectedOutput, WorkloadError
from perjoule.model.units import MIB
from perjoule.workloads import rados
from perjoule.workloads.rados import procedure, start
from places import TRANSCRIPTS
from scripted import ScriptedHost, ScriptedMount, ScriptedProcess

SAID = TRANSCRIPTS / "rados"


def bench(**options: Json) -> Workload:
    made = drivers.build("workloads", "rados", options)
    assert isinstance(made, Workload)
    return made


class Hanging(ScriptedProcess):
    """A rados that, unless it has ended, runs forever."""

    def stop(self, *, timeout_s: float = 2.0) -> None:
        """It can't be ended."""


class Client(ScriptedHost):
    """A client whose rados ends at once with this code, before it opens its output; markers in its pool
    are as given.
    """

    def __init__(self, name: str, code: int | None, *, markers: str = "") -> None:
        super().__init__(name)
        self.code, self.markers = code, markers

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        if words[0] == "mkfifo":
            self.ran.pop()
            return 0, ""
        asked = self.ran[-1] = [*words[7:]]  # without who asks, and where
        missing = asked[0] == "stat" and asked[1] not in self.markers.split()
        return int(missing), self.markers if asked[0] == "ls" else ""

    def starts(self, words: Sequence[str], log: Path) -> Process:
        if words[0] == "bash":  # waits at the pipe that rados opens
            return ScriptedProcess(None)
        self.ran.append([*words[7:]])
        return Hanging(self.code, (SAID / "nodata.log").read_text())


class Pools(ScriptedMount, MakesPools):
    """A store that writes down which pools were made and deleted, and when."""

    def __init__(self, *clients: Host) -> None:
        super().__init__()
        self.pools = {c.name: Pool(c.name, f"client.{c.name}", Path("/etc/ceph.conf")) for c in clients}
        self.done: list[str] = []
        self.times_s: list[float] = []

    def make_pool(self, client: str) -> None:
        self._done(f"make {client}")

    def delete_pool(self, client: str) -> None:
        self._done(f"delete {client}")

    def drop_caches(self) -> None:
        self._done("drop caches")

    def _done(self, name: str) -> None:
        self.done.append(name)
        self.times_s.append(time.monotonic())


class Store(ScriptedMount):
    def __init__(self, *clients: Host, dead: bool = False) -> None:
        super().__init__(dead=dead)
        self.pools = {c.name: Pool(c.name, f"client.{c.name}", Path("/etc/ceph.conf")) for c in clients}


@pytest.fixture(autouse=True)
def connected_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "CONNECTED_S", 0.0)


def test_a_raw_folder_gives_what_each_client_wrote() -> None:
    outcome = bench().outcome(SAID / "bench")
    assert outcome.engine == "rados bench of ceph version 16.2.15"
    assert [(r.host, r.direction, r.operations_count, r.moved_bytes) for r in outcome.results] == [
        ("client-1", "write", 7787, 7787 * 65536),
        ("client-2", "write", 4107, 4107 * 65536),
    ]
    first = outcome.results[0]
    assert (first.began_s, first.ended_s) == (100.0, pytest.approx(104.001014))
    assert first.latency_s == {"mean": 0.002053, "max": 0.012235}
    assert outcome.doubts == ()


def test_clients_begin_by_their_own_clocks_and_one_that_was_set_is_a_doubt(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(SAID / "bench", raw)
    clocks = [{"monotonic_s": t_s, "utc_s": 1000.0 + t_s} for t_s in (99.0, 105.0)]
    ahead_s = {"client-1": [0.5, 0.5], "client-2": [0.0, 2.0]}
    said = {"clients": [*ahead_s], "clocks": clocks, "ahead_s": ahead_s, "start_utc_s": 1100.0}
    for name, text in {
        "run.json": json.dumps(said),
        "version.txt": "rados bench of ceph version 16.2.15",
        "client-1.began.txt": "1100.5\n",
        "client-2.began.txt": "1100.01\n",
    }.items():
        (raw / name).write_text(text)
    outcome, older = bench().outcome(raw), bench().outcome(SAID / "bench")
    assert [r.began_s for r in outcome.results] == pytest.approx([r.began_s for r in older.results])
    assert outcome.engine == older.engine
    assert outcome.doubts == (
        "the clock of client-2 was set by +2 s during the run: its times are uncertain by as much",
    )


def test_goodput_over_time_sums_to_the_bytes_written() -> None:
    outcome = bench().outcome(SAID / "bench")
    for series, moved in zip(outcome.series, outcome.results, strict=True):
        assert float((series.value * series.duration_s).sum()) == pytest.approx(moved.moved_bytes)
        assert series.t_s[-1] == moved.ended_s
        assert (series.value > 0).all()


def test_reading_in_order_ends_when_all_is_read_and_that_is_not_a_failure() -> None:
    (read,) = bench(operation="seq").outcome(SAID / "seq").results
    assert (read.direction, read.operations_count) == ("read", 7787)
    assert read.ended_s - read.began_s == pytest.approx(0.683352)


def test_reading_at_random_is_a_read() -> None:
    read = rados.result("client-1", "rand", (SAID / "rand.json").read_text(), 0.0)
    assert (read.direction, read.moved_bytes, read.ended_s) == ("read", 35908 * 65536, 3.000222)


def test_a_truncated_report_is_refused(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(SAID / "bench", raw)
    for share in (0.0, 0.01, 0.5, 0.99):
        text = (SAID / "bench" / "client-1.json").read_text()
        (raw / "client-1.json").write_text(text[: int(len(text) * share)])
        with pytest.raises(UnexpectedOutput):
            bench().outcome(raw)


def test_a_failure_is_reported_with_rados_message(tmp_path: Path) -> None:
    client = Client("client-1", 1)
    with pytest.raises(
        WorkloadError, match=r"client-1: rados bench failed \(exit code 1\): Must write data before"
    ):
        bench(operation="seq").run([client], Store(client), tmp_path)
    assert not list(tmp_path.glob("*.pipe"))


def test_a_daemon_that_died_is_the_better_reason(tmp_path: Path) -> None:
    client = Client("client-1", 1)
    with pytest.raises(TransientError, match="ceph-osd died"):
        bench().run([client], Store(client, dead=True), tmp_path)


def test_a_store_that_blocks_ends_with_the_time_limit(tmp_path: Path) -> None:
    clients = [Client("client-1", 0), Client("client-2", None)]
    with pytest.raises(TimeLimit, match=r"1.1 s on client-2: a full OSD"):
        bench(duration="1 s", time_limit="1.1 s").run(clients, Store(*clients), tmp_path)


def test_a_write_begins_in_an_empty_pool(tmp_path: Path) -> None:
    client = Client("client-1", 0, markers="perjoule-64-4194304 benchmark_data_x perjoule")
    bench().prepare([client], Store(client), tmp_path)
    assert client.ran == [
        ["ls"],
        ["rm", "perjoule-64-4194304"],
        ["cleanup", "--prefix", "benchmark_data"],
        ["drop caches"],
    ]


def test_a_read_finds_its_objects_or_writes_them(tmp_path: Path) -> None:
    there = Client("client-1", 0, markers="perjoule-64-4194304")
    bench(operation="rand").prepare([there], Store(there), tmp_path)
    assert there.ran == [["stat", "perjoule-64-4194304"], ["drop caches"]]
    bare = Client("client-1", 1)
    with pytest.raises(ProgramFailed):
        bench(operation="rand", in_flight=4).prepare([bare], Store(bare), tmp_path)
    assert bare.ran[-1][:7] == ["bench", "600", "write", "-t", "4", "--run-name", "perjoule"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"object": "4 MiB", "size": "10 MiB"}, 'not a whole number of objects of "4 MiB" .write "8 MiB"'),
        ({"object": "4 MiB", "size": "1 MiB"}, 'write "4 MiB"'),
        ({"duration": "1.5 s"}, 'write duration = "2 s"'),
        ({"duration": "10 min", "time_limit": "1 min"}, "below time_limit"),
        ({"in_flight": 0}, "greater than or equal to 1"),
        ({"operation": "procedure", "read_duration": "1.5 s"}, 'write read_duration = "2 s"'),
        ({"operation": "procedure", "read_duration": "10 min"}, "read_duration must be below time_limit"),
    ],
)
def test_the_impossible_is_refused_in_a_sentence(options: Mapping[str, Json], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        bench(**options)


def test_a_plan_knows_the_bytes() -> None:
    assert bench(size="8 MiB").moved_bytes(3) == 24 * MIB


def test_a_procedure_makes_pools_apart_writes_reads_and_deletes_them_apart(tmp_path: Path) -> None:
    clients = [Client("client-1", 0), Client("client-2", 0)]
    store = Pools(*clients)
    run: list[str] = []

    class Load(rados.RadosBench):
        def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
            run.append(f"{folder.name} of {len(clients)} after {len(store.done)}")
            return Outcome("", ())

    loads = {"write": Load(), "read": Load(operation="seq")}
    procedure.run(loads, clients, store, tmp_path, made_apart_s=0.2, deleted_apart_s=0.1)
    made, deleted = ([f"{verb} {client.name}" for client in clients] for verb in ("make", "delete"))
    assert store.done == [*made, "drop caches", "drop caches", *deleted]
    assert run == ["write of 2 after 3", "read of 2 after 4"]
    assert 0.2 <= store.times_s[1] - store.times_s[0] < 0.3
    assert 0.1 <= store.times_s[-1] - store.times_s[-2] < 0.2


def test_a_procedure_begins_without_pools_and_any_other_load_with_its_own(tmp_path: Path) -> None:
    one, two = Client("client-1", 0), Client("client-2", 0)
    store = Pools(one, two)
    bench(operation="procedure").prepare([one], store, tmp_path)
    assert store.done == ["delete client-1", "delete client-2"]
    bench().prepare([one], store, tmp_path)
    assert store.done[2:] == ["make client-1", "drop caches"]


def test_a_store_without_such_pools_refuses_a_procedure(tmp_path: Path) -> None:
    client = Client("client-1", 0)
    with pytest.raises(WorkloadError, match="can't be made again"):
        bench(operation="procedure").prepare([client], Store(client), tmp_path)


def test_a_procedure_has_both_directions_and_its_time_includes_that_between_pools(tmp_path: Path) -> None:
    whole = bench(
        operation="procedure",
        duration="200 s",
        read_duration="100 s",
        pools_made_apart="30 s",
        pools_deleted_apart="20 s",
        size="16 GiB",
    )
    assert whole.directions == ("write", "read")
    in_flight_s = 5 * 16 * 4 * 2**20 / 20e6  # at the end of each load
    assert whole.loading_s(5, 20e6) == pytest.approx(4 * 50.0 + 200.0 + 100.0 + 2 * in_flight_s)
    shutil.copytree(SAID / "bench", tmp_path / "write")
    shutil.copytree(SAID / "seq", tmp_path / "read")
    outcome = whole.outcome(tmp_path)
    assert [(r.host, r.direction) for r in outcome.results] == [
        ("client-1", "write"),
        ("client-2", "write"),
        ("client-1", "read"),
    ]
    assert outcome.measured == {"pools_made_count": 2.0}
