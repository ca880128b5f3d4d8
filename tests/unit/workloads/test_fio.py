"""fio: what it leaves behind is read rightly, what can't be is refused, and what goes wrong is reported
with its message.
"""

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.drivers.protocols import Host, Process, Workload
from perjoule.machine.scripts import BASH, REMOVE_OLD
from perjoule.model import ClientResult, Json
from perjoule.model.errors import (
    MountLost,
    MovedTooLittle,
    ProgramFailed,
    TimeLimit,
    TooShort,
    TransientError,
    UnexpectedOutput,
    WorkloadError,
)
from perjoule.model.units import MIB
from perjoule.workloads.fio import report, server
from perjoule.workloads.fio.raw import Raw
from places import TRANSCRIPTS, transcript
from scripted import ScriptedHost, ScriptedMount, ScriptedProcess

SAID = TRANSCRIPTS / "fio"


def fio(**options: Json) -> Workload:
    made = drivers.build("workloads", "fio", options)
    assert isinstance(made, Workload)
    return made


def said(*parts: str) -> str:
    return transcript("fio", *parts)


class Client(ScriptedHost):
    """A client on which fio leaves what a transcript holds, or (code None) hangs forever and can't be
    stopped.
    """

    def __init__(
        self, name: str, transcript: str, *, code: int | None = 0, size_bytes: int = 0, cold: bool = True
    ) -> None:
        super().__init__(name)
        self.transcript, self.code, self.size_bytes, self.cold = transcript, code, size_bytes, cold

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        return int(words[0] == "stat" and not self.size_bytes), str(self.size_bytes)

    def starts(self, words: Sequence[str], log: Path) -> Process:
        self.ran.append([*words])
        job = log.name.removesuffix(".log")
        source = SAID / self.transcript
        for file in (
            source.glob(f"{self.name}*") if (source / f"{self.name}.json").exists() else source.iterdir()
        ):
            ending = file.name.removeprefix(self.name).removeprefix(self.transcript)
            shutil.copy(file, log.parent / f"{job}{ending}")
        return ScriptedProcess(self.code, stubborn=True)

    def drop_caches(self) -> None:
        super().drop_caches()
        if not self.cold:
            raise WorkloadError("not allowed", where=self.name)


def test_a_raw_folder_gives_what_each_client_moved() -> None:
    outcome = fio(size="16 MiB", transfer="1 MiB").outcome(SAID / "write")
    assert outcome.engine == "fio-3.33"
    assert [(r.host, r.direction, r.moved_bytes, r.operations_count) for r in outcome.results] == [
        ("client-1", "write", 16 * MIB, 16),
        ("client-2", "write", 16 * MIB, 16),
    ]
    first = outcome.results[0]
    kept = json.loads(said("write", "client-1.json"))["jobs"][0]["write"]
    assert first.ended_s - first.began_s == pytest.approx(kept["runtime"] / 1e3)
    assert first.latency_s["mean"] == kept["lat_ns"]["mean"] / 1e9
    assert list(first.latency_s) == ["mean", "p50", "p95", "p99", "p99.9", "max"]
    assert outcome.doubts == ()


def test_starts_are_in_the_monotonic_clock() -> None:
    outcome = fio(size="16 MiB", transfer="1 MiB").outcome(SAID / "write")
    clocks = json.loads(said("write", "run.json"))["clocks"]
    assert clocks[0]["monotonic_s"] < outcome.began_s < outcome.ended_s < clocks[1]["monotonic_s"]
    utc_s = float(said("write", "client-1.prerun.txt"))
    assert outcome.results[0].began_s - clocks[0]["monotonic_s"] == pytest.approx(utc_s - clocks[0]["utc_s"])


@pytest.mark.parametrize("kind", ["write", "mixed"])
def test_goodput_over_time_sums_to_the_bytes_moved(kind: str) -> None:
    options = {"operation": "randrw", "read_share": "75 %"} if kind == "mixed" else {}
    outcome = fio(size="16 MiB", transfer="1 MiB", **options).outcome(SAID / kind)
    for series in outcome.series:
        moved = [r for r in outcome.results if r.host == series.channel.host]
        assert float((series.value * series.duration_s).sum()) == pytest.approx(16 * MIB)
        assert series.t_s[-1] == max(r.ended_s for r in moved)
        assert series.t_s[0] - series.duration_s[0] == pytest.approx(moved[0].began_s)
        assert (series.value > 0).all()


def test_a_mix_has_a_result_in_each_direction() -> None:
    load = fio(operation="randrw", read_share="75 %", size="16 MiB", transfer="1 MiB")
    outcome = load.outcome(SAID / "mixed")
    assert load.directions == ("write", "read")
    assert sorted({(r.host, r.direction) for r in outcome.results}) == [
        ("client-1", "read"),
        ("client-1", "write"),
        ("client-2", "read"),
        ("client-2", "write"),
    ]
    assert sum(r.moved_bytes for r in outcome.results) == load.moved_bytes(2)


def test_a_window_too_short_for_the_log_is_one_sample() -> None:
    moved = ClientResult("client-1", "write", 10.0, 10.25, 5 * MIB, 5)
    series = report.goodput([""], (moved,), 0.0)
    assert series is not None
    assert (series.t_s.tolist(), series.duration_s.tolist(), series.value.tolist()) == (
        [10.25],
        [0.25],
        [20 * MIB],
    )


def test_a_long_closing_fsync_is_a_window_of_its_own() -> None:
    moved = ClientResult("client-1", "write", 10.0, 12.0, 5 * MIB, 5)
    series = report.goodput(["10500, 10240, 1, 0, 0\n"], (moved,), 0.0)
    assert series is not None
    assert series.duration_s.tolist() == [0.5, 1.5]
    assert series.value.tolist() == [10 * MIB, 0]


@pytest.mark.parametrize("kind", ["stalled", "steady"])
def test_goodput_follows_what_strace_saw_of_the_same_fio(kind: str) -> None:
    """The strace of a run whose writes stalled, or not, is not part of what the log tells."""
    found = json.loads(said("stalls", f"{kind}.json"))["jobs"][0]["write"]
    writes = [line.split() for line in said("stalls", f"{kind}.strace").splitlines()]
    ends_s, sizes_bytes = (np.array([float(line[column]) for line in writes]) for column in (0, 1))
    began_s = float(said("stalls", f"{kind}.prerun.txt"))
    moved = ClientResult(
        "a", "write", began_s, began_s + found["runtime"] / 1e3, found["io_bytes"], found["total_ios"]
    )
    series = report.goodput([said("stalls", f"{kind}_bw.1.log")], (moved,), 0.0)
    assert series is not None
    assert float(series.value @ series.duration_s) == pytest.approx(found["io_bytes"], rel=1e-12)
    for at_s in np.arange(began_s + 1.0, moved.ended_s, 1.0):
        whole_s = np.clip(at_s - series.t_s + series.duration_s, 0, series.duration_s)
        low, high = (float(sizes_bytes[ends_s < at_s + edge_s].sum()) for edge_s in (-0.55, 0.55))
        assert low - 0.02 * found["io_bytes"] <= series.value @ whole_s <= high + 0.02 * found["io_bytes"]


def test_a_log_that_contradicts_the_bytes_moved_is_not_goodput() -> None:
    moved = ClientResult("client-1", "write", 10.0, 12.0, 64 * MIB, 16)
    lines = [f"{10000 + 500 * n}, 65536, 1, 0, 0" for n in range(1, 5)]
    assert report.goodput(["\n".join(lines)], (moved,), 0.0) is None
    # the rest may lie behind the last line
    assert report.goodput(["\n".join(lines[:2])], (moved,), 0.0) is not None


def test_what_arrives_at_once_after_a_stall_lies_behind_the_last_line() -> None:
    """As MooseFS served a read of 64 MiB: three half seconds of 8 MiB, a second of nothing, and 40 MiB
    before the next line.
    """
    moved = ClientResult("client-2", "read", 766.0187, 769.0147, 64 * MIB, 16)
    log = "766520, 16384, 0, 0, 0\n767020, 16416, 0, 0, 0\n767520, 16384, 0, 0, 0\n"
    series = report.goodput([log], (moved,), 0.0)
    assert series is not None
    assert float(series.value @ series.duration_s) == pytest.approx(64 * MIB, rel=1e-12)


@pytest.mark.parametrize("direction", ["read", "write"])
def test_bytes_of_a_long_last_call_count_when_it_returned(direction: Literal["read", "write"]) -> None:
    """Fio looks each half second while calls are made, and logs a look if a call has returned since the last
    one.

    The last line is of 11.0, and the last call returns at the end. A read has no fsync behind it: fio looked
    at 11.5, 12.0, 12.5 and 13.0, and no call had returned. A write's calls had all returned by 11.5, or a
    line would be there.
    """
    moved = ClientResult("client-1", direction, 10.0, 13.4, 48 * MIB, 3)
    way = "01"[direction == "write"]
    series = report.goodput([f"10500, 32768, {way}, 0, 0\n11000, 32768, {way}, 0, 0\n"], (moved,), 0.0)
    assert series is not None
    held = dict(zip(series.t_s.tolist(), (series.value * series.duration_s / MIB).tolist(), strict=True))
    assert held == pytest.approx(
        {10.5: 16, 11.0: 16, 13.0: 0, 13.4: 16}
        if direction == "read"
        else {10.5: 16, 11.0: 16, 11.5: 16, 13.4: 0}
    )


def test_a_read_of_a_single_long_call_moves_its_bytes_at_its_end() -> None:
    series = report.goodput([""], (ClientResult("a", "read", 10.0, 12.3, 4 * MIB, 1),), 0.0)
    assert series is not None
    assert (series.t_s.tolist(), (series.value * series.duration_s).tolist()) == (
        [12.0, 12.3],
        [0, pytest.approx(4 * MIB)],
    )


@pytest.mark.parametrize("seed", range(20))
def test_what_a_client_reads_by_any_moment_is_what_its_calls_returned(seed: int) -> None:
    """Calls of random length, with a long one at the end, and the log that fio's definition makes of them."""
    draw = np.random.default_rng(seed)
    lasted_s = draw.exponential(0.15, 30)
    lasted_s[-1] = draw.uniform(0.7, 4)
    returned_s = 10 + np.cumsum(lasted_s)
    ended_s = 10 + round(float(lasted_s.sum()), 3)
    looks_s = np.arange(10.5, ended_s, 0.5)
    counts = np.histogram(returned_s, [10.0, *looks_s])[0]
    log = "".join(
        f"{round(1e3 * t_s)}, {count * 8192}, 0, 0, 0\n"
        for t_s, count in zip(looks_s, counts, strict=True)
        if count
    )
    series = report.goodput([log], (ClientResult("a", "read", 10.0, ended_s, 30 * 4 * MIB, 30),), 0.0)
    assert series is not None
    for at_s in np.arange(10.0, ended_s, 0.1):
        inside_s = np.clip(at_s - series.t_s + series.duration_s, 0, series.duration_s)
        low, high = (4 * MIB * int((returned_s < at_s + edge_s).sum()) for edge_s in (-0.65, 0.65))
        assert low - 1 <= float(series.value @ inside_s) <= high + 1


@pytest.mark.parametrize("option", ["log_avg_msec=2000", "bwavgtime=100"])
def test_a_job_file_that_averages_its_logs_otherwise_gives_no_goodput(option: str, tmp_path: Path) -> None:
    folder = shutil.copytree(SAID / "job", tmp_path / "raw")
    asked = folder / "job.fio"
    assert Raw(folder).jobs().series
    asked.write_text(asked.read_text().replace("[global]", f"[global]\n{option}", 1))
    assert Raw(folder).jobs().series == ()


def test_a_log_that_contradicts_the_bytes_moved_is_a_doubt_of_the_trial(tmp_path: Path) -> None:
    folder = shutil.copytree(SAID / "write", tmp_path / "raw")
    log = folder / "client-2_bw.1.log"
    log.write_text(re.sub(r"\d+(?=, 1,)", lambda rate: str(8 * int(rate[0])), log.read_text()))
    outcome = fio(size="16 MiB", transfer="1 MiB").outcome(folder)
    assert [series.channel.host for series in outcome.series] == ["client-1"]
    assert outcome.doubts == ("client-2: fio's bandwidth log contradicts the bytes moved",)


def test_warnings_before_the_json_do_no_harm() -> None:
    text = said("client", "report.json")
    assert not text.startswith("{")
    assert report.job(text)["fio version"] == "fio-3.33"


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_truncated_report_is_refused(share: float) -> None:
    text = said("write", "client-1.json")
    with pytest.raises(ValueError, match=r"truncated|no report"):
        report.job(text[: int(len(text) * share)])


def test_a_full_disk_is_reported_with_fios_message_although_bytes_were_counted() -> None:
    assert report.job(said("full", "full.json"))["write"]["io_bytes"] == MIB
    with pytest.raises(ProgramFailed, match="No space left on device") as caught:
        report.check("client-1", 1, said("full", "full.json"), said("full", "full.log"))
    assert not caught.value.transient
    assert "error 28" in str(caught.value)


def test_an_io_error_of_a_gone_mount_is_transient() -> None:
    gone = said("full", "full.json").replace('"error" : 28', '"error" : 107')
    with pytest.raises(MountLost, match="error 107"):
        report.check("client-1", 1, gone, "fio: io_u error on file f: Transport endpoint is not connected")


def test_an_interrupted_run_is_not_a_result() -> None:
    text = said("interrupted", "interrupted.json")
    assert report.job(text)["error"] == 0
    with pytest.raises(ProgramFailed, match="interrupted"):
        report.check("client-1", 128, text, "")


def test_an_option_fio_refuses_is_reported_with_its_message() -> None:
    with pytest.raises(WorkloadError, match="engine nonesuch not loadable"):
        report.check("client-1", 1, "", said("badopt", "badopt.log"))


def test_success_without_a_report_is_not_a_success() -> None:
    with pytest.raises(UnexpectedOutput):
        report.check("client-1", 0, "", "")


TOLERANT = {"transfer": "64 KiB", "size": "80 MiB", "duration": "20 s"}


def test_calls_that_failed_are_counted_where_they_are_tolerated_and_are_in_no_other_number() -> None:
    """A write of 64 KiB failed with "connection refused" while a server of OrangeFS was down: 1 of 640."""
    outcome = fio(**TOLERANT, tolerate_errors=True).outcome(SAID / "errors")
    (moved,) = outcome.results
    assert outcome.measured == {"event_errors_count": 1.0}
    assert (moved.operations_count, moved.moved_bytes) == (639, 639 * 65536)
    assert outcome.doubts == ()
    assert "event_errors_count" not in fio(**TOLERANT).outcome(SAID / "errors").measured


def test_a_load_that_ends_well_after_errors_has_not_failed_and_one_that_ends_badly_has(
    tmp_path: Path,
) -> None:
    client = Client("client-1", "errors")
    load = fio(**TOLERANT, tolerate_errors=True)
    load.prepare([client], ScriptedMount(client), tmp_path)
    assert load.run([client], ScriptedMount(client), tmp_path).measured == {"event_errors_count": 1.0}
    (argv,) = (words for words in client.ran if "fio" in words)
    assert "--continue_on_error=io" in argv
    (ignored,) = (word.partition("=")[2] for word in argv if word.startswith("--ignore_error="))
    reads, writes = (set(map(int, part.split(":"))) for part in ignored.split(","))
    assert reads == writes == {5, 34, 103, 104, 107, 110, 111, 112, 113, 116}
    with pytest.raises(MountLost, match="error 111"):
        report.check(
            "client-1", 1, said("errors", "client-1.json"), "fio: io_u error on file f: Connection refused"
        )
    strict = Client("client-1", "errors")
    fio(**TOLERANT).run([strict], ScriptedMount(strict), tmp_path)
    assert not any("error" in word for words in strict.ran for word in words)


@pytest.mark.parametrize(
    ("options", "why"),
    [({}, "add duration"), ({"duration": "1 s", "client_server": True}, "ends at the first error")],
)
def test_errors_are_tolerated_only_by_loads_that_can_count_them(
    options: Mapping[str, Json], why: str
) -> None:
    with pytest.raises(ValidationError, match=why):
        fio(tolerate_errors=True, **options)


def test_a_short_transfer_without_an_error_is_a_failure() -> None:
    with pytest.raises(MovedTooLittle, match=r"client-1: .*16 MiB of 32 MiB"):
        fio(size="32 MiB", transfer="1 MiB").outcome(SAID / "write")


def test_time_may_end_a_load_before_size_does_and_a_note_says_so() -> None:
    limited = {"operation": "randwrite", "transfer": "4 KiB", "size": "256 MiB", "direct": True}
    outcome = fio(**limited, duration="1.2 s").outcome(SAID / "limited")
    assert outcome.note == "ended by duration"
    assert all(0 < r.moved_bytes < 256 * MIB for r in outcome.results)
    assert all(r.ended_s - r.began_s == pytest.approx(1.2, abs=0.01) for r in outcome.results)
    with pytest.raises(
        WorkloadError, match=r"client-1: fio moved .* of 256 MiB after 1.2 s of 2 s and reported no error"
    ):
        fio(**limited, duration="2 s").outcome(SAID / "limited")


def test_size_may_end_a_load_before_time_does_and_a_note_says_so() -> None:
    assert (
        fio(size="16 MiB", transfer="1 MiB", duration="1 s").outcome(SAID / "write").note == "ended by size"
    )
    assert fio(size="16 MiB", transfer="1 MiB").outcome(SAID / "write").note == ""
    assert (
        report.ended_by_text({"a": "duration", "b": "size", "c": "duration"})
        == "b ended by size; a, c ended by duration"
    )


def test_more_than_was_requested_is_not_a_success() -> None:
    with pytest.raises(MovedTooLittle, match="16 MiB of 8 MiB"):
        fio(size="8 MiB", transfer="1 MiB").outcome(SAID / "write")


def test_a_raw_folder_with_a_file_missing_is_refused(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(SAID / "write", raw)
    (raw / "client-2_bw.1.log").unlink()
    with pytest.raises(UnexpectedOutput, match="client-2_bw"):
        fio(size="16 MiB", transfer="1 MiB").outcome(raw)


def test_a_window_of_few_milliseconds_gives_a_doubt() -> None:
    brief, long = (ClientResult("client-1", "write", 10.0, ended_s, MIB, 1) for ended_s in (10.02, 12.0))
    assert report.doubts((brief, long)) == ("a client ran only 20 ms, which fio measures to 1 ms",)
    assert report.doubts((long,)) == ()


def test_a_load_of_no_time_has_no_rate_and_fails(tmp_path: Path) -> None:
    folder = shutil.copytree(SAID / "write", tmp_path / "raw")
    told = folder / "client-2.json"
    told.write_text(re.sub(r'"runtime" : \d+', '"runtime" : 0', told.read_text()))
    with pytest.raises(TooShort, match=r"^client-2"):
        fio(size="16 MiB", transfer="1 MiB").outcome(folder)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"transfer": "8 MiB", "size": "4 MiB"}, "does not fit a size"),
        (
            {"transfer": "4 MiB", "size": "10 MiB"},
            'not a whole number of transfers of "4 MiB" .write "8 MiB"',
        ),
        ({"read_share": "70 %"}, 'read_share is for operation "rw" or "randrw", not "write"'),
        ({"operation": "rw", "read_share": "70.5 %"}, "whole percent"),
        ({"operation": "rw", "read_share": "170 %"}, "less than or equal to 1"),
        ({"direct": True, "transfer": "100 B", "size": "1000 B"}, "whole sectors"),
        ({"duration": "10 min", "time_limit": "1 min"}, "below time_limit"),
        ({"in_flight": 0}, "greater than or equal to 1"),
        ({"operation": "append"}, "'write', 'read'"),
        ({"size": 4}, "has no unit"),
    ],
)
def test_the_impossible_is_refused_in_a_sentence(options: Mapping[str, Json], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        fio(**options)


def test_a_write_begins_without_the_old_file_and_with_cold_caches(tmp_path: Path) -> None:
    client = Client("client-1", "write", size_bytes=16 * MIB)
    mount = ScriptedMount(client)
    fio(size="16 MiB").prepare([client], mount, tmp_path)
    assert client.ran == [
        [*BASH, REMOVE_OLD, "perjoule-remove-old", "/mnt/client-1", "client-1.*"],
        ["sync", "-f", "/mnt/client-1"],
        ["drop caches"],
    ]
    assert mount.dropped_count == 1


def test_a_read_finds_a_file_of_the_right_size_or_writes_it(tmp_path: Path) -> None:
    clients = [Client("client-1", "write", size_bytes=16 * MIB), Client("client-2", "write", size_bytes=3)]
    fio(operation="read", size="16 MiB").prepare(clients, ScriptedMount(*clients), tmp_path)
    programs = [[argv[0] if argv[0] != "env" else argv[3] for argv in client.ran] for client in clients]
    assert programs == [
        ["stat", "sync", "drop caches"],
        ["stat", "bash", "test", "fio", "sync", "drop caches"],
    ]
    assert (tmp_path / "layout-client-2.json").exists()


def test_caches_that_stay_warm_give_a_doubt(tmp_path: Path) -> None:
    client = Client("client-1", "write", cold=False)
    load = fio(size="16 MiB", transfer="1 MiB")
    load.prepare([client], ScriptedMount(client), tmp_path)
    assert load.run([client], ScriptedMount(client), tmp_path).doubts == (
        "page caches were not dropped: client-1: not allowed",
    )


def test_what_random_writes_leave_never_passes_for_a_layout(tmp_path: Path) -> None:
    written, found = (Client("client-1", "write", size_bytes=16 * MIB) for _ in range(2))
    load = fio(operation="randwrite", size="16 MiB", transfer="1 MiB")
    load.prepare([written], ScriptedMount(written), tmp_path)
    load.run([written], ScriptedMount(written), tmp_path)
    fio(operation="randread", size="16 MiB").prepare([found], ScriptedMount(found), tmp_path)
    assert "--filename=/mnt/client-1/client-1.holes" in written.ran[-1]
    assert found.ran[0] == ["stat", "--format=%s", "/mnt/client-1/client-1.data"]


def test_a_run_reports_what_its_raw_folder_says_again(tmp_path: Path) -> None:
    clients = [Client(f"client-{n}", "write") for n in (1, 2)]
    load = fio(size="16 MiB", transfer="1 MiB")
    load.prepare(clients, ScriptedMount(*clients), tmp_path)
    outcome = load.run(clients, ScriptedMount(*clients), tmp_path)
    assert repr(outcome) == repr(load.outcome(tmp_path))
    assert [r.host for r in outcome.results] == ["client-1", "client-2"]


def test_more_in_flight_needs_an_engine_that_can(tmp_path: Path) -> None:
    engines: dict[tuple[int, bool], str] = {}
    for in_flight, direct in ((1, False), (8, True), (8, False)):
        client = Client("client-1", "write")
        load = fio(size="16 MiB", transfer="1 MiB", in_flight=in_flight, direct=direct)
        load.prepare([client], ScriptedMount(client), tmp_path)
        load.run([client], ScriptedMount(client), tmp_path)
        engines[in_flight, direct] = next(word for word in client.ran[-1] if word.startswith("--ioengine"))
    assert list(engines.values()) == ["--ioengine=psync", "--ioengine=libaio", "--ioengine=io_uring"]


def test_loads_of_a_known_length_log_their_latencies_and_their_layouts_do_not(tmp_path: Path) -> None:
    for operation, options in (("write", {}), ("write", {"duration": "1 s"}), ("read", {"duration": "1 s"})):
        client = Client("client-1", "write")
        load = fio(size="16 MiB", transfer="1 MiB", operation=operation, **options)
        load.prepare([client], ScriptedMount(client), tmp_path)
        if operation == "write":  # the transcript is of one
            load.run([client], ScriptedMount(client), tmp_path)
        ran = next(words for words in reversed(client.ran) if "fio" in words)
        logs = operation == "write" and bool(options)
        assert ("--write_hist_log=client-1" in ran) == logs
        assert [word for word in ran if word.startswith("--clat_percentiles")] == [
            f"--clat_percentiles={n}" for n in range(1 + logs)
        ]


def test_fio_s_servers_log_no_latencies_because_theirs_are_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, tuple[Host, Sequence[str]]] = {}
    monkeypatch.setattr(server, "together", lambda jobs, *_args, **_options: asked.update(jobs))
    client = Client("client-1", "write")
    with pytest.raises(UnexpectedOutput):  # nothing ran
        fio(size="16 MiB", transfer="1 MiB", duration="1 s", client_server=True).run(
            [client], ScriptedMount(client), tmp_path
        )
    assert "write_bw_log=client-1" in asked["client-1"][1]
    assert not any("hist" in line for line in asked["client-1"][1])


def test_a_fio_that_hangs_ends_with_the_time_limit(tmp_path: Path) -> None:
    clients = [Client("client-1", "write"), Client("client-2", "write", code=None)]
    with pytest.raises(TimeLimit, match=r"0.2 s on client-2"):
        fio(size="16 MiB", time_limit="0.2 s").run(clients, ScriptedMount(*clients), tmp_path)


def test_a_daemon_that_died_is_the_better_reason(tmp_path: Path) -> None:
    client = Client("client-1", "full", code=1)
    with pytest.raises(TransientError, match="ceph-osd died"):
        fio(size="16 MiB").run([client], ScriptedMount(client, dead=True), tmp_path)


def test_a_failed_client_is_named_with_fios_words(tmp_path: Path) -> None:
    client = Client("client-1", "full", code=1)
    with pytest.raises(ProgramFailed, match=r"client-1: .*No space left"):
        fio(size="16 MiB").run([client], ScriptedMount(client), tmp_path)


def test_a_shared_size_is_the_same_work_for_any_number_of_clients(tmp_path: Path) -> None:
    load = fio(size="33 MiB", transfer="1 MiB", shared=True)
    assert [load.moved_bytes(n) for n in (1, 2, 3)] == [33 * MIB, 32 * MIB, 33 * MIB]  # in whole transfers
    clients = [Client(f"client-{n}", "write") for n in (1, 2)]
    load.prepare(clients, ScriptedMount(*clients), tmp_path)
    load.run(clients, ScriptedMount(*clients), tmp_path)
    assert all(f"--size={16 * MIB}" in client.ran[-1] for client in clients)


def test_the_sum_of_all_clients_is_not_a_client() -> None:
    text = said("servers", "servers.json")
    assert "All clients" in text
    assert sorted(one["jobname"] for one in report.jobs(text)) == ["client-1", "client-2"]
    load = fio(operation="randrw", transfer="1 MiB", size="64 MiB", client_server=True)
    outcome = load.outcome(SAID / "servers")
    assert sum(r.moved_bytes for r in outcome.results) == load.moved_bytes(2)
    for name in ("client-1", "client-2"):
        assert sum(r.moved_bytes for r in outcome.results if r.host == name) == 64 * MIB


def test_a_server_that_begins_late_is_named(tmp_path: Path) -> None:
    """The recorded servers began where their clocks say; the common start is put 15 ms before the first of
    them.
    """
    raw = tmp_path / "raw"
    shutil.copytree(SAID / "servers", raw)
    began_s = {name: float((raw / f"{name}.prerun.txt").read_text()) for name in ("client-1", "client-2")}
    (raw / "client-2.prerun.txt").write_text(f"{began_s['client-1'] + 0.2:.6f}\n")
    ran = json.loads((raw / "run.json").read_text())
    (raw / "run.json").write_text(json.dumps({**ran, "start_utc_s": began_s["client-1"] - 0.015}))
    outcome = fio(operation="randrw", transfer="1 MiB", size="64 MiB", client_server=True).outcome(raw)
    assert [doubt for doubt in outcome.doubts if "late" in doubt] == ["client-2 began 215 ms late"]


def test_a_listening_port_is_found_among_the_kernels() -> None:
    table = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1
   1: 0100007F:223D 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 2
"""
    assert server.listens(table, 8080)
    assert not server.listens(table, 8765)  # connected, not listening
    assert not server.listens("", 8080)


def test_what_is_verified_is_read_back_after_the_measured_window() -> None:
    load = fio(operation="randwrite", transfer="64 KiB", size="16 MiB", verify="crc32c")
    outcome = load.outcome(SAID / "verified")
    assert [r.direction for r in outcome.results] == ["write", "write"]
    assert outcome.note == "read back and verified (crc32c) after the measured window"


def test_before_it_is_read_back_a_verified_write_is_doubted(tmp_path: Path) -> None:
    shutil.copytree(SAID / "verified", tmp_path / "raw", ignore=shutil.ignore_patterns("back-*"))
    outcome = fio(operation="randwrite", transfer="64 KiB", size="16 MiB", verify="crc32c").outcome(
        tmp_path / "raw"
    )
    assert (outcome.note, outcome.doubts[-1]) == ("", "the written data were not read back")


def test_what_was_not_all_read_back_is_not_verified(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(SAID / "verified", raw)
    short = (raw / "back-client-2.json").read_text().replace('"io_bytes" : 16777216', '"io_bytes" : 8388608')
    (raw / "back-client-2.json").write_text(short)
    with pytest.raises(MovedTooLittle, match=r"client-2: .*8 MiB of 16 MiB"):
        fio(operation="randwrite", transfer="64 KiB", size="16 MiB", verify="crc32c").outcome(raw)


def test_checksums_are_written_by_a_layout_that_a_verified_read_finds(tmp_path: Path) -> None:
    client = Client("client-1", "write")
    fio(operation="randread", size="16 MiB", transfer="64 KiB", verify="crc32c").prepare(
        [client], ScriptedMount(client), tmp_path
    )
    layout = next(argv for argv in client.ran if "fio" in argv)
    assert {"--verify=crc32c", "--do_verify=0", "--bs=65536"} <= set(layout)
    assert "--filename=/mnt/client-1/client-1.crc32c-65536" in layout


@pytest.mark.parametrize("options", [{"operation": "rw"}, {"duration": "1 s"}])
def test_only_whole_files_are_verified(options: Mapping[str, Json]) -> None:
    with pytest.raises(ValidationError, match="verify is for whole files"):
        fio(verify="crc32c", **options)


def test_of_all_servers_the_one_that_failed_is_named_in_fios_words(tmp_path: Path) -> None:
    class Reporting(ScriptedHost):
        """A host whose fio, server or controller, leaves the report of a full disk."""

        def __init__(self, name: str) -> None:
            super().__init__(name)
            self.address = "127.0.0.1"

        def answers(self, words: Sequence[str]) -> tuple[int, str]:
            rows = "".join(
                f"{n}: 0100007F:{port:04X} 00000000:0000 0A\n" for n, port in enumerate(server.PORTS)
            )
            return 0, f"head\n{rows}" if words[0] == "cat" else ""

        def starts(self, words: Sequence[str], log: Path) -> Process:
            shutil.copy(SAID / "servers-full" / "servers.json", log.parent)
            return ScriptedProcess(1)

    clients = [Reporting(f"client-{n}") for n in (1, 2)]
    with pytest.raises(ProgramFailed, match=r"client-2: .*error 28.*No space left on device"):
        server.together({c.name: (c, ["rw=write"]) for c in clients}, tmp_path, "", time_limit_s=1)
