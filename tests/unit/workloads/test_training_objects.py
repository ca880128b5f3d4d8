"""Training jobs that read objects: each client the first one's, whole or in part, and what a store may answer."""

import csv
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.drivers.protocols import Bucket, Host, OffersBuckets
from perjoule.machine import buckets
from perjoule.machine.buckets import engine
from perjoule.model import Json, Outcome
from perjoule.model.doubts import WORK
from perjoule.model.errors import MountLost, MovedTooLittle, ProgramFailed
from perjoule.testbeds.local import LocalHost
from perjoule.workloads._ranks import program
from perjoule.workloads.training import Training
from s3_store import BUCKET, REGION, S3Store, credentials, refusal, s3_store
from scripted import ScriptedMount

SMALL: dict[str, Json] = {
    "access": "buckets",
    "files": 6,
    "sample": "100 KiB",
    "deviation": "30 KiB",
    "batch": 2,
    "workers": 2,
    "epochs": 2,
}


def training(**options: Json) -> Training:
    made = drivers.build("workloads", "training", SMALL | options)
    assert isinstance(made, Training)
    return made


def client(name: str, folder: Path) -> Host:
    host = LocalHost(folder / name)
    host.directory.mkdir()
    host.name = name
    return host


class Lab(ScriptedMount, OffersBuckets):
    """Two clients of a store, each with a part of its bucket."""

    def __init__(self, store: S3Store, folder: Path) -> None:
        super().__init__()
        self.store, self.raw, self._keys = store, folder / "raw", credentials(folder)
        self.clients = [client(f"client-{number}", folder) for number in (1, 2)]
        self.layout_name = "a"
        self.raw.mkdir()

    def bucket(self, client: str) -> Bucket:
        return Bucket(BUCKET, self.store.endpoint, REGION, self._keys, f"{client}/")

    def shared(self, client: str) -> Bucket:
        return self.bucket("client-1")

    def trial(self, job: Training) -> Outcome:
        job.prepare(self.clients, self, self.raw)
        return job.run(self.clients, self, self.raw)

    def sizes(self) -> list[int]:
        """Of the samples that clients noted."""
        sizes: list[int] = []
        for path in self.raw.glob("client-?.0.csv"):
            with path.open() as file:
                sizes += [int(row["bytes"]) for row in csv.DictReader(file)]
        return sizes


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with s3_store() as store:
        yield Lab(store, tmp_path)


def test_clients_read_every_object_of_one_data_set_in_each_epoch(lab: Lab) -> None:
    outcome = lab.trial(training())
    names = [f"client-1/perjoule-objects/a/training/{number:09d}" for number in range(6)]
    assert sorted(lab.store.objects) == names
    gets = Counter(target for method, target in lab.store.requests if method == "GET" and "?" not in target)
    assert gets == {f"/{BUCKET}/{name}": 2 for name in names}
    assert Counter(lab.sizes()) == Counter(2 * [len(content) for content in lab.store.objects.values()])
    assert len({*map(len, lab.store.objects.values())}) == 6, "sizes follow a distribution"
    assert len({content[:65536] for content in lab.store.objects.values()}) == 6
    assert outcome.measured["samples_count"] == 12
    assert outcome.measured["load_cpu_s"] > 0
    assert sum(result.moved_bytes for result in outcome.results) == sum(lab.sizes())


def test_each_trial_puts_other_bytes_and_removes_those_before(lab: Lab) -> None:
    lab.store.objects["theirs"] = b"x"
    lab.trial(training())
    first = dict(lab.store.objects)
    lab.layout_name = "b"
    lab.trial(training())
    assert lab.store.objects["theirs"] == b"x"
    ours = {name: content for name, content in lab.store.objects.items() if name != "theirs"}
    assert len(ours) == 6 and all("/b/" in name for name in ours)
    assert not {*ours.values()} & {*first.values()}


def test_a_sample_of_several_is_its_range_of_the_object(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    ranges: list[tuple[int, int, int]] = []
    reply = lab.store.reply

    def noted(method: str, target: str, headers: Any, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        if reach := headers["Range"]:
            matched = re.fullmatch("bytes=([0-9]+)-([0-9]+)", reach)
            assert matched
            first, last = map(int, matched.groups())
            ranges.append((int(target[-9:]), first, last))
        return reply(method, target, headers, body)

    monkeypatch.setattr(lab.store, "reply", noted)
    outcome = lab.trial(training(samples_per_file=3, epochs=1))
    wanted: list[tuple[int, int, int]] = []
    for name, content in lab.store.objects.items():
        sample_bytes = len(content) // 3
        wanted += [
            (int(name[-9:]), index * sample_bytes, (index + 1) * sample_bytes - 1) for index in range(3)
        ]
    assert sorted(ranges) == sorted(wanted)
    assert sum(result.moved_bytes for result in outcome.results) == sum(map(len, lab.store.objects.values()))


def test_the_engine_gets_a_part_as_it_was_put(lab: Lab) -> None:
    content = bytes(range(256)) * 3000
    lab.store.objects["x"] = content
    keys = engine.credentials(str(lab.bucket("client-1").credentials))
    store = engine.Store({"endpoint": lab.store.endpoint, "bucket_name": BUCKET, "region": REGION}, keys)
    for first, size in ((0, 1), (1000, 300_000), (len(content) - 70_000, 70_000)):
        room, got = bytearray(64 * 1024), bytearray()
        for begin, count in store.pieces("x", size, room, first):
            assert begin == len(got)
            got += room[:count]
        assert got == content[first : first + size]
    with pytest.raises(engine.Refused, match="it has 10 B, not 11 B"):
        list(store.pieces("x", 11, bytearray(64), len(content) - 10))
    store.connection.close()


BUSY, GONE = refusal("SlowDown", "less", 503), refusal("NoSuchKey", "gone", 404)


def fails_once(lab: Lab, answer: tuple[int, bytes, dict[str, str]]) -> None:
    """Have one read of the fifth object fail."""
    left = [answer]

    def reply(method: str, target: str, number: int) -> tuple[int, bytes, dict[str, str]] | None:
        return left.pop() if left and method == "GET" and target.endswith("/000000004") else None

    lab.store.answer = reply


def test_an_answer_of_a_lost_server_ends_the_trial_or_is_counted(lab: Lab) -> None:
    fails_once(lab, BUSY)
    with pytest.raises(MountLost, match=r"S3: refused: GET /lab/.*000000004: 503 SlowDown: less"):
        lab.trial(training())
    fails_once(lab, refusal("SlowDown", 5000 * "long", 503))  # its connection can't be used again
    outcome = lab.trial(training(tolerate_errors=True))
    assert outcome.measured["event_errors_count"] == 1
    assert outcome.measured["samples_count"] == 11


def test_an_object_that_is_gone_or_other_fails_the_trial_whatever_is_tolerated(lab: Lab) -> None:
    fails_once(lab, GONE)
    with pytest.raises(ProgramFailed, match="404 NoSuchKey: gone"):
        lab.trial(training(tolerate_errors=True))
    fails_once(lab, (200, b"short", {}))
    with pytest.raises(ProgramFailed, match="it has 5 B"):
        lab.trial(training(tolerate_errors=True))


def test_a_store_that_lists_fewer_objects_than_it_acknowledged_is_refused(lab: Lab) -> None:
    def forget(method: str, target: str, number: int) -> tuple[int, bytes, dict[str, str]] | None:
        return (200, b"", {"ETag": '"x"'}) if method == "PUT" and target.endswith("/000000003") else None

    lab.store.answer = forget
    with pytest.raises(MovedTooLittle, match="does not list all objects"):
        lab.trial(training())


def test_wrong_keys_and_a_closed_port_are_named(lab: Lab) -> None:
    job = training()
    job.prepare(lab.clients, lab, lab.raw)
    endpoint, lab.store.endpoint = lab.store.endpoint, "http://127.0.0.1:9"
    with pytest.raises(MountLost, match=r"http://127\.0\.0\.1:9: connection refused"):
        job.run(lab.clients, lab, lab.raw)
    lab.store.endpoint = endpoint
    lab.bucket("client-1").credentials.chmod(0o644)
    with pytest.raises(ProgramFailed, match="can be read by others"):
        job.run(lab.clients, lab, lab.raw)


@pytest.mark.parametrize("option", [{"direct": True}, {"transfer": "2 MiB"}])
def test_what_is_of_files_alone_is_refused(option: dict[str, Json]) -> None:
    with pytest.raises(ValidationError, match="direct and transfer are of files"):
        training(**option)


def test_it_needs_what_it_reads_and_a_request_is_a_sample() -> None:
    assert training().needs == "buckets"
    assert training(access="folders").needs == "folders"
    assert training(sample="8 MiB").pattern.transfer_bytes == 8 * 1024**2


@pytest.mark.parametrize(("cpu_s", "busy"), [(55.0, True), (53.0, False)])
def test_a_rank_whose_engine_has_no_cpu_time_left_is_a_doubt(lab: Lab, cpu_s: float, busy: bool) -> None:
    job = training()
    lab.trial(job)
    (lab.raw / "client-2.0.json").write_text(json.dumps({"ended_s": 60.0, "cpu_s": cpu_s}))
    told = [dict(doubt.values) for doubt in job.outcome(lab.raw).doubts if doubt.id == WORK.engine_busy.id]
    assert [values["host"] for values in told if values["host"] == "client-2"] == ["client-2"] * busy


def test_a_connection_that_a_store_has_closed_meanwhile_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_store(idle_s=0.1) as store:
        bucket = Bucket(BUCKET, store.endpoint, REGION, credentials(tmp_path))
        store_of_job = {"engine": str(buckets.PROGRAM), **buckets.place(bucket, "")}
        job = {"samples_per_file": 1, "store": store_of_job}
        connect = program.part("objects", {})["ObjectConnection"]
        monkeypatch.setitem(connect.get.__globals__, "IDLE_S", 0.2)
        connection = connect(job)
        connection.put(0, memoryview(b"abc"))
        time.sleep(0.3)
        connection.get(0, 0, 3)
        connection._drop()
