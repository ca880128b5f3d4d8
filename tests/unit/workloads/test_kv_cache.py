"""Key-value caches: the requests that servers serve, what they write and read, and what their records add up to."""

import csv
import json
import math
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.model import Json
from perjoule.model.errors import MovedTooLittle, WorkloadError
from perjoule.workloads._ranks import PROGRAM
from perjoule.workloads._ranks.program import inference_requests
from perjoule.workloads.kv_cache import PROFILES, TOKEN_BYTES, KvCache
from places import TRANSCRIPTS
from scripted import ScriptedHost, ScriptedMount

PAGE = 4096
TOKEN = 6 * PAGE  # as of tiny-1b
JOB: dict[str, Any] = {
    "seed": "a",
    "content_seed": "a",
    "profiles": [[[20, 60], [30, 120]], [[100, 200], [10, 40]]],
    "users": 5,
    "requests": 12,
    "zipf": 0.0,
    "continues": 0.8,
    "prefill": 150,
    "batch": 32,
    "token": TOKEN,
    "transfer": 16 * TOKEN,
    "direct": False,
    "drop": True,
}


def kv_cache(**options: Json) -> KvCache:
    made = drivers.build("workloads", "kv_cache", {"users": 5, "requests": 12, **options})
    assert isinstance(made, KvCache)
    return made


def ran(folder: Path, *jobs: dict[str, Any]) -> tuple[int, str]:
    """Its exit code and what it said, of a server for each job."""
    (folder / "data").mkdir(exist_ok=True)
    ranks = [{**job, "path": str(folder / "data" / f"kv-{rank}")} for rank, job in enumerate(jobs)]
    ended = subprocess.run(
        [sys.executable, "-I", PROGRAM],
        input=json.dumps({"do": "serve", "ranks": ranks, "out": str(folder / "out"), "gate": "date +%s.%N"}),
        capture_output=True,
        text=True,
        timeout=60,
    )
    return ended.returncode, ended.stderr.strip()


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_token_has_the_bytes_that_its_models_say() -> None:
    """Two vectors, of 2 bytes a number, for each KV head of each layer; as published with the models."""
    assert TOKEN_BYTES["llama3.1-8b"] == TOKEN_BYTES["mistral-7b"] == 128 * 1024
    assert TOKEN_BYTES["llama3.1-70b-instruct"] == 320 * 1024
    assert TOKEN_BYTES["llama2-7b"] == 512 * 1024
    assert all(16 * token % 65536 == 0 and token % PAGE == 0 for token in TOKEN_BYTES.values())


def test_requests_follow_from_the_seed_and_keep_to_their_profiles() -> None:
    many = JOB | {"users": 400, "requests": 20_000}
    requests = inference_requests(many)
    assert requests == inference_requests(many) != inference_requests(many | {"seed": "b"})
    assert all(5 <= r.context <= 200 and 2 <= r.generated <= 120 for r in requests)
    assert max(r.context for r in requests if r.generated > 40) <= 60  # of the first profile alone
    assert max(r.generated for r in requests if r.context > 60) <= 40  # of the second


def test_a_conversation_continues_four_times_of_five_and_has_all_earlier_turns() -> None:
    requests = inference_requests(JOB | {"users": 20, "requests": 20_000})
    last: dict[int, tuple[int, ...]] = {}
    for number, request in enumerate(requests):
        if request.earlier:
            before = request.earlier[-1]
            assert request.earlier == (*last.pop(before), before)  # no turn is followed twice
        last[number] = request.earlier
    assert statistics.fmean(bool(r.earlier) for r in requests) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(("zipf", "ratio"), [(0.0, 1 / 5), (1.0, 60 / 137)])
def test_users_of_a_zipf_distribution_ask_as_often_as_it_says(zipf: float, ratio: float) -> None:
    """The first of five users: of 1 + 1/2 + 1/3 + 1/4 + 1/5 = 137/60. Conversations that never end tell users."""
    requests = inference_requests(JOB | {"requests": 20_000, "zipf": zipf, "continues": 1.0})
    begun = Counter((*request.earlier, number)[0] for number, request in enumerate(requests))
    assert len(begun) == 5
    assert max(begun.values()) / len(requests) == pytest.approx(ratio, abs=0.015)


@pytest.mark.parametrize("direct", [False, True])
def test_servers_write_each_entry_once_and_read_what_requests_need(tmp_path: Path, direct: bool) -> None:
    """The bytes and the mix, from the noted requests alone."""
    job = JOB | {"direct": direct, "drop": not direct}
    ended = ran(tmp_path, job, job | {"seed": "b"})
    if direct and "invalid argument" in ended[1]:
        pytest.skip("this temporary folder has no direct I/O")
    assert ended == (0, "")
    for rank in (0, 1):
        requests = rows(tmp_path / f"out.{rank}.requests.csv")
        context = [int(request["context"]) for request in requests]
        assert len(requests) == 12
        written = rows(tmp_path / f"out.{rank}.writes.csv")
        assert [int(call["bytes"]) for call in written] == [count * TOKEN for count in context]
        files = [tmp_path / "data" / f"kv-{rank}-{number}" for number in range(12)]
        assert [path.stat().st_size for path in files] == [count * TOKEN for count in context]
        assert len({path.read_bytes()[: 64 * 1024] for path in files}) == 12
        expected: list[int] = []
        for number, request in enumerate(requests):
            entries = [int(entry) for entry in request["earlier"].split()]
            if context[number] < 150:
                generated = int(request["generated"])
                entries += [number] * (1 + (generated + 31) // 32)
            for entry in entries:
                whole, rest = divmod(context[entry], 16)
                expected += [16 * TOKEN] * whole + ([rest * TOKEN] if rest else [])
        calls = rows(tmp_path / f"out.{rank}.csv")
        assert [int(call["bytes"]) for call in calls] == expected
        assert sum(expected) > 3 * sum(context) * TOKEN  # reads dominate


def test_an_entry_that_is_not_what_was_written_is_named(tmp_path: Path) -> None:
    """By a program that changes a byte behind its own back."""
    program = PROGRAM.read_text()
    changed = program.replace(
        "os.fsync(descriptor)", "os.pwrite(descriptor, b'x', 70000); os.fsync(descriptor)"
    )
    assert changed != program
    path = str(tmp_path / "kv-0")
    job = {"do": "serve", "ranks": [JOB | {"path": path}], "out": str(tmp_path / "out"), "gate": ""}
    (tmp_path / "changed.py").write_text(changed)
    argv = [sys.executable, "-I", str(tmp_path / "changed.py")]
    ended = subprocess.run(argv, input=json.dumps(job), capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "what was read at byte 0 is not what was written" in ended.stderr


def test_entries_of_an_earlier_run_are_never_taken_for_own_ones(tmp_path: Path) -> None:
    assert ran(tmp_path, JOB) == (0, "")
    code, reason = ran(tmp_path, JOB)
    assert code == 1
    assert reason.endswith("kv-0-0: file exists")


def serve(folder: Path, load: KvCache) -> None:
    """What servers of one client leave, on this machine's clock."""
    clocks = [{"monotonic_s": t_s, "utc_s": 1000.0 + t_s} for t_s in (99.0, 190.0)]
    run: dict[str, Any] = {"clients": ["client-1"], "clocks": clocks, "ahead_s": {"client-1": [0.0, 0.0]}}
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "prepared.json").write_text('{"doubts": []}')
    (folder / "client-1.began.txt").write_text("1100.0")
    (folder / "data").mkdir()
    jobs = [load.job(0, rank, str(folder / "data" / f"kv-{rank}")) for rank in range(load.ranks_count)]
    ended = subprocess.run(
        [sys.executable, "-I", PROGRAM],
        input=json.dumps({"do": "serve", "ranks": jobs, "out": str(folder / "client-1"), "gate": ""}),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


SMALL: dict[str, Json] = {"model": "tiny-1b", "share": "1 %", "ranks": 2}


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """What two servers of one client left."""
    serve(tmp_path, kv_cache(**SMALL))
    return tmp_path


def test_an_outcome_tells_writes_from_reads_and_counts_tokens(raw: Path) -> None:
    outcome = kv_cache(**SMALL).outcome(raw)
    moved: dict[str, int] = {}
    for table in ("", ".writes"):
        calls = [call for rank in (0, 1) for call in rows(raw / f"client-1.{rank}{table}.csv")]
        moved[table] = sum(int(call["bytes"]) for call in calls)
    noted = [request for rank in (0, 1) for request in rows(raw / f"client-1.{rank}.requests.csv")]
    assert [(r.user, r.direction, r.moved_bytes) for r in outcome.results] == [
        ("prefill", "write", moved[".writes"]),
        ("decode", "read", moved[""]),
    ]
    writes, reads = outcome.results
    assert writes.operations_count == len(noted) == 12
    assert (writes.began_s, writes.ended_s) == (reads.began_s, reads.ended_s)
    assert outcome.measured["requests_count"] == 12
    assert outcome.measured["tokens_count"] == sum(int(request["generated"]) for request in noted)
    assert outcome.measured["tokens_read_count"] == moved[""] / (24 * 1024)
    assert "not a result of MLPerf" in outcome.note
    took_s = sorted(float(call["took_s"]) for rank in (0, 1) for call in rows(raw / f"client-1.{rank}.csv"))
    beyond = [taken for taken in took_s if taken > reads.latency_s["p95"]]
    assert len(beyond) <= 0.05 * len(took_s)


def test_every_call_is_counted_with_how_long_it_took(raw: Path) -> None:
    outcome = kv_cache(**SMALL).outcome(raw)
    for user, table in (("prefill", ".writes"), ("decode", "")):
        calls = [call for rank in (0, 1) for call in rows(raw / f"client-1.{rank}{table}.csv")]
        log = {s.channel.quantity: s for s in outcome.series if s.channel.component == f"user {user}"}
        each_s = np.repeat(log["latency"].value, log["calls"].value.astype(int))
        assert sorted(each_s.tolist()) == sorted(float(call["took_s"]) for call in calls)
        assert {*log["calls"].t_s} == {r.ended_s for r in outcome.results}


def test_a_plan_has_the_bytes_that_were_moved_and_are_stored(raw: Path) -> None:
    load = kv_cache(**SMALL)
    outcome = load.outcome(raw)
    assert load.moved_bytes(1) == sum(result.moved_bytes for result in outcome.results)
    assert load.stored_bytes(1) == sum(path.stat().st_size for path in (raw / "data").iterdir())
    assert load.moved_bytes(2) > load.moved_bytes(1)


@pytest.mark.parametrize("table", ["", ".writes"])
def test_bytes_that_requests_do_not_explain_are_an_error(raw: Path, table: str) -> None:
    path = raw / f"client-1.1{table}.csv"
    path.write_text("\n".join([*path.read_text().splitlines()[:-1], ""]))
    with pytest.raises(MovedTooLittle, match=f"client-1: server 1 {'wrote' if table else 'read'} "):
        kv_cache(**SMALL).outcome(raw)


def test_a_request_that_was_not_served_is_an_error(raw: Path) -> None:
    with pytest.raises(MovedTooLittle, match="12 of 13 requests"):
        kv_cache(**SMALL | {"requests": 13}).outcome(raw)


@pytest.mark.parametrize(
    ("column", "value"), [(0, "1e9"), (0, "-1"), (1, "0"), (2, "0"), (4, "99"), (4, "-1"), (1, "x")]
)
def test_damaged_requests_are_one_error(raw: Path, column: int, value: str) -> None:
    path = raw / "client-1.0.requests.csv"
    lines = path.read_text().splitlines()
    cells = lines[-1].split(",")
    cells[column] = value
    path.write_text("\n".join([*lines[:-1], ",".join(cells)]))
    with pytest.raises(WorkloadError, match=r"can't be read|impossible"):
        kv_cache(**SMALL).outcome(raw)


def test_a_share_is_of_prompts_and_a_profile_of_users() -> None:
    assert kv_cache(profile="chatbot", share="50 %").job(0, 0, "")["profiles"] == [[[256, 2048], [50, 200]]]
    mixed = kv_cache(requests=13, users=7, ranks=2)
    jobs = [mixed.job(0, rank, "") for rank in (0, 1)]
    assert [(job["users"], job["requests"]) for job in jobs] == [(4, 7), (3, 6)]
    assert jobs[0]["profiles"] == [[list(ends) for ends in both] for both in PROFILES.values()]
    assert jobs[0]["seed"] != jobs[1]["seed"] != mixed.job(1, 0, "")["seed"]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"share": "0 %"}, "share is above 0"),
        ({"ranks": 6}, "each of the ranks has users and requests"),
        ({"block": 20}, "multiple of 16"),
        ({"zipf": -1.0}, "greater than or equal to 0"),
    ],
)
def test_what_can_not_be_is_refused(options: dict[str, Json], error: str) -> None:
    with pytest.raises((ValidationError, ValueError), match=error):
        kv_cache(**options)


def test_more_reads_than_can_be_read_again_are_refused_before_the_load(tmp_path: Path) -> None:
    """A server of 4,000 requests notes 12 million calls of 16 tokens; in calls of 64, a quarter."""
    client = ScriptedHost()
    mounted = ScriptedMount(client)
    with pytest.raises(WorkloadError, match="more than 256 MiB; use a larger block"):
        kv_cache(users=100, requests=4000).prepare([client], mounted, tmp_path)
    kv_cache(users=100, requests=4000, block=64).prepare([client], mounted, tmp_path)


def test_what_real_servers_left_gives_its_numbers() -> None:
    """Two servers, six requests of three users; a token of tiny-1b has 24 KiB, a decode
    batch 32 tokens.
    """
    folder = TRANSCRIPTS / "kv_cache"
    outcome = kv_cache(**SMALL | {"requests": 6, "users": 3}).outcome(folder)
    written_count = read_count = answers_count = 0
    for rank in (0, 1):
        prompts: list[int] = []
        for request in rows(folder / f"client-1.{rank}.requests.csv"):
            prompts.append(int(request["context"]))
            answers_count += (answer_count := int(request["generated"]))
            written_count += prompts[-1]
            if prompts[-1] < 100:  # 1 % of 10,000 tokens; longer ones are for another server to decode
                read_count += prompts[-1] * (1 + math.ceil(answer_count / 32))
            read_count += sum(prompts[int(number)] for number in request["earlier"].split())
    writes, reads = outcome.results
    assert writes.moved_bytes == TOKEN * written_count
    assert reads.moved_bytes == TOKEN * read_count
    assert outcome.measured["tokens_count"] == answers_count
