"""elbencho: its JSON is read rightly, held against the text that it prints, and what lacks in it is missed.

`tests/transcripts/elbencho` has raw folders of elbencho 3.1-1 on two virtual clients.
"""

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.drivers.protocols import Process, Workload
from perjoule.model import Json
from perjoule.model.errors import MovedTooLittle, ProgramFailed, UnexpectedOutput, WorkloadError
from perjoule.model.units import MIB
from places import TRANSCRIPTS
from scripted import ScriptedHost, ScriptedMount, ScriptedProcess

RAW = TRANSCRIPTS / "elbencho"
READ: dict[str, Json] = {"operation": "randread", "direct": True, "in_flight": 4}
ELAPSED = re.compile(r"^(\w+) +Elapsed time +: +\S+ +(?:(\d+)\.)?(\d+)m?s$", re.MULTILINE)
ROUNDED_S = 1e-3  # of what it prints


def elbencho(**options: Json) -> Workload:
    geometry: dict[str, Json] = {"size": "256 MiB", "threads": 2, "folders": 2, "files": 4}
    made = drivers.build("workloads", "elbencho", {**geometry, "transfer": "64 KiB", **options})
    assert isinstance(made, Workload)
    return made


def printed(operation: str, client: str) -> list[tuple[str, float]]:
    """What elbencho printed of its phases: the name, and the time until its last thread was done."""
    return [
        (name, int(seconds or 0) + int(milliseconds) / 1e3)
        for name, seconds, milliseconds in ELAPSED.findall((RAW / operation / f"{client}.res").read_text())
    ]


def documents(raw: Path, client: str = "client-1") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (raw / f"{client}.json").read_text().splitlines()]


def changed(folder: Path, operation: str, change: Callable[[list[dict[str, Any]]], object]) -> Path:
    """A copy of a raw folder in which the report of a client is another."""
    raw = folder / "raw"
    shutil.copytree(RAW / operation, raw)
    phases = documents(raw)
    change(phases)
    (raw / "client-1.json").write_text("".join(f"{json.dumps(one)}\n" for one in phases))
    return raw


# Numbers


@pytest.mark.parametrize(
    ("options", "direction", "operation"), [({}, "write", "write"), (READ, "read", "randread")]
)
def test_each_client_moved_what_it_printed(
    options: Mapping[str, Json], direction: str, operation: str
) -> None:
    load = elbencho(**options)
    outcome = load.outcome(RAW / operation)
    assert outcome.engine == "elbencho 3.1-1"
    assert load.directions == (direction,)
    assert [(r.host, r.direction, r.moved_bytes, r.operations_count) for r in outcome.results] == [
        (client, direction, 256 * MIB, 4096) for client in ("client-1", "client-2")
    ]
    for result in outcome.results:
        text = (RAW / operation / f"{result.host}.res").read_text()
        (total_mib,) = re.findall(r"Total MiB +: +\d+ +(\d+)$", text, re.MULTILINE)
        assert int(total_mib) * MIB == result.moved_bytes
        (latencies,) = re.findall(r"IO latency +: \[ min=\S+ avg=(\S+) max=(\S+) \]", text)
        printed_s = [float(of.rstrip("mus")) * {"us": 1e-6, "ms": 1e-3}.get(of[-2:], 1.0) for of in latencies]
        assert [result.latency_s["mean"], result.latency_s["max"]] == pytest.approx(printed_s, rel=0.01)


def test_a_read_takes_as_long_as_it_printed() -> None:
    for result in elbencho(**READ).outcome(RAW / "randread").results:
        ((name, took_s),) = printed("randread", result.host)
        assert name == "READ"
        middle_s = took_s + ROUNDED_S / 2  # it rounds down
        assert result.ended_s - result.began_s == pytest.approx(middle_s, abs=ROUNDED_S / 2 + 1e-6)


def test_a_write_takes_until_its_flush_has_ended() -> None:
    clocks = json.loads((RAW / "write" / "run.json").read_text())["clocks"]
    for result in elbencho().outcome(RAW / "write").results:
        (_, _), (write, wrote_s), (flush, flushed_s) = printed("write", result.host)
        assert (write, flush) == ("WRITE", "SYNC")
        length_s = result.ended_s - result.began_s
        assert wrote_s + flushed_s <= length_s <= wrote_s + flushed_s + 0.05
        assert clocks[0]["monotonic_s"] < result.began_s < result.ended_s < clocks[1]["monotonic_s"]


def test_the_start_is_by_the_clock_of_the_client(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(RAW / "randread", raw)
    run = json.loads((raw / "run.json").read_text())
    clock = run["clocks"][0]
    for ahead_s in (0.0, 7.5):
        run["ahead_s"] = {"client-1": [ahead_s, ahead_s], "client-2": [0.0, 0.0]}
        (raw / "run.json").write_text(json.dumps(run))
        began_utc_s = datetime.fromisoformat(documents(raw)[0]["iso_start_date"]).timestamp() - ahead_s
        first = elbencho(**READ).outcome(raw).results[0]
        assert first.began_s - clock["monotonic_s"] == pytest.approx(began_utc_s - clock["utc_s"], abs=1e-6)


# Doubts


def test_a_client_that_began_after_the_others_is_a_doubt(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(RAW / "randread", raw)
    run = json.loads((raw / "run.json").read_text())
    run["ahead_s"] = {"client-1": [0.0, 0.0], "client-2": [-0.5, -0.5]}
    (raw / "run.json").write_text(json.dumps(run))
    assert [doubt.id for doubt in elbencho(**READ).outcome(raw).doubts] == ["times.began_late"]


def test_a_brief_run_is_a_doubt(tmp_path: Path) -> None:
    def shorten(phases: list[dict[str, Any]]) -> None:
        last = phases[0]["last_done"]
        phases[0]["first_done"]["elapsed_time_ms"] = last["elapsed_time_ms"] = "50"
        last["bytes/s"], last["iops"], last["entries/s"] = str(20 * 256 * MIB), str(20 * 4096), str(20 * 16)

    doubts = elbencho(**READ).outcome(changed(tmp_path, "randread", shorten)).doubts
    assert "times.short" in [doubt.id for doubt in doubts]


# What is refused


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("threads", "3", "the threads of client-1 was 3, and 2 was requested"),
        ("file_size", "65536", "the file size of client-1 was 65536"),
        ("block_size", "4096", "the block size of client-1 was 4096"),
        ("direct_io", "true", "the direct IO of client-1 was 1"),
        ("random_offsets", "true", "the random of client-1 was 1"),
        ("io_depth", "8", "the IO depth of client-1 was 8"),
        ("hosts", "2", "the hosts of client-1 was 2"),
    ],
)
def test_another_load_than_the_requested_is_refused(
    column: str, value: str, words: str, tmp_path: Path
) -> None:
    raw = changed(tmp_path, "write", lambda phases: phases[1]["config"].update({column: value}))
    with pytest.raises(UnexpectedOutput, match=words):
        elbencho().outcome(raw)


def test_a_write_without_its_flush_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnexpectedOutput, match="client-1 reports SYNC, WRITE, and not SYNC, WRITE, SYNC"):
        elbencho().outcome(changed(tmp_path, "write", lambda phases: phases.pop()))


def test_a_report_of_two_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnexpectedOutput, match="client-1 reports READ, READ, and not READ"):
        elbencho(**READ).outcome(changed(tmp_path, "randread", lambda phases: phases.append(phases[0])))


def test_a_flush_before_its_write_has_ended_is_refused(tmp_path: Path) -> None:
    def swap(phases: list[dict[str, Any]]) -> None:
        phases[2]["iso_start_date"] = phases[0]["iso_start_date"]

    with pytest.raises(UnexpectedOutput, match="the flush of client-1 began before its write had ended"):
        elbencho().outcome(changed(tmp_path, "write", swap))


def test_a_time_that_its_rate_contradicts_is_refused(tmp_path: Path) -> None:
    def lengthen(phases: list[dict[str, Any]]) -> None:
        last = phases[0]["last_done"]
        last["elapsed_time_ms"] = str(2 * int(last["elapsed_time_ms"]))

    with pytest.raises(UnexpectedOutput, match="contradict"):
        elbencho(**READ).outcome(changed(tmp_path, "randread", lengthen))


def test_fewer_bytes_than_requested_are_a_failure(tmp_path: Path) -> None:
    def lessen(phases: list[dict[str, Any]]) -> None:
        last = phases[0]["last_done"]
        last["bytes"], last["bytes/s"] = str(128 * MIB), str(int(last["bytes/s"]) // 2)

    with pytest.raises(MovedTooLittle, match=r"client-1: elbencho moved 128 MiB of 256 MiB"):
        elbencho(**READ).outcome(changed(tmp_path, "randread", lessen))


@pytest.mark.parametrize("name", ["client-2.json", "run.json", "prepared.json"])
def test_a_raw_folder_with_a_torn_file_is_refused(name: str, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(RAW / "write", raw)
    text = (raw / name).read_text()
    (raw / name).write_text(text[: len(text) // 3])
    with pytest.raises(WorkloadError):
        elbencho().outcome(raw)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"size": "1 MiB", "transfer": "1 MiB"}, r'in each of 16 files \(write "16 MiB"\)'),
        ({"size": "24 MiB", "transfer": "1 MiB"}, r'\(write "16 MiB"\)'),
        ({"direct": True, "transfer": "100 B", "size": "1600 B"}, "whole sectors of 512 B"),
        ({"in_flight": 2}, "only with direct I/O"),
        ({"threads": 0}, "greater than or equal to 1"),
        ({"size": "0 B"}, "greater than 0"),
    ],
)
def test_the_impossible_is_refused_in_a_sentence(options: Mapping[str, Json], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        elbencho(**options)


# What is started


class Client(ScriptedHost):
    """A client whose files have these counts and sizes, and whose elbencho ends so."""

    def __init__(self, counted: str = "", code: int = 0, output: str = "") -> None:
        super().__init__()
        self.counted, self.process = counted, ScriptedProcess(code, output)
        self.started: list[list[str]] = []

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        return 0, self.counted if "perjoule-count" in words else ""

    def starts(self, words: Sequence[str], log: Path) -> Process:
        self.started.append([*words[words.index("perjoule-elbencho") + 1 :]])
        return self.process


def prepared(client: Client, folder: Path, **options: Json) -> list[str]:
    """The names of the programs that ran on a client before its load."""
    elbencho(**options).prepare([client], ScriptedMount(client), folder)
    assert client.ran[-1] == ["drop caches"]
    return [words[0] for words in client.ran]


PLACE = "/mnt/client-1/client-1.elbencho/data-2-2-4-16777216"


def test_old_files_are_removed_before_a_write_and_only_folders_are_made(tmp_path: Path) -> None:
    client = Client()
    assert prepared(client, tmp_path) == ["rm", "mkdir", "sync", "drop caches"]
    assert client.ran[0] == ["rm", "-rf", "--", "/mnt/client-1/client-1.elbencho"]
    assert client.ran[1] == ["mkdir", "--", "/mnt/client-1/client-1.elbencho", PLACE]
    ((program, *words),) = client.started
    assert (program, words[-1]) == ("elbencho", PLACE)
    assert "--mkdirs" in words and "--write" not in words


@pytest.mark.parametrize(
    ("counted", "programs"),
    [
        ("16 16777216\n", ["bash", "sync", "drop caches"]),
        ("15 16777216\n", ["bash", "rm", "mkdir", "sync", "drop caches"]),
        ("15 16777216\n1 4096\n", ["bash", "rm", "mkdir", "sync", "drop caches"]),
        ("", ["bash", "rm", "mkdir", "sync", "drop caches"]),
    ],
)
def test_files_are_laid_out_before_a_read_unless_all_are_there(
    counted: str, programs: list[str], tmp_path: Path
) -> None:
    client = Client(counted)
    assert prepared(client, tmp_path, **READ) == programs
    assert len(client.started) == ("rm" in programs)
    for words in client.started:
        assert {"--mkdirs", "--write", "--sync"} <= {*words}
        assert not {"--rand", "--direct", "--iodepth"} & {*words}


def test_what_a_random_write_leaves_is_no_layout(tmp_path: Path) -> None:
    client = Client()
    prepared(client, tmp_path, operation="randwrite")
    assert client.started[0][-1] == PLACE.replace("data", "holes")


def test_the_request_is_passed_on(tmp_path: Path) -> None:
    client = Client()
    with pytest.raises(WorkloadError):  # it leaves no report
        elbencho(**READ).run([client], ScriptedMount(client), tmp_path)
    words = client.started[0]
    values = {word: words[at + 1] for at, word in enumerate(words[:-1]) if word.startswith("--")}
    assert {"--read", "--direct", "--rand", "--lat", "--nolive"} <= {*words}
    assert not {"--write", "--sync"} & {*words}
    assert values["--size"] == "16777216" and values["--block"] == "65536"
    assert (values["--threads"], values["--dirs"], values["--files"], values["--iodepth"]) == (
        *("2", "2", "4"),
        "4",
    )
    assert {values[f"--{form}file"] for form in ("json", "csv", "res")} == {
        f"{tmp_path.resolve()}/client-1.{form}" for form in ("json", "csv", "res")
    }


def test_its_own_message_ends_the_error(tmp_path: Path) -> None:
    client = Client(code=1, output="ERROR: File read failed. Path: /mnt/x\n")
    with pytest.raises(
        ProgramFailed, match=r"client-1: elbencho failed \(exit code 1\): ERROR: File read failed"
    ):
        elbencho(**READ).run([client], ScriptedMount(client), tmp_path)


def test_a_daemon_that_died_is_the_reason(tmp_path: Path) -> None:
    client = Client(code=1, output="ERROR: File read failed.\n")
    with pytest.raises(WorkloadError, match="ceph-osd died"):
        elbencho(**READ).run([client], ScriptedMount(client, dead=True), tmp_path)
