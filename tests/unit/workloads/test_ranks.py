"""The program of ranks, as clients run it: what it writes, what it refuses, and how it ends."""

import csv
import json
import lzma
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from perjoule import drivers
from perjoule.drivers.protocols import Process, Workload
from perjoule.execution.layouts import Layouts
from perjoule.model import Json, Spec, Trial
from perjoule.model.errors import ProgramFailed
from perjoule.workloads._ranks import PROGRAM, program
from perjoule.workloads._ranks.program import TRANSIENT
from scripted import ScriptedHost, ScriptedMount, ScriptedProcess

KIB = 1024
SIZE = 200 * KIB + 512  # no multiple of a call, nor of a page


def job(folder: Path, do: str, ranks: Sequence[dict[str, Any]], gate: str = "date +%s.%N") -> str:
    common = {"bytes": SIZE, "transfer": 64 * KIB, "direct": False}
    every = [
        {"path": str(folder / f"shard-{number}"), "content_seed": f"shard-{number}", **common, **rank}
        for number, rank in enumerate(ranks)
    ]
    return json.dumps({"do": do, "ranks": every, "out": str(folder / "out"), "gate": gate})


def ran(folder: Path, do: str, *ranks: dict[str, Any], gate: str = "date +%s.%N") -> tuple[int, str]:
    """Its exit code and what it said."""
    ended = subprocess.run(
        [sys.executable, "-I", PROGRAM],
        input=job(folder, do, ranks, gate),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.stdout == ""
    return ended.returncode, ended.stderr.strip()


def calls(folder: Path, rank: int) -> list[dict[str, str]]:
    with (folder / f"out.{rank}.csv").open() as file:
        return list(csv.DictReader(file))


def test_each_rank_writes_its_file_and_notes_every_call(tmp_path: Path) -> None:
    assert ran(tmp_path, "write", {}, {}, gate="echo 1234.5") == (0, "")
    contents = [(tmp_path / f"shard-{number}").read_bytes() for number in (0, 1)]
    assert [len(content) for content in contents] == [SIZE, SIZE]
    assert contents[0] != contents[1]
    for rank in (0, 1):
        rows = calls(tmp_path, rank)
        assert [int(row["bytes"]) for row in rows] == [64 * KIB, 64 * KIB, 64 * KIB, 8 * KIB + 512]
        done = json.loads((tmp_path / f"out.{rank}.json").read_text())
        returned_s = [float(row["returned_s"]) for row in rows]
        assert returned_s == sorted(returned_s)
        assert 0 < returned_s[-1] <= done["ended_s"] < 30
        assert 0 <= done["cpu_s"] <= done["ended_s"] + 0.1
    assert (tmp_path / "out.began.txt").read_text() == "1234.5\n"


def test_a_rank_has_not_ended_before_its_whole_file_is_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[int, float]] = []

    def slow_disk(descriptor: int) -> None:
        time.sleep(0.05)
        synced.append((os.fstat(descriptor).st_size, time.monotonic()))

    monkeypatch.setattr(os, "fsync", slow_disk)
    (rank,) = json.loads(job(tmp_path, "write", [{}]))["ranks"]
    _, done = program.write(rank, time.monotonic)
    ((size, durable_s),) = synced
    assert size == SIZE
    assert done["ended_s"] >= durable_s


def test_content_depends_on_the_seed_alone_and_no_two_blocks_are_equal(tmp_path: Path) -> None:
    """So that neither compression nor deduplication makes a checkpoint smaller."""
    assert ran(tmp_path, "write", {}, {"content_seed": "shard-0", "transfer": 128 * KIB}) == (0, "")
    contents = [(tmp_path / f"shard-{number}").read_bytes() for number in (0, 1)]
    assert contents[0] == contents[1]
    blocks = [contents[0][begin : begin + 64 * KIB] for begin in range(0, SIZE - 64 * KIB, 64 * KIB)]
    assert len(set(blocks)) == len(blocks) == 3


def test_contents_can_not_be_compressed_even_by_what_looks_far_back(tmp_path: Path) -> None:
    assert ran(tmp_path, "write", {"bytes": 1000 * KIB}) == (0, "")
    content = (tmp_path / "shard-0").read_bytes()
    assert len(lzma.compress(content)) > 0.99 * len(content)


@pytest.mark.parametrize("transfer", [192 * KIB, 3 * KIB * KIB])
def test_a_file_is_the_same_and_right_whatever_the_size_of_calls(tmp_path: Path, transfer: int) -> None:
    size = 5 * KIB * KIB + 512
    calls_of = {"bytes": size, "content_seed": "same"}
    assert ran(tmp_path, "write", calls_of, {**calls_of, "transfer": transfer}) == (0, "")
    assert (tmp_path / "shard-0").read_bytes() == (tmp_path / "shard-1").read_bytes()
    assert ran(tmp_path, "read", {**calls_of, "transfer": transfer}, calls_of) == (0, "")


def test_what_was_written_is_read_with_calls_of_any_size(tmp_path: Path) -> None:
    assert ran(tmp_path, "write", {}) == (0, "")
    assert ran(tmp_path, "read", {"transfer": 128 * KIB}) == (0, "")
    assert [int(row["bytes"]) for row in calls(tmp_path, 0)] == [128 * KIB, 72 * KIB + 512]


@pytest.mark.parametrize("at", [0, 64 * KIB + 9, SIZE - 1])
def test_a_byte_that_differs_is_found(tmp_path: Path, at: int) -> None:
    assert ran(tmp_path, "write", {}) == (0, "")
    path = tmp_path / "shard-0"
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    whole = at // (64 * KIB) * 64 * KIB
    assert ran(tmp_path, "read", {}) == (
        1,
        f"rank 0: {path}: what was read at byte {whole} is not what was written",
    )


def test_a_short_file_a_missing_one_and_a_full_disk_end_all_ranks_with_their_reason(tmp_path: Path) -> None:
    assert ran(tmp_path, "write", {}, {}) == (0, "")
    short = tmp_path / "shard-1"
    os.truncate(short, 70_000)
    assert ran(tmp_path, "read", {}, {}) == (1, f"rank 1: {short} ends before byte 131072")
    short.unlink()
    assert ran(tmp_path, "read", {}, {}) == (1, f"rank 1: {short}: no such file or directory")
    assert ran(tmp_path, "write", {"path": "/dev/full"}) == (1, "rank 0: /dev/full: no space left on device")


def test_a_mount_that_is_gone_may_be_there_at_another_attempt(tmp_path: Path) -> None:
    """/proc/self/mem answers EIO at an address where nothing is mapped."""
    code, reason = ran(tmp_path, "read", {"path": "/proc/self/mem"})
    assert (code, reason) == (TRANSIENT, "rank 0: /proc/self/mem: input/output error")


def awaited(done: Callable[[], bool]) -> None:
    for _ in range(3000):
        if done():
            return
        time.sleep(0.01)
    raise TimeoutError


def children(process: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def started(folder: Path, *ranks: dict[str, Any]) -> tuple[subprocess.Popen[bytes], list[int]]:
    """Start ranks that wait at a gate, which is nobody's child until all are ready."""
    (folder / "job.json").write_text(job(folder, "write", ranks, gate="sleep 1"))
    with (folder / "job.json").open() as stdin, (folder / "stderr").open("w") as stderr:
        process = subprocess.Popen([sys.executable, "-I", PROGRAM], stdin=stdin, stderr=stderr)
    awaited(lambda: len(children(process.pid)) > len(ranks))
    return process, children(process.pid)[: len(ranks)]


def test_a_rank_that_dies_ends_the_others_and_is_named(tmp_path: Path) -> None:
    process, ranks = started(tmp_path, {}, {}, {})
    os.kill(ranks[1], signal.SIGKILL)
    assert process.wait(20) == 1
    assert (tmp_path / "stderr").read_text() == "rank 1 was ended by SIGKILL\n"
    assert not any(Path(f"/proc/{rank}").exists() for rank in ranks)


def test_ranks_end_with_the_program(tmp_path: Path) -> None:
    process, ranks = started(tmp_path, {}, {})
    process.kill()
    process.wait(20)
    awaited(lambda: not any(Path(f"/proc/{rank}").exists() for rank in ranks))
    assert not (tmp_path / "shard-0").exists()


class AskedClient(ScriptedHost):
    """A client that keeps what its ranks are asked to do, and where they then fail."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[dict[str, Any]] = []

    def spawn(self, argv: Sequence[str | Path], *, log: Path, text: str | None = None, **_: Any) -> Process:
        self.asked.append(json.loads(text or ""))
        return ScriptedProcess(program.FAILED, "asked")

    def clock_offset(self) -> Any:
        return type("Offset", (), {"offset_s": 0.0})()


def pages(asked: dict[str, Any], folder: Path) -> set[bytes]:
    """The different pages of the files that ranks write as they are asked, below a folder of ours instead."""
    data = folder / "data"
    data.mkdir(parents=True)
    ranks = [rank | {"path": str(data / Path(rank["path"]).name)} for rank in asked["ranks"]]
    ended = subprocess.run(
        [sys.executable, "-I", PROGRAM],
        input=json.dumps(asked | {"ranks": ranks, "out": str(folder / "out"), "gate": ""}),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    contents = [path.read_bytes() for path in data.iterdir()]
    return {content[at : at + 4 * KIB] for content in contents for at in range(0, len(content), 4 * KIB)}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("checkpoint", {"size": "2 MiB", "ranks": 2}),
        ("kv_cache", {"model": "tiny-1b", "share": "1 %", "users": 5, "requests": 12, "ranks": 2}),
    ],
)
def test_no_trial_writes_the_bytes_of_an_earlier_one(
    kind: str, options: dict[str, Json], tmp_path: Path
) -> None:
    """A store that keeps equal blocks once would write nothing in the second repetition."""
    client = AskedClient()
    layouts, load = Layouts(ScriptedMount(client)), drivers.build("workloads", kind, options)
    assert isinstance(load, Workload)
    written: list[set[bytes]] = []
    for repetition in (1, 2):
        specs = Spec("virtual", {}, "v"), Spec("moosefs", {}, "m"), Spec(kind, options, kind)
        place = layouts.of(Trial(*specs, (), 1, repetition, ()), [client])
        raw = tmp_path / f"raw-{repetition}"
        raw.mkdir()
        with pytest.raises(ProgramFailed, match="asked"):
            load.run([client], place, raw)
        written.append(pages(client.asked[-1], tmp_path / f"made-{repetition}"))
    assert len(written[0]) == len(written[1]) > 100
    assert not written[0] & written[1]
