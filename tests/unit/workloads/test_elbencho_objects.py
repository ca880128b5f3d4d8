"""elbencho on buckets: what it is asked for, with whose keys, which elbencho is refused, and how its reports are read.

`tests/transcripts/elbencho/objects-*` has raw folders of elbencho 3.1-1 on two virtual clients and SeaweedFS.
"""

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.drivers.protocols import Bucket, OffersBuckets, Process, Workload
from perjoule.model import Json
from perjoule.model.errors import MovedTooLittle, ProgramFailed, UnexpectedOutput, WorkloadError
from perjoule.model.units import MIB
from places import TRANSCRIPTS
from scripted import ScriptedHost, ScriptedMount, ScriptedProcess

# `elbencho --version`, of a build with S3
VERSION = """elbencho
 * Version: 3.1-1
 * Net protocol version: 3.1.1
 * Build date: Nov 29 2026 23:12:00
 * Included optional build features: corebind libaio s3 syncfs syscallh 
 * Excluded optional build features: althttpsvc backtrace cuda cufile/gds hdfs libnuma mimalloc ncurses s3crt threadname 
 * System steady clock precision: 1e-09 sec
"""  # noqa: W291
BUCKET = Bucket("lab", "http://10.0.0.9:8333", "us-west-2", Path("/etc/keys"), "perjoule-1/client-1/")
NAME = "data-2-2-4-16777216"
PREFIX = f"perjoule-1/client-1/perjoule-objects/{NAME}/"
ALL, NONE = (16, 256 * MIB), (0, 0)


def elbencho(**options: Json) -> Workload:
    geometry: dict[str, Json] = {"size": "256 MiB", "threads": 2, "folders": 2, "files": 4}
    made = drivers.build(
        "workloads", "elbencho", {"access": "buckets", **geometry, "transfer": "8 MiB", **options}
    )
    assert isinstance(made, Workload)
    return made


class Client(ScriptedHost):
    """A client whose store lists so many objects and bytes, after each question the next, and whose elbencho is this
    one and ends so.
    """

    def __init__(
        self, *listed: tuple[int, int], version: str = VERSION, code: int = 0, output: str = ""
    ) -> None:
        super().__init__()
        self.listed, self.version, self.process = [*listed], version, ScriptedProcess(code, output)
        self.asked: list[tuple[str, str]] = []
        self.started: list[list[str]] = []
        self.variables: dict[str, str] = {}

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        if words == ["elbencho", "--version"]:
            return 0, self.version
        order = json.loads(words[-1])
        self.asked.append((order["operation"], order["prefix"]))
        count, size_bytes = self.listed.pop(0) if order["operation"] == "stored" else NONE
        return 0, json.dumps({"objects_count": count, "bytes": size_bytes})

    def spawn(
        self, argv: Sequence[str | Path], *, log: Path, env: Mapping[str, str] | None = None, **more: Any
    ) -> Process:
        self.variables = {**(env or {})}
        return super().spawn(argv, log=log)

    def starts(self, words: Sequence[str], log: Path) -> Process:
        self.started.append([*words[words.index("perjoule-elbencho") + 1 :]])
        return self.process


class Buckets(ScriptedMount, OffersBuckets):
    def bucket(self, client: str) -> Bucket:
        return BUCKET

    def shared(self, client: str) -> Bucket:
        raise AssertionError(client)


def prepared(client: Client, folder: Path, **options: Json) -> None:
    elbencho(**options).prepare([client], Buckets(), folder)
    assert client.ran[-1] == ["drop caches"]


def asked_for(folder: Path, **options: Json) -> tuple[list[str], dict[str, str]]:
    """The words and the variables with which elbencho loads."""
    client = Client()
    with pytest.raises(WorkloadError):  # it leaves no report
        elbencho(**options).run([client], Buckets(), folder)
    return client.started[0], client.variables


# Before the load


def test_a_write_begins_without_objects_and_lays_none_out(tmp_path: Path) -> None:
    client = Client()
    prepared(client, tmp_path)
    assert client.asked == [("remove", "perjoule-1/client-1/perjoule-objects/")]
    assert not client.started


@pytest.mark.parametrize("operation", ["read", "randread"])
@pytest.mark.parametrize("listed", [NONE, (15, 240 * MIB), (16, 256 * MIB - 1)])
def test_objects_are_laid_out_before_a_read_unless_all_are_there(
    listed: tuple[int, int], operation: str, tmp_path: Path
) -> None:
    client = Client(listed, ALL)
    prepared(client, tmp_path, operation=operation)
    assert [operation for operation, _ in client.asked] == ["stored", "remove", "stored"]
    assert client.asked[0] == ("stored", PREFIX)
    ((program, *words),) = client.started
    assert (program, words[-1]) == ("elbencho", "s3://lab")
    assert "--write" in words
    assert not {"--sync", "--mkdirs", "--rand", "--s3randobj", "--direct"} & {*words}
    present = Client(ALL)
    prepared(present, tmp_path, operation=operation)
    assert not present.started


def test_a_store_that_does_not_list_what_it_acknowledged_fails_the_trial(tmp_path: Path) -> None:
    client = Client(NONE, (15, 240 * MIB))
    with pytest.raises(MovedTooLittle, match="client-1: the store does not list all objects"):
        elbencho(operation="read").prepare([client], Buckets(), tmp_path)


def features(*, without: str = "", beside: str = "") -> str:
    return VERSION.replace(f"{without} ", "", 1 if without else 0).replace("libaio ", f"libaio {beside} ")


@pytest.mark.parametrize(
    ("version", "lack"),
    [
        pytest.param(features(without="s3"), "it is built without S3", id="for files alone"),
        pytest.param(features(beside="s3crt"), "it is built with s3crt", id="that of AWS's runtime"),
        pytest.param(
            VERSION.replace("3.1-1", "3.0-37"), "versions before 3.1-1 send failed", id="an old one"
        ),
        pytest.param("elbencho\n", "its --version names neither", id="a silent one"),
    ],
)
def test_an_elbencho_that_can_t_do_it_is_refused_before_anything_is_removed(
    version: str, lack: str, tmp_path: Path
) -> None:
    client = Client(version=version)
    with pytest.raises(WorkloadError, match=lack):
        elbencho().prepare([client], Buckets(), tmp_path)
    assert not client.asked


@pytest.mark.parametrize(
    ("version", "ok", "detail"),
    [(VERSION, True, "built in"), (features(without="s3"), False, "it is built without S3")],
)
def test_doctor_says_whether_elbencho_speaks_s3(
    version: str, ok: bool, detail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "elbencho"
    program.write_text(f"#!/bin/sh\n[ \"$*\" = --version ] && cat <<'END'\n{version}END\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    checks = {check.name: check for check in elbencho().checks()}
    assert (checks["elbencho with S3"].ok, checks["elbencho with S3"].detail) == (ok, detail)
    assert checks["elbencho"].detail == str(program)
    assert [check.name for check in elbencho(access="folders").checks()] == ["elbencho"]


# The request


def test_each_operation_is_passed_on(tmp_path: Path) -> None:
    operations: dict[str, dict[str, Json]] = {
        "write": {"in_flight": 2},
        "read": {"in_flight": 2},
        "randread": {},
    }
    options_of = {
        operation: asked_for(tmp_path, operation=operation, **options)[0]
        for operation, options in operations.items()
    }
    flags = {"--write", "--read", "--rand", "--s3randobj", "--sync", "--mkdirs", "--direct", "--lat"}
    assert {operation: flags & {*words} for operation, words in options_of.items()} == {
        "write": {"--write", "--lat"},
        "read": {"--read", "--lat"},
        "randread": {"--read", "--rand", "--s3randobj", "--lat"},
    }
    words = options_of["write"]
    values = {word: words[at + 1] for at, word in enumerate(words[:-1]) if word.startswith("--")}
    assert words[-1] == "s3://lab"
    assert values["--s3endpoints"] == "http://10.0.0.9:8333"
    assert values["--s3region"] == "us-west-2"
    assert values["--s3objprefix"] == PREFIX
    assert (values["--size"], values["--block"], values["--iodepth"]) == ("16777216", "8388608", "2")
    assert (values["--threads"], values["--dirs"], values["--files"]) == ("2", "2", "4")


def test_keys_are_named_by_their_file_and_nothing_of_the_users_goes_before_it(tmp_path: Path) -> None:
    words, variables = asked_for(tmp_path)
    assert variables["AWS_SHARED_CREDENTIALS_FILE"] == "/etc/keys"
    assert not {"--s3key", "--s3secret", "--s3credfile", "--s3credlist"} & {*words}
    assert variables["AWS_ACCESS_KEY_ID"] == variables["AWS_SECRET_ACCESS_KEY"] == ""
    assert variables["AWS_MAX_ATTEMPTS"] == "1"
    client = Client()
    with pytest.raises(WorkloadError):
        elbencho(access="folders").run([client], ScriptedMount(client), tmp_path)
    assert not client.variables, "of files it has none"


def test_a_stores_refusal_comes_with_advice(tmp_path: Path) -> None:
    output = "ERROR: Multipart upload completion failed. Exception: EntityTooSmall; Message: too small\n"
    client = Client(code=1, output=output)
    with pytest.raises(
        ProgramFailed, match=r"client-1: elbencho failed \(exit code 1\): .*EntityTooSmall"
    ) as failed:
        elbencho().run([client], Buckets(), tmp_path)
    assert "raise transfer" in failed.value.next


def test_what_it_needs_follows_from_its_access() -> None:
    assert (elbencho().needs, elbencho(access="folders").needs) == ("buckets", "folders")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"operation": "randwrite"}, r'S3 writes no object at random \(write operation = "write"\)'),
        ({"direct": True}, "direct is of files"),
        ({"in_flight": 3}, "one object at a time, which has 2 in flight at most"),
        ({"in_flight": 2, "transfer": "16 MiB"}, "one object at a time, which has 1 in flight at most"),
        ({"operation": "randread", "in_flight": 2}, r"one random read of objects in flight \(use threads\)"),
        ({"transfer": "1 KiB"}, r"S3 allows 10000 parts of an object, not 16384 \(raise transfer\)"),
    ],
)
def test_the_impossible_is_refused_in_a_sentence(options: Mapping[str, Json], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        elbencho(**options)


def test_small_ranges_of_large_objects_can_be_read() -> None:
    assert elbencho(operation="read", transfer="1 KiB").moved_bytes(2) == 512 * MIB


# Numbers

RAW = TRANSCRIPTS / "elbencho"
RECORDED: dict[str, dict[str, Json]] = {
    "objects-write": {"operation": "write", "transfer": "6 MiB", "in_flight": 2},
    "objects-read": {"operation": "read", "transfer": "12 MiB"},
    "objects-randread": {"operation": "randread", "transfer": "256 KiB"},
}


def recorded(name: str) -> Workload:
    return elbencho(size="192 MiB", **RECORDED[name])


def changed(folder: Path, name: str, change: Callable[[dict[str, Any]], object]) -> Path:
    """A copy of a raw folder in which the report of a client is another."""
    raw = folder / "raw"
    shutil.copytree(RAW / name, raw)
    report = json.loads((raw / "client-1.json").read_text())
    change(report)
    (raw / "client-1.json").write_text(json.dumps(report))
    return raw


@pytest.mark.parametrize(
    ("name", "calls_count", "measured"),
    [
        ("objects-write", 32, {"objects_count": 32}),
        ("objects-read", 16, {"objects_count": 32}),
        ("objects-randread", 768, {}),
    ],
)
def test_each_client_moved_what_it_printed(
    name: str, calls_count: int, measured: Mapping[str, float]
) -> None:
    outcome = recorded(name).outcome(RAW / name)
    assert outcome.engine == "elbencho 3.1-1"
    direction = "write" if name == "objects-write" else "read"
    assert [(r.host, r.direction, r.moved_bytes, r.operations_count) for r in outcome.results] == [
        (client, direction, 192 * MIB, calls_count) for client in ("client-1", "client-2")
    ]
    assert outcome.measured == measured
    for result in outcome.results:
        text = (RAW / name / f"{result.host}.res").read_text()
        (total_mib,) = re.findall(r"Total MiB +: +\d+ +(\d+)$", text, re.MULTILINE)
        assert int(total_mib) * MIB == result.moved_bytes
        ((seconds, milliseconds),) = re.findall(r"Elapsed time +: +\S+ +(\d+)\.(\d+)s$", text, re.MULTILINE)
        length_s = int(seconds) + int(milliseconds) / 1e3
        assert result.ended_s - result.began_s == pytest.approx(length_s, abs=1.1e-3)
        assert result.latency_s.keys() == {"mean", "max"}


@pytest.mark.parametrize(
    "stored", [(15, 180 * MIB), (16, 192 * MIB - 1), (17, 204 * MIB)], ids=["fewer", "cut", "more"]
)
def test_a_store_without_just_what_it_acknowledged_fails_the_trial(
    stored: tuple[int, int], tmp_path: Path
) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(RAW / "objects-write", raw)
    count, size_bytes = stored
    listed = json.loads((raw / "stored.json").read_text())
    assert listed["client-2"] == {"objects_count": 16, "bytes": 192 * MIB}
    listed["client-2"] = {"objects_count": count, "bytes": size_bytes}
    (raw / "stored.json").write_text(json.dumps(listed))
    with pytest.raises(MovedTooLittle, match=f"client-2: the store has {count} objects with {size_bytes} B"):
        recorded("objects-write").outcome(raw)


def test_bytes_that_were_sent_twice_are_a_failure(tmp_path: Path) -> None:
    def repeat(report: dict[str, Any]) -> None:
        last = report["last_done"]
        last["bytes"] = str(198 * MIB)
        last["bytes/s"] = str(int(last["bytes/s"]) * 198 // 192)

    with pytest.raises(
        MovedTooLittle, match="client-1: elbencho moved 198 MiB of 192 MiB in 16 of 16 objects"
    ):
        recorded("objects-write").outcome(changed(tmp_path, "objects-write", repeat))


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("path_type", "dir", "the path type of client-1 was dir, and bucket was requested"),
        ("block_size", "12582912", "the block size of client-1 was 12582912"),
        ("io_depth", "1", "the IO depth of client-1 was 1"),
    ],
)
def test_another_load_than_the_requested_is_refused(
    column: str, value: str, words: str, tmp_path: Path
) -> None:
    raw = changed(tmp_path, "objects-write", lambda report: report["config"].update({column: value}))
    with pytest.raises(UnexpectedOutput, match=words):
        recorded("objects-write").outcome(raw)
