"""The workload s3 holds what clients report against what the store has."""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.drivers.protocols import Bucket, Host, OffersBuckets, Workload, laid_out_bytes
from perjoule.machine.buckets import engine
from perjoule.model import Json, Outcome
from perjoule.model.errors import MovedTooLittle, TimeLimit, WorkloadError
from perjoule.testbeds.local import LocalHost
from s3_store import BUCKET, REGION, S3Store, credentials, refusal, s3_store
from scripted import ScriptedMount

SIZE: dict[str, Json] = {"object": "4 KiB", "size": "20 KiB", "in_flight": 2}


def load(**options: Json) -> Workload:
    made = drivers.build("workloads", "s3", SIZE | options)
    assert isinstance(made, Workload)
    return made


def client(name: str, folder: Path) -> Host:
    host = LocalHost(folder / name)
    host.directory.mkdir()
    host.name = name
    return host


class Buckets(ScriptedMount, OffersBuckets):
    buckets: dict[str, Bucket]

    def bucket(self, client: str) -> Bucket:
        return self.buckets[client]

    def shared(self, client: str) -> Bucket:
        return next(iter(self.buckets.values()))


class Lab:
    def __init__(self, store: S3Store, folder: Path) -> None:
        keys = credentials(folder)
        self.store, self.raw, self.clients = (
            store,
            folder / "raw",
            [client(f"client-{n}", folder) for n in (1, 2)],
        )
        self.raw.mkdir()
        self.mounted = Buckets()
        self.mounted.buckets = {
            c.name: Bucket(BUCKET, store.endpoint, REGION, keys, f"{c.name}/") for c in self.clients
        }

    def trial(self, workload: Workload) -> Outcome:
        workload.prepare(self.clients, self.mounted, self.raw)
        outcome = workload.run(self.clients, self.mounted, self.raw)
        return workload.read_back(self.clients, self.mounted, self.raw) or outcome


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with s3_store() as store:
        yield Lab(store, tmp_path)


def test_a_put_is_what_the_store_has_and_a_get_finds_it(lab: Lab) -> None:
    lab.store.objects["theirs"] = b"x"
    outcome = lab.trial(load(verify=True))
    assert [(r.host, r.direction, r.operations_count, r.moved_bytes) for r in outcome.results] == [
        ("client-1", "write", 5, 20480),
        ("client-2", "write", 5, 20480),
    ]
    assert len(lab.store.objects) == 11
    assert outcome.measured["objects_count"] == 10
    assert outcome.measured["engine_cpu_s"] > 0
    assert (
        outcome.note
        == "the store has all objects that it acknowledged; got and compared after the measured window"
    )
    assert {"mean", "p50", "p95", "p99", "p99.9", "max"} == outcome.results[0].latency_s.keys()
    moved = [float((series.value * series.duration_s).sum()) for series in outcome.series]
    assert moved == pytest.approx([20480, 20480])
    before = len(lab.store.requests)
    read = lab.trial(load(operation="get"))
    assert [(r.direction, r.moved_bytes) for r in read.results] == [("read", 20480)] * 2
    assert not [target for method, target in lab.store.requests[before:] if method == "PUT"], (
        "all is laid out"
    )


def test_no_trial_puts_the_bytes_of_an_earlier_one(lab: Lab) -> None:
    """Garage keeps blocks for minutes after their last object, and writes no block again that it has."""
    puts: list[set[bytes]] = []
    for name in ("one", "two"):
        lab.mounted.layout_name = name
        lab.trial(load(verify=True))
        puts.append({*lab.store.objects.values()})
        read = lab.trial(load(operation="get"))
        assert [r.moved_bytes for r in read.results] == [20480] * 2
        assert {*lab.store.objects.values()} == puts[-1], "what was put is what is got"
    assert len(puts[0]) == len(puts[1]) == 10
    assert not puts[0] & puts[1]


def test_a_get_lays_out_what_is_missing_and_a_put_begins_empty(lab: Lab) -> None:
    lab.trial(load(operation="get"))
    first = dict(lab.store.objects)
    del lab.store.objects[sorted(first)[0]]
    lab.trial(load(operation="rand", duration="0.2 s"))
    assert lab.store.objects == first
    lab.trial(load(object="1 KiB", size="2 KiB"))
    assert sorted(map(len, lab.store.objects.values())) == [1024] * 4


@pytest.mark.parametrize(("operation", "direction"), [("head", "read"), ("delete", "write")])
def test_attributes_and_deletions_are_operations_that_move_no_bytes(
    operation: str, direction: str, lab: Lab
) -> None:
    lab.store.objects["theirs"] = b"x"
    workload = load(operation=operation)
    for _ in range(2):  # a delete finds none of the objects of the one before
        outcome = lab.trial(workload)
        assert [(r.direction, r.operations_count, r.moved_bytes) for r in outcome.results] == [
            (direction, 5, 0)
        ] * 2
        assert (outcome.series, outcome.measured.keys()) == ((), {"engine_cpu_s"})
        assert {"mean", "p99", "max"} <= outcome.results[0].latency_s.keys()
        asked = [target for method, target in lab.store.requests if method == operation.upper()]
        assert len({*asked}) == 10
        assert len(lab.store.objects) == (11 if operation == "head" else 1)
        assert outcome.note == ("" if operation == "head" else "the store has no object that it deleted")
        lab.store.requests.clear()
    assert workload.moved_bytes(2) == 0
    assert workload.stored_bytes(2) == laid_out_bytes(workload, 2) == 40960
    assert (workload.loading_s(2, 1e9), workload.streaming_calls_count) == (60.0, None)


def test_a_store_that_keeps_what_it_deleted_or_tells_another_size_fails_the_trial(lab: Lab) -> None:
    kept = load(operation="delete")
    kept.prepare(lab.clients, lab.mounted, lab.raw)
    lab.store.answer = lambda method, target, _: (204, b"", {}) if target.endswith("0003") else None
    kept.run(lab.clients, lab.mounted, lab.raw)
    with pytest.raises(MovedTooLittle, match=r"client-1: the store has 1 objects with 4096 B, .* 0 with 0 B"):
        kept.read_back(lab.clients, lab.mounted, lab.raw)
    lab.store.answer = lambda *_: None
    sizes = load(operation="head")
    sizes.prepare(lab.clients, lab.mounted, lab.raw)
    name = max(lab.store.objects)
    lab.store.objects[name] = bytes(4095)
    with pytest.raises(WorkloadError, match=r"client-2: S3: HEAD .*: it has 4095, not 4096 B"):
        sizes.run(lab.clients, lab.mounted, lab.raw)
    del lab.store.objects[name]
    with pytest.raises(WorkloadError, match=r"client-2: S3: HEAD .*: 404 Not Found"):
        sizes.run(lab.clients, lab.mounted, lab.raw)


@pytest.mark.parametrize("lost", ["an object", "a byte"])
def test_a_store_that_lacks_what_it_acknowledged_fails_the_trial(lost: str, lab: Lab) -> None:
    workload = load()
    workload.prepare(lab.clients, lab.mounted, lab.raw)
    workload.run(lab.clients, lab.mounted, lab.raw)
    name = max(lab.store.objects)
    if lost == "an object":
        del lab.store.objects[name]
    else:
        lab.store.objects[name] = lab.store.objects[name][:-1]
    with pytest.raises(MovedTooLittle, match=r"client-2: .* 5 with 20480 B"):
        workload.read_back(lab.clients, lab.mounted, lab.raw)


def test_verify_finds_a_changed_byte_after_the_window(lab: Lab) -> None:
    workload = load(verify=True)
    workload.prepare(lab.clients, lab.mounted, lab.raw)
    outcome = workload.run(lab.clients, lab.mounted, lab.raw)
    assert "the written data were not read back" in outcome.doubts
    name = max(lab.store.objects)
    lab.store.objects[name] = bytes(4096)
    with pytest.raises(WorkloadError, match="differs from what was put"):
        workload.read_back(lab.clients, lab.mounted, lab.raw)


def test_errors_end_the_load_or_are_counted_and_are_never_goodput(lab: Lab) -> None:
    slow = refusal("SlowDown", "less", 503)
    lab.store.answer = lambda method, target, _: slow if target.endswith("client-1/x") else None
    workload = load()
    workload.prepare(lab.clients, lab.mounted, lab.raw)
    lab.store.answer = lambda method, target, _: slow if target.endswith("0003") and method == "PUT" else None
    with pytest.raises(
        WorkloadError, match=r"client-1: S3: PUT .*503 SlowDown: less; the store asks for less"
    ):
        workload.run(lab.clients, lab.mounted, lab.raw)
    tolerant = load(tolerate_errors=True)
    outcome = lab.trial(tolerant)
    assert [r.operations_count for r in outcome.results] == [4, 4]
    assert outcome.measured["event_errors_count"] == 2
    assert outcome.note.endswith("2 x 503 SlowDown")


def test_the_time_in_which_operations_failed_is_the_loads_up_to_its_end(lab: Lab) -> None:
    failing_s = 1.5

    def late(method: str, target: str, _: int) -> tuple[int, bytes, dict[str, str]] | None:
        if method != "PUT" or not target.endswith("0004"):
            return None
        time.sleep(failing_s)
        return refusal("SlowDown", "less", 503)

    lab.store.answer = late
    whole, cut = (lab.trial(load(tolerate_errors=True, duration=duration)) for duration in ("60 s", "1 s"))
    for outcome in (whole, cut):
        for result, series in zip(outcome.results, outcome.series, strict=True):
            assert result.operations_count == 4
            assert float((series.value * series.duration_s).sum()) == pytest.approx(4 * 4096)
            assert float(series.duration_s.sum()) == pytest.approx(result.ended_s - result.began_s)
    assert all(result.ended_s - result.began_s >= failing_s for result in whole.results)
    assert [result.ended_s - result.began_s for result in cut.results] == pytest.approx([1, 1], abs=1e-4)


def test_raw_output_that_contradicts_itself_is_refused(lab: Lab) -> None:
    workload = load()
    lab.trial(workload)
    log = lab.raw / "client-1.log"
    report = json.loads(log.read_text())
    for change in ({"bytes": 20479}, {"operations": 6}, {"per_second": [4]}, {"cpu_s": "much"}):
        log.write_text(json.dumps(report | change))
        with pytest.raises(WorkloadError):
            workload.outcome(lab.raw)
    log.write_text(json.dumps(report | {"ended_s": report["began_s"] + 10, "cpu_s": 9.5}))
    assert (
        "client-1: the S3 engine used 95 % of a core, and may be what limits: use more clients or larger objects"
        in workload.outcome(lab.raw).doubts
    )


def test_a_load_without_an_end_is_stopped_at_its_limit(lab: Lab) -> None:
    workload = load(duration="0.5 s", time_limit="0.6 s")
    wait_s = 2.0

    def late(*_: object) -> None:
        time.sleep(wait_s)

    lab.store.answer = late
    with pytest.raises(TimeLimit):
        lab.trial(workload)


def test_impossible_options_say_what_would_do() -> None:
    for options, sentence in (
        ({"size": "21 KiB"}, 'write "20 KiB"'),
        ({"duration": "700 s"}, "raise time_limit"),
        ({"operation": "get", "verify": True}, "always compared"),
        ({"verify": True, "tolerate_errors": True}, "no telling what was put"),
        ({"operation": "delete", "tolerate_errors": True}, "moves no bytes"),
    ):
        with pytest.raises(ValidationError, match=sentence):
            load(**options)


class Talkative(BaseHTTPRequestHandler):
    """A store whose answers go on for 64 MiB."""

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("ETag", "x")
        self.end_headers()
        with suppress(OSError):
            for _ in range(1024):
                self.wfile.write(bytes(64 * 1024))

    do_PUT = do_DELETE = answer


def test_a_store_that_goes_on_talking_is_refused_and_not_listened_to() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Talkative) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        order = {"endpoint": f"http://127.0.0.1:{server.server_port}", "bucket_name": "lab", "region": "x"}
        store = engine.Store(order, ("key", "secret"))
        for ask in (
            lambda: store.put("a", b"b"),
            lambda: store.delete("a"),
            lambda: engine.made(store, order),
        ):
            with pytest.raises(engine.Refused, match="more than 65536 B: is it from a store"):
                ask()
            store.connection.close()
        server.shutdown()


def test_errors_of_more_kinds_than_anybody_reads_are_counted_together() -> None:
    order = {"object_bytes": 1, "prefix": "", "seed": "s", "count": 1, "operation": "put"}
    load_of_one = engine.ObjectLoad(order, [])
    for number in range(1000):
        load_of_one.note(engine.Refused(f"503 Code{number}", "refused"), "a")
    assert len(load_of_one.errors) == engine.MOST_KINDS + 1
    assert load_of_one.errors[engine.OTHERS] == 1000 - engine.MOST_KINDS
