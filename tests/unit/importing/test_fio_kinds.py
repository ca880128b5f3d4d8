"""Kinds of fio's reports that were read wrongly or refused: options, starts, servers, versions, text
around them.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from perjoule import importing
from perjoule.importing.sources import sources
from perjoule.model.doubts import TIMES, WORK
from perjoule.model.errors import WorkloadError
from perjoule.model.units import MIB
from perjoule.workloads.imported import ImportedRun, Told, read
from places import TRANSCRIPTS
from typed import present
from unit.importing.foreign import EMPTY, fio, job, moved

REAL = TRANSCRIPTS / "imported/fio-kinds"
END_S = 1_795_000_100.0
WRITE = {"rw": "write", "bs": "64k"}


def runs(text: str, told: Told | None = None) -> tuple[ImportedRun, ...]:
    return read("fio", {"a.json": text}, told or Told("a"))


def windows(run: ImportedRun) -> list[tuple[str, float, float]]:
    return [
        (r.direction, round(r.began_s - END_S, 3), round(r.ended_s - END_S, 3))
        for r in present(run.outcome).results
    ]


def mib_per_s(run: ImportedRun) -> float:
    outcome = present(run.outcome)
    return sum(r.moved_bytes for r in outcome.results) / MIB / (outcome.ended_s - outcome.began_s)


# What distinguishes loads


DISTINCT = [
    {"fsync": "1"}, {"fdatasync": "1"}, {"sync": "1"}, {"sync": "dsync"},
    {"rate": "8m"}, {"rate_iops": "100"}, {"thinktime": "500"},
    {"random_distribution": "zipf:1.2"}, {"io_size": "1g"}, {"nrfiles": "8"}, {"verify": "crc32c", "do_verify": "0"},
    {"dedupe_percentage": "50"}, {"buffer_compress_percentage": "50"}, {"latency_target": "10ms"}, {"norandommap": "1"},
    {"rwmixread": "70"}, {"rwmixread": "30"}, {"offset": "1g"}, {"zonemode": "zbd"}, {"ramp_time": "5"}, {"fsync_on_close": "1"},
    {"rw": "write:8"}, {"an_option_of_tomorrow": "1"},
]  # fmt: skip


@pytest.mark.parametrize("options", DISTINCT, ids=lambda one: "-".join(f"{k}={v}" for k, v in one.items()))
def test_loads_that_differ_in_an_option_are_not_repetitions(options: dict[str, str]) -> None:
    (plain,) = runs(fio(job(write=moved(8 * MIB, 2000))))
    (other,) = runs(fio(job(write=moved(8 * MIB, 2000), options={**WRITE, **options})))
    assert plain.details != other.details


CACHED = [{}, {"direct": "0"}, {"ioengine": "io_uring", "fsync": "0"}, {"sync": "none", "buffered": "1"}]
FLUSHED = [
    {"direct": "1"}, {"buffered": "0"}, {"end_fsync": "1"}, {"fsync_on_close": "1"}, {"fsync": "8"}, {"fdatasync": "1"},
    {"sync": "dsync"}, {"sync_file_range": "write:8"}, {"ioengine": "rbd"},
]  # fmt: skip


@pytest.mark.parametrize("options", [*CACHED, *FLUSHED], ids=str)
def test_a_write_that_ends_in_the_page_cache_is_doubted(options: dict[str, str]) -> None:
    entry = job(write=moved(8 * MIB, 2000), options={**WRITE, **options})
    (written,) = runs(fio(entry))
    (reading,) = runs(fio(job(read=moved(8 * MIB, 2000), options={"rw": "read", "bs": "64k", **options})))
    (unknown,) = runs(fio({**entry, "job options": {}}))
    doubt = "fio wrote to the page cache, and its time ends without a flush to the disks"
    assert (doubt in present(written.outcome).doubts) == (options in CACHED)
    assert doubt not in (*present(reading.outcome).doubts, *present(unknown.outcome).doubts)


@pytest.mark.parametrize(
    "options",
    [{"fsync": "0"}, {"iodepth": "1"}, {"log_avg_msec": "500"}, {"group_reporting": "1"}, {"name": "x"}],
)
def test_loads_that_differ_in_nothing_are_equal(options: dict[str, str]) -> None:
    (plain,) = runs(fio(job(write=moved(8 * MIB, 2000))))
    (other,) = runs(fio(job(write=moved(8 * MIB, 2000), options={**WRITE, **options})))
    assert plain.details == other.details


@pytest.mark.parametrize("options", [{"bssplit": "4k/60:64k/40"}, {"bsrange": "4k-64k"}, {"bs": "4k,64k"}])
def test_several_sizes_are_no_size(options: dict[str, str]) -> None:
    (run,) = runs(fio(job(write=moved(8 * MIB, 2000), options={"rw": "write", **options})))
    assert (run.transfer_bytes, run.details) == (None, tuple(options.values()))


@pytest.mark.parametrize(
    ("size", "base", "size_bytes"),
    [
        ("4k", "", 4096),
        ("4KiB", "", 4000),  # fio's units are the opposite of the standards
        ("1mib", "1024", 1_000_000),
        ("4k", "1000", 4000),
        ("512KiB", "1000", 524_288),
        ("4096", "1000", 4096),
        ("4096b", "", 4096),
        ("4ki", "", None),
    ],
)
def test_sizes_are_what_fio_makes_of_them(size: str, base: str, size_bytes: int | None) -> None:
    options = {"rw": "write", "bs": size, **({"kb_base": base} if base else {})}
    written = moved(8_192_000, 2000, size_bytes or 4096)
    (run,) = runs(fio(job(write=written, options=options)))
    assert run.transfer_bytes == size_bytes


@pytest.mark.parametrize(
    ("counts", "size_bytes"),
    [
        ({}, 65536),
        ({"total_ios": 130}, 65536),  # some files end with a shorter call
        ({"total_ios": 1000}, None),  # with the calls of another job, whose options are not stated
        ({"total_ios": 1000, "short_ios": 900}, 65536),
    ],
)
def test_a_size_that_calls_did_not_have_is_not_taken(counts: dict[str, int], size_bytes: int | None) -> None:
    (run,) = runs(fio(job(write={**moved(8 * MIB, 2000), **counts})))
    assert run.transfer_bytes == size_bytes
    assert ("not only 64k" in run.details) == (size_bytes is None)


@pytest.mark.parametrize(
    ("rates", "refused"),
    [
        ({"bw": 4096, "iops": 64.0}, ""),
        ({"bw": 0, "iops": 0}, ""),  # which nobody filled in
        ({"bw": 0, "iops": 64.0}, "io_bytes and runtime of writes make 4096, and its bw is 0"),
        ({"bw": 4, "iops": 64.0}, "io_bytes and runtime of writes make 4096, and its bw is 4"),
        ({"bw": 4096, "iops": 65536.0}, "total_ios and runtime of writes make 64, and its iops is 65536"),
    ],
)
def test_amounts_that_contradict_their_rates_are_refused(rates: dict[str, float], refused: str) -> None:
    text = fio(job(write={**moved(8 * MIB, 2000), **rates}))
    if refused:
        with pytest.raises(WorkloadError, match=refused):
            runs(text)
    else:
        assert mib_per_s(runs(text)[0]) == pytest.approx(4)


def test_a_run_that_a_signal_ended_is_a_failed_one() -> None:
    complete = fio(job(write=moved(8 * MIB, 60_000)), ended_ms=1_795_000_000_000)
    cut = "fio: terminating on signal 2\n" + fio(job(write=moved(MIB, 7000)))
    assert [run.failure for run in runs(f"{complete}\n{cut}")] == ["", "fio was interrupted"]
    assert [run.failure for run in runs(f"{cut}\n{complete}")] == ["fio was interrupted", ""]


def test_a_fio_that_went_on_after_errors_is_doubted_and_one_that_ended_by_one_has_failed() -> None:
    """As recorded of a disk that refused once: fio states the first error of a job that it then ended well."""
    text = (TRANSCRIPTS / "fio/errors/client-1.json").read_text()
    (run,) = runs(text)
    outcome = present(run.outcome)
    assert [r.moved_bytes for r in outcome.results] == [41877504]
    assert WORK.errors(host="a", count=1) in outcome.doubts
    for change in (('"first_error" : 111', '"first_error" : 5'), ('"total_err" : 1', '"total_err" : 0')):
        (ended,) = runs(text.replace(*change))
        assert (ended.outcome, ended.failure) == (None, "fio failed (error 111)")


def test_what_fio_only_counted_is_no_load() -> None:
    (run,) = runs(fio(job(write=moved(8 * MIB, 2000), options={**WRITE, "ioengine": "null"})))
    assert run.outcome is None
    assert "null only counts" in run.failure


def test_amounts_that_a_program_rewrote_are_whole_numbers_or_refused(tmp_path: Path) -> None:
    text = fio(job(write=moved(8 * MIB, 2000)))
    path = tmp_path / "a.json"
    path.write_text(text.replace('"io_bytes": 8388608', '"io_bytes": 8.388608e+06'))
    results = importing.create(tmp_path / "results")
    importing.bring(results, sources([str(path)], "UTC")[0])
    (record,) = results.records()  # of which no number may be another one's type
    assert present(record.outcome).results[0].moved_bytes == 8 * MIB
    with pytest.raises(WorkloadError, match=r"io_bytes of writes is 8388608\.5, which is no whole number"):
        runs(text.replace('"io_bytes": 8388608', '"io_bytes": 8388608.5'))


def test_three_readers_and_a_writer_are_not_a_reader_and_three_writers() -> None:
    def mix(readers: int) -> str:
        ways = [*(["read"] * readers), *(["write"] * (4 - readers))]
        return fio(
            *(
                job(
                    w + str(n),
                    write=moved(MIB, 2000) if w == "write" else None,
                    read=moved(MIB, 2000) if w == "read" else None,
                    options={"rw": w, "bs": "64k"},
                )
                for n, w in enumerate(ways)
            )
        )

    (one,), (other,) = runs(mix(3)), runs(mix(1))
    assert one.operation == "read+write"
    assert {"3 x read 64k", "1 x write 64k"} <= set(one.details)
    assert one.details != other.details


# When jobs ran


def test_a_delayed_job_is_part_of_its_load_for_as_long_as_both_took() -> None:
    one, other = (
        job(n, write=moved(8 * MIB, 2000), options=o, elapsed=5)
        for n, o in (("a", WRITE), ("b", {**WRITE, "startdelay": "2"}))
    )
    (run,) = runs(fio(one, other))
    assert mib_per_s(run) == pytest.approx(4.0)


def test_a_delay_that_fio_drew_is_not_known() -> None:
    (run,) = runs(
        fio(
            job(write=moved(8 * MIB, 2000), options={**WRITE, "startdelay": "0-30"}),
            job("b", write=moved(MIB, 2000)),
        )
    )
    assert "drew the delay" in run.failure


def test_a_job_that_waits_for_another_is_a_load_after_it() -> None:
    first, second = (
        job("a", write=moved(8 * MIB, 2000)),
        job("b", write=moved(8 * MIB, 1000), options={**WRITE, "wait_for": "a"}),
    )
    assert [windows(run) for run in runs(fio(first, second))] == [
        [("write", -3.0, -1.0)],
        [("write", -1.0, 0.0)],
    ]


def test_reads_that_verify_come_after_the_writes() -> None:
    (run,) = runs((REAL / "verify-after.json").read_text())
    write, told = present(run.outcome).results
    assert (write.direction, told.direction) == ("write", "read")
    assert write.ended_s == pytest.approx(told.began_s)
    assert told.ended_s == pytest.approx(1795790774.447)
    assert write.ended_s - write.began_s == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["verify-mixed", "groups-at-once", "groups-summed", "summed-with-delay"])
def test_what_a_report_does_not_tell_is_a_failed_run_that_says_how_to_measure(name: str) -> None:
    for run in runs((REAL / f"{name}.json").read_text()):
        assert run.outcome is None
        assert "measure with" in run.failure


def test_groups_that_can_t_have_run_one_after_another_ran_at_once() -> None:
    jobs = [job(str(n), write=moved(8 * MIB, 60_000), group=n, elapsed=61) for n in range(2)]
    (run,) = runs(fio(*jobs))
    assert mib_per_s(run) == pytest.approx(16 / 60)
    assert any("at once" in doubt for doubt in present(run.outcome).doubts)


def test_ramps_lie_between_groups_and_not_after_a_stated_start() -> None:
    ramped = {**WRITE, "ramp_time": "5"}
    both = [job(str(n), write=moved(8 * MIB, 10_000), group=n, options=ramped, elapsed=31) for n in range(2)]
    assert [windows(run)[0][1:] for run in runs(fio(*both))] == [(-25.0, -15.0), (-10.0, 0.0)]
    (stated,) = runs(
        fio(job(write=moved(8 * MIB, 10_000), options=ramped, elapsed=16, job_start=1_795_000_089_800))
    )
    assert windows(stated)[0][1:] == (pytest.approx(-10.2), pytest.approx(-0.2))
    assert not any("clock" in doubt for doubt in present(stated.outcome).doubts)


def test_ramps_of_unequal_lengths_are_before_each_stated_start() -> None:
    # as in a report of 3.42: what counts begins when the ramp ends
    jobs = [
        job(
            str(n),
            write=moved(8 * MIB, 10_000),
            group=n,
            options={**WRITE, "ramp_time": ramp},
            elapsed=28,
            job_start=start_ms,
        )
        for n, (ramp, start_ms) in enumerate((("1", 1_795_000_073_000), ("6", 1_795_000_089_500)))
    ]
    assert [windows(run)[0][1:] for run in runs(fio(*jobs))] == [
        (-27.0, -17.0),
        (-10.5, -0.5),
    ]


def test_latencies_that_were_not_measured_are_none() -> None:
    write = moved(8 * MIB, 2000)
    reports = [
        write,
        {**write, "clat_ns": EMPTY},
        {**write, "lat_ns": EMPTY},
        {**write, "lat_ns": EMPTY, "clat_ns": EMPTY},
    ]
    latencies = [present(runs(fio(job(write=counts)))[0].outcome).results[0].latency_s for counts in reports]
    assert latencies == [{"mean": 2e-6, "max": 9e-6}] * 3 + [{}]  # the last with gtod_reduce


def test_starts_of_another_clock_are_put_before_the_report() -> None:
    one, other = (
        job(str(n), write=moved(8 * MIB, 2000), group=n, job_start=5_000_000 + 3000 * n, elapsed=6)
        for n in range(2)
    )
    first, second = runs(fio(one, other))
    assert (windows(first)[0][1:], windows(second)[0][1:]) == ((-5.0, -3.0), (-2.0, 0.0))
    assert any("another clock" in doubt for doubt in present(first.outcome).doubts)


def test_clones_that_are_summed_up_are_counted_and_their_ramp_is_not_idle_time() -> None:
    (run,) = runs((REAL / "ramp-clones.json").read_text())
    assert run.details[0] == "3 jobs"
    assert sum(r.moved_bytes for r in present(run.outcome).results) == 25165824


def test_jobs_of_other_sections_in_a_sum_are_counted_and_doubted() -> None:
    (run,) = runs(fio(job(write=moved(64 * MIB, 60_000), job_runtime=480_000)))
    assert run.details[0] == "8 jobs"
    assert any("sums up 8 processes" in doubt for doubt in present(run.outcome).doubts)


# Servers, versions, text


def served(*places: tuple[str, int]) -> str:
    stats = [
        {
            **job(way, **{way: moved(8 * MIB, 2000)}, group=n, options={"rw": way}),
            **({"hostname": host, "port": port} if host else {}),
        }
        for host, port in places
        for n, way in enumerate(("write", "read"))
    ]
    entries = [{key: value for key, value in one.items() if key != "elapsed"} for one in stats]
    return json.dumps({"fio version": "fio-3.33", "timestamp": 1795000100, "client_stats": entries})


def test_two_servers_on_one_address_are_two_clients() -> None:
    write, told = runs(served(("10.0.0.1", 8765), ("10.0.0.1", 8766)))
    assert [r.host for r in present(write.outcome).results] == ["10.0.0.1:8765", "10.0.0.1:8766"]
    assert (mib_per_s(write), mib_per_s(told)) == (pytest.approx(8.0), pytest.approx(8.0))


def test_servers_without_names_are_refused_unless_the_user_names_each() -> None:
    with pytest.raises(WorkloadError, match="does not name the servers of its 4 jobs"):
        runs(served(("", 0), ("", 0)))
    entries = json.loads(served(("", 0), ("", 0)))
    entries["client_stats"] = entries["client_stats"][::2]
    (run,) = runs(json.dumps(entries), Told("a", ("c1", "c2")))
    assert [r.host for r in present(run.outcome).results] == ["c1", "c2"]


def by_server(text: str, *, starts_ms: tuple[int, ...] = ()) -> str:
    """A client's report as newer versions write it: options in a table for each server, and starts of jobs."""
    report = json.loads(text)
    places = dict.fromkeys((entry["hostname"], entry["port"]) for entry in report["client_stats"])
    report["global options"] = [
        {"hostname": host, "port": port, "bs": size}
        for (host, port), size in zip(places, ("64k", "1m"), strict=False)
    ]
    for entry, start_ms in zip(report["client_stats"], starts_ms, strict=False):
        entry["job_start"] = start_ms
    return json.dumps(report)


def test_a_client_dates_its_report_when_it_tells_its_servers_to_begin() -> None:
    """In a recorded run, servers began 2.1 s after the report's time, and moved their data in 0.2 s."""
    folder = TRANSCRIPTS / "fio/servers"
    (run,) = runs((folder / "servers.json").read_text())
    outcome = present(run.outcome)
    began_s = min(float((folder / f"client-{n}.prerun.txt").read_text()) for n in (1, 2))
    assert outcome.began_s == 1795270156.0
    assert outcome.ended_s < began_s < 1795270158.2
    assert TIMES.fio_told.id in [doubt.id for doubt in outcome.doubts]
    write, told = runs(served(("a", 8765), ("b", 8765)))
    assert [windows(run)[0][1:] for run in (write, told)] == [(0.0, 2.0), (2.0, 4.0)]


def test_starts_that_servers_state_are_taken_if_they_follow_the_clients_time() -> None:
    def began(*starts_s: float) -> list[tuple[float, float]]:
        starts_ms = tuple(round(1000 * (END_S + start_s)) for start_s in starts_s)
        text = by_server(served(("a", 8765)), starts_ms=starts_ms)
        return [windows(run)[0][1:] for run in runs(text)]

    assert began(0.4, 2.5) == [(0.4, 2.4), (2.5, 4.5)]
    assert began(600.0, 602.0) == [(600.0, 602.0), (602.0, 604.0)]  # after their files were laid out
    assert began(-60.0, -57.0) == began(86_400.0, 86_403.0) == [(0.0, 2.0), (3.0, 5.0)]  # of another clock


def test_options_of_each_server_are_those_of_its_jobs() -> None:
    write, _ = runs(by_server(served(("a", 8765), ("a", 8766))))
    assert (write.transfer_bytes, write.details) == (None, ("64k+1m", "1 x write 64k", "1 x write 1m"))


@pytest.mark.parametrize("version", ["fio-2.1.4", "fio-2.2.10", "fio-2.21"])
def test_fio_2_is_named(version: str) -> None:
    entry: dict[str, Any] = {
        "jobname": "j",
        "error": 0,
        "read": {"io_bytes": 7116, "runtime": 25788, "lat": {}},
        "write": {},
    }
    with pytest.raises(WorkloadError, match=f"report of {version}.*fio 2 is not supported"):
        runs(json.dumps({"fio version": version, "jobs": [entry]}))


def test_a_sum_of_reads_and_writes_is_refused_and_of_one_direction_read() -> None:
    def unified(operation: str) -> str:
        entry = {**job(options={"rw": operation, "bs": "64k"}), "mixed": moved(8 * MIB, 2000)}
        return fio({key: value for key, value in entry.items() if key not in ("read", "write")})

    with pytest.raises(WorkloadError, match="unified_rw_reporting=1"):
        runs(unified("randrw"))
    (run,) = runs(unified("randread"))
    assert windows(run) == [("read", -2.0, 0.0)]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\n".join("   " + line for line in text.splitlines()),
        lambda text: text.replace('"elapsed"', '"iops_stddev": -nan, "bw_dev" : nan,\n"elapsed"'),
        lambda text: text.replace('"error"', '\nfio: file j.0.0 exceeds 32-bit generator\n"error"'),
        lambda text: f"fio: sprandom sets norandommap=1\nJobs: {{1}}\n{text}\nfio: terminating\n",
        lambda text: json.dumps(json.loads(text)),
        lambda text: f"Jobs: 1 (f=1): [W(1)][100.0%][w=4096KiB/s][eta 00m:00s]{text}",
    ],
    ids=["indented", "nan", "inside", "around", "one line", "behind progress"],
)
def test_text_around_and_inside_a_report_is_skipped(change: Any) -> None:
    (run,) = runs(change(fio(job(write=moved(8 * MIB, 2000)))))
    assert windows(run) == [("write", -2.0, 0.0)]


def test_two_reports_in_a_file_are_two_runs_and_a_status_interval_is_one() -> None:
    first, second = (
        fio(job(write=moved(8 * MIB, 2000)), ended_ms=1_795_000_000_000 + ms) for ms in (0, 100_000)
    )
    assert len(runs(first + "\n" + second)) == 2
    so_far = fio(job(write=moved(4 * MIB, 1000)), ended_ms=1_795_000_099_000)
    assert [windows(run) for run in runs(so_far + "\n" + second)] == [[("write", -2.0, 0.0)]]


@pytest.mark.parametrize(
    ("first", "between_ms", "second"),
    [(8, 3000, 8), (8, 1000, 4), (8, 3000, 4)],
    ids=["as much 3 s later", "less 1 s later", "less"],
)
def test_short_runs_one_after_another_are_no_status_interval(
    first: int, between_ms: int, second: int
) -> None:
    reports = [
        fio(job(write=moved(amount * MIB, 2000)), ended_ms=1_795_000_000_000 + ended_ms)
        for amount, ended_ms in ((first, 0), (second, between_ms))
    ]
    found = [
        sum(r.moved_bytes for r in present(run.outcome).results) / MIB for run in runs("\n".join(reports))
    ]
    assert found == [first, second]


def test_a_status_interval_during_a_ramp_is_one_run_although_its_amounts_begin_anew() -> None:
    options = {**WRITE, "ramp_time": "5"}
    ramp, end = (
        fio(job(write=moved(amount * MIB, took_ms), options=options, elapsed=elapsed_s), ended_ms=ended_ms)
        for amount, took_ms, elapsed_s, ended_ms in (
            (20, 4000, 4, 1_795_000_000_000),
            (8, 2000, 7, 1_795_000_003_000),
        )
    )
    assert [round(mib_per_s(run), 6) for run in runs(ramp + "\n" + end)] == [4.0]


def test_a_second_report_that_is_cut_is_not_lost_in_silence() -> None:
    first, second = (
        fio(job(write=moved(8 * MIB, 2000)), ended_ms=1_795_000_000_000 + ms) for ms in (0, 100_000)
    )
    with pytest.raises(WorkloadError, match="truncated"):
        runs(first + "\n" + second[:500])
