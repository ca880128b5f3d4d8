"""What other tools wrote becomes results: read from real output of fio, IOR, mdtest, IO500, rados bench
and sysstat.
"""

import itertools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from perjoule import drivers, importing, report, store
from perjoule.importing.missing import missing
from perjoule.importing.power import logs
from perjoule.importing.sources import Source, copy_named, sources
from perjoule.model import ClientResult, Spec
from perjoule.model.doubts import TIMES
from perjoule.model.errors import CampaignError, FolderOfOthers, MachineError, NotImported, WorkloadError
from perjoule.model.units import MIB
from perjoule.results import verification
from perjoule.summary import summary
from perjoule.views.content import Content
from perjoule.workloads.imported import Told, formats_of, read
from places import TRANSCRIPTS
from scripted import ScriptedMount
from typed import present
from unit.importing.foreign import POWER
from unit.importing.io500_folders import old

REAL = TRANSCRIPTS / "imported"
FORMATS = {
    "fio/steady.json": "fio",
    "fio/servers.json": "fio",
    "ior/iterations.json": "ior",
    "ior/warnings-inside.json": "ior",
    "mdtest/tree.txt": "mdtest",
    "rados/write.json": "rados",
    "rados/seq.json": "rados",
    "sadf/vm.json": "sadf",
    "joined/sadf.json": "sadf",
    "io500/ior-easy-write.csv": "",
}


def runs(name, told=None, *, format=""):
    path = REAL / name
    return read(format or path.parent.name, {path.name: path.read_text()}, told or Told(path.stem))


def rate(run):
    """MiB/s or operations per second of all clients."""
    moved = run.outcome.results
    took_s = run.outcome.ended_s - run.outcome.began_s
    return sum(r.moved_bytes for r in moved) / took_s / MIB or sum(r.operations_count for r in moved) / took_s


def bring(tmp_path, *names, into="results", power=(), covers=(), declared=POWER, zone="UTC", **more):
    results = importing.create(tmp_path / into)
    words = [str(REAL / name) if "=" not in str(name) else str(name) for name in names]
    found, _ = sources(words, zone)
    metered = [log for path in power for log in logs(path, declared, covers, zone)]
    return results, importing.bring(results, found, metered, **more)


def powered(tmp_path, began_s, ended_s, *, watts=40.0, name="power.csv"):
    lines = [f"{t},{watts}" for t in range(int(began_s) - 10, int(ended_s) + 10)]
    (tmp_path / name).write_text("\n".join(["t,w", *lines]) + "\n")
    return tmp_path / name


# Formats


@pytest.mark.parametrize(("name", "format"), FORMATS.items())
def test_a_format_is_known_by_its_content(name: str, format: str) -> None:
    assert formats_of((REAL / name).read_text()) == ((format,) if format else ())


def test_a_log_of_several_tools_holds_the_runs_of_each(tmp_path: Path) -> None:
    tools = ("ior-text/iterations.txt", "mdtest/tree.txt", "fio/steady.json", "sadf/vm.json")
    log = tmp_path / "job.log"
    log.write_text(f"\n$ next\n{'.' * 120_000}\n".join((REAL / name).read_text() for name in tools))
    together, strange = sources([f"job={log}"], "UTC")
    assert not strange

    def runs_of(found: Iterable[Source]) -> dict[str, list[tuple[str, Sequence[ClientResult]]]]:
        listed = [
            (source.format, read(source.format, source.texts(), source.told))
            for source in found
            if source.format != "sadf"
        ]
        return {
            format: [(run.operation, present(run.outcome).results) for run in group]
            for format, group in sorted(listed)
        }

    alone = runs_of(source for name in tools for source in sources([f"job={REAL / name}"], "UTC")[0])
    assert runs_of(together) == alone
    assert [*alone] == ["fio", "ior", "mdtest"]
    assert "sadf" in [source.format for source in together]


def test_what_a_log_holds_besides_is_named(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text((REAL / "mdtest/tree.txt").read_text() + "a: (groupid=0, jobs=1): err= 0: pid=1\n")
    ((left_out,),) = (source.left_out for source in sources([str(log)], "UTC")[0])
    assert "the text of fio" in left_out
    for name in ("rados/write.json", "elbencho/direct.csv", "elbencho/direct.json"):
        log.write_text((REAL / "mdtest/tree.txt").read_text() + (REAL / name).read_text())
        found, _ = sources([str(log)], "UTC")
        ((left_out,),) = (source.left_out for source in found)
        assert "a file of their own" in left_out
        assert [source.format for source in found] == ["mdtest"]
    log.write_text((REAL / "ior/verbose.json").read_text() + (REAL / "ior-text/iterations.txt").read_text())
    ((left_out,),) = (source.left_out for source in sources([str(log)], "UTC")[0])
    assert "the text of an IOR" in left_out
    log.write_text((REAL / "fio/steady.json").read_text() + "a: (groupid=0, jobs=1): err= 0: pid=1\n")
    (found, *more), _ = sources([str(log)], "UTC")
    assert not found.left_out and not more  # fio's text and JSON are of the same run
    log.write_text((REAL / "rados/write.json").read_text() + (REAL / "elbencho/direct.json").read_text())
    with pytest.raises(CampaignError, match="give each a file of its own"):
        sources([str(log)], "UTC")


def test_what_can_not_be_read_of_a_log_is_no_doubt_about_the_rest(tmp_path: Path) -> None:
    key = "sysstat"  # not beside its colon, as this file is read, too
    damaged = json.dumps({key: {"hosts": [{}]}})
    (tmp_path / "job.log").write_text((REAL / "fio/steady.json").read_text() + damaged)
    _, brought = bring(tmp_path, tmp_path / "job.log")
    assert [path.name for path, _ in brought.unread] == ["job.log"]
    assert not any("left out" in doubt for record in brought.records for doubt in record.doubts)


def test_a_folder_is_searched_and_what_is_nothing_known_is_named(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    shutil.copy(REAL / "fio/steady.json", tmp_path / "deep" / "a.log")
    (tmp_path / "notes.md").write_text("nothing")
    found, strange = sources([str(tmp_path), str(REAL / "io500")], "UTC")
    assert [source.format for source in found] == ["fio", "io500"]
    assert strange == (tmp_path / "notes.md",)


@pytest.mark.timeout(60)
def test_a_folder_of_a_strangers_is_looked_through_once_whatever_its_links_and_its_depth_are(
    tmp_path: Path,
) -> None:
    shutil.copy(REAL / "fio/steady.json", tmp_path / "steady.json")
    for name in ("a", "b"):
        (tmp_path / name).symlink_to(".")
    deep = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("d", dir_fd=deep)
        below = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    try:
        ((source,), strange) = sources([str(tmp_path)], "UTC")
    finally:
        subprocess.run(["rm", "-r", tmp_path / "d"], check=True)  # too deep for Python's own
    assert (source.path.resolve(), strange) == (tmp_path / "steady.json", ())


def test_nothing_outside_of_what_was_named_is_kept_by_a_link_of_whoever_made_the_folder(
    tmp_path: Path,
) -> None:
    """Published with the results, it would be everybody's."""
    home, theirs = tmp_path / "home", tmp_path / "theirs"
    home.mkdir()
    mine = shutil.copy(REAL / "fio/steady.json", home / "mine.json")
    submitted = old(theirs / "submitted")
    for link, target in (
        (submitted / "config.ini", mine),
        (theirs / "a.json", mine),
        (theirs / "more", home),
    ):
        link.symlink_to(target)
        with pytest.raises(MachineError, match=f"{re.escape(str(target))}, outside of what was named"):
            sources([str(theirs)], "UTC")
        assert {source.format for source in sources([str(theirs), str(home)], "UTC")[0]} == {"io500", "fio"}
        link.unlink()
    (theirs / "loop").symlink_to("loop")
    (theirs / "again").symlink_to("submitted")
    (theirs / "nowhere").symlink_to(tmp_path / "nowhere")
    assert {source.format for source in sources([str(theirs)], "UTC")[0]} == {"io500"}


def test_a_file_that_has_become_a_link_since_it_was_read_is_not_kept(tmp_path: Path) -> None:
    secret, theirs, kept = tmp_path / "secret", tmp_path / "theirs", tmp_path / "kept.json"
    secret.write_text("mine")
    theirs.mkdir()
    file = Path(shutil.copy(REAL / "fio/steady.json", theirs / "a.json"))
    (source,) = sources([str(theirs)], "UTC")[0]
    copy_named(file, kept, source.inside)
    assert kept.read_bytes() == file.read_bytes()
    kept.unlink()
    file.unlink()
    file.symlink_to(secret)
    with pytest.raises(MachineError, match="it has become a file outside of what was named"):
        copy_named(file, kept, source.inside)
    theirs.rename(tmp_path / "gone")
    theirs.symlink_to(tmp_path)
    with pytest.raises(MachineError, match="it has become a file outside of what was named"):
        copy_named(theirs / "secret", kept, source.inside)
    assert not kept.exists()


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("nowhere.json", "no such file"),
        (__file__, "unrecognised format"),
        ("/dev/null", "it is a pipe or a device, not a file"),
    ],
)
def test_what_can_t_be_imported_is_one_sentence(word: str, said: str) -> None:
    with pytest.raises(CampaignError, match=said):
        sources([word], "UTC")


@pytest.mark.parametrize("name", [name for name, format in FORMATS.items() if format and format != "sadf"])
def test_a_damaged_file_is_one_sentence(name: str) -> None:
    path, format = REAL / name, FORMATS[name]
    whole = path.read_text()
    for text in (whole[: len(whole) // 2], "{}", "", "[]"):
        with pytest.raises(NotImported, match=format):
            read(format, {path.name: text}, Told("x"))


def test_more_clients_than_any_machine_has_are_refused_before_they_are_named() -> None:
    path = REAL / "mdtest/tree.txt"
    text, count = re.subn(r"on \d+ node\(s\)", "on 100001 node(s)", path.read_text())
    assert count == 1
    with pytest.raises(WorkloadError, match="100001 clients ran, and no machine has more than 100000"):
        read("mdtest", {path.name: text}, Told("x"))


# fio


def test_fio_is_read_to_the_byte_and_its_start_is_reckoned_from_its_end() -> None:
    (run,) = runs("fio/steady.json")
    write, told = (
        next(r for r in present(run.outcome).results if r.direction == way) for way in ("write", "read")
    )
    assert (run.operation, run.transfer_bytes, run.folder) == ("randrw", 4096, "/mnt/results/d")
    assert (write.moved_bytes, told.moved_bytes) == (305360896, 306094080)
    assert told.ended_s == pytest.approx(1795249165.146)
    assert told.ended_s - told.began_s == pytest.approx(4.199)  # not the sum over clones that job_runtime is
    assert {"mean", "p50", "p99", "max"} <= told.latency_s.keys()


def test_fio_s_own_hosts_are_the_clients_and_their_jobs_are_one_load() -> None:
    (run,) = runs("fio/servers.json")
    (moved,) = present(run.outcome).results
    assert (moved.host, moved.moved_bytes, moved.operations_count) == ("127.0.0.1", 8291745792, 126522)
    assert any("to 1 s" in doubt for doubt in present(run.outcome).doubts)


def test_groups_of_fio_s_jobs_are_runs_one_after_the_other() -> None:
    write, reads = runs("fio/stonewall.json")
    assert (write.operation, reads.operation) == ("write", "randread")
    assert present(write.outcome).ended_s <= present(reads.outcome).began_s + 1e-6
    assert sum(r.moved_bytes for r in present(reads.outcome).results) == 8 * MIB
    assert any("computed from how long" in doubt for doubt in present(reads.outcome).doubts)


def test_the_start_that_a_newer_fio_tells_is_taken() -> None:
    path = REAL / "fio/steady.json"
    document = json.loads(path.read_text())
    document["jobs"][0]["job_start"] = 1795249155000
    (run,) = read("fio", {"a": json.dumps(document)}, Told("a"))
    assert present(run.outcome).began_s == pytest.approx(1795249155.0)


def test_a_fio_that_failed_is_a_failed_trial(tmp_path: Path) -> None:
    document = json.loads((REAL / "fio/steady.json").read_text())
    document["jobs"][0]["error"] = 5
    (tmp_path / "a.json").write_text(json.dumps(document))
    _, brought = bring(tmp_path, f"c={tmp_path / 'a.json'}")
    assert [(r.status, r.reason) for r in brought.records] == [("failed", "fio failed (error 5)")]


@pytest.mark.parametrize("apart_s", [0.0, 1.0, -40.0, 40.0, 7200.0])
@pytest.mark.parametrize("at_once", [True, False])
def test_clients_whose_clocks_may_be_apart_are_doubted(apart_s: float, at_once: bool, tmp_path: Path) -> None:
    document = json.loads((REAL / "joined/client-1.json").read_text())
    document["timestamp_ms"] += round(apart_s * 1e3)
    (tmp_path / "client-2.json").write_text(json.dumps(document))
    words = ["joined/client-1.json", tmp_path / "client-2.json"]
    results, _ = bring(tmp_path, *(words if at_once else words[:1]))
    if not at_once:
        results, _ = bring(tmp_path, *words[1:])
    (cell,) = Content(results).cells
    together = at_once and abs(apart_s) < 40
    said = "has the time of its own clock" if together else "their clocks differ"
    said = "import the clients of one trial together" if abs(apart_s) < 40 and not at_once else said
    assert cell.clients_count == (2 if together else 1)
    assert any(said in doubt for doubt in cell.doubts)
    assert verification.verify(results).differences == ()


def test_different_clients_of_different_days_are_no_doubt_of_clocks(tmp_path: Path) -> None:
    document = json.loads((REAL / "joined/client-1.json").read_text())
    document["timestamp_ms"] += 3 * 86_400_000
    (tmp_path / "client-2.json").write_text(json.dumps(document))
    _, brought = bring(
        tmp_path, "joined/client-1.json", tmp_path / "client-2.json", tmp_path / "client-2.json"
    )
    assert not any("clock" in doubt for record in brought.records for doubt in record.doubts)


# Runs that took no time


def changed(tmp_path, name, *changes):
    """A copy of a real file with some of its words changed."""
    text = (REAL / name).read_text()
    for pattern, word in changes:
        text, count = re.subn(pattern, word, text)
        assert count
    (tmp_path / Path(name).name).write_text(text)
    return tmp_path / Path(name).name


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        (
            "fio/steady.json",
            [(r'"runtime" : \d+', '"runtime" : 0'), (r'"job_runtime" : \d+', '"job_runtime" : 0')],
        ),
        ("rados/write.json", [(r'"total_time_run": "[\d.]+"', '"total_time_run": "0"')]),
        (
            "ior/verbose.json",
            [(r'"totalTime": [\d.]+', '"totalTime": 0.0'), (r'"bwMiB": [\d.]+', '"bwMiB": inf')],
        ),
        ("mdtest/tree.txt", [(r"(File creation) .*", r"\1    inf    inf    inf    -nan")]),
    ],
)
def test_a_run_that_took_no_time_is_a_failed_trial_and_the_folder_shows(
    name: str, changes: list[tuple[str, str]], tmp_path: Path
) -> None:
    results, brought = bring(tmp_path, f"client-1={changed(tmp_path, name, *changes)}")
    failed = [record for record in brought.records if record.status == "failed"]
    assert failed
    assert all("too short for" in record.reason for record in failed)
    if "mdtest" in name:
        assert len(brought.records) > len(failed) == 1  # its other operations took time
    assert sum(cell.failed_count for cell in Content(results).cells) == len(failed)


def test_a_folder_that_keeps_a_valid_trial_of_no_time_shows_it_as_failed(tmp_path: Path, made) -> None:
    results = store.create(tmp_path / "results", "", "old")
    trials = [made.record(made.trial(repetition=n), moved=made.results((10.0, 10.0 + n))) for n in (0, 1)]
    with results.hold():
        for record in trials:
            with results.attempt(record.trial) as attempt:
                attempt.keep(replace(record, attempt=attempt.number))
    (cell,) = Content(results).cells
    assert (cell.failed_count, len(cell.metrics["throughput_bytes_per_s"].values)) == (1, 1)
    assert [r.reason for r in results.latest() if r.status == "failed"] == [
        "client-1: the load was too short for its tool to time; increase its size or its duration"
    ]


# IOR, mdtest, rados bench, IO500


def test_each_iteration_of_ior_is_a_run_whose_mean_rate_is_what_ior_prints() -> None:
    found = runs("ior/iterations.json")
    summary = {
        one["operation"]: one for one in json.loads((REAL / "ior/iterations.json").read_text())["summary"]
    }
    for operation, said in summary.items():
        rates = [rate(run) for run in found if run.operation == operation]
        assert len(rates) == said["repetitions"] == 3
        assert sum(rates) / 3 == pytest.approx(said["bwMeanMIB"], rel=1e-6)
        assert max(rates) == pytest.approx(said["bwMaxMIB"], rel=1e-6)
    windows = [(present(run.outcome).began_s, present(run.outcome).ended_s) for run in found]
    assert all(one[1] <= other[0] + 1e-6 for one, other in itertools.pairwise(windows))
    assert {r.host for run in found for r in present(run.outcome).results} == {"vm"}


def test_warnings_inside_ior_s_json_are_skipped_and_what_was_moved_is_as_they_say() -> None:
    (run,) = runs("ior/warnings-inside.json")
    assert present(run.outcome).results[0].moved_bytes == 433414144
    assert rate(run) == pytest.approx(3723.8491, rel=1e-6)


def test_local_times_are_read_in_their_zone() -> None:
    utc, berlin = (
        present(runs("ior/verbose.json", Told("x", zone=zone))[0].outcome).began_s
        for zone in ("UTC", "Europe/Berlin")
    )
    assert utc == datetime(2026, 11, 21, 8, 13, 43, tzinfo=UTC).timestamp()
    assert utc - berlin == 3600
    with pytest.raises(WorkloadError, match="no time zone"):
        runs("ior/verbose.json", Told("x", zone="Europe/Berlim"))


def test_mdtest_s_operations_are_runs_with_its_rates() -> None:
    found = {run.operation: run for run in runs("mdtest/tree.txt")}
    assert rate(found["File stat"]) == pytest.approx(977167.599)
    assert present(found["Directory removal"].outcome).results[0].operations_count == 260
    assert present(found["Directory rename"].outcome).results[0].direction == "write"
    assert "Tree creation" not in found


def test_a_table_of_mdtest_with_other_columns_is_refused() -> None:
    text = (REAL / "mdtest/tree.txt").read_text().replace("Max            Min", "Min            Max")
    with pytest.raises(WorkloadError, match="does not have the columns Operation, Max, Min, Mean"):
        read("mdtest", {"tree.txt": text}, Told("x"))


def test_both_iterations_of_mdtest_come_from_its_highest_and_lowest_rate() -> None:
    rates = [rate(run) for run in runs("mdtest/two-iterations.txt") if run.operation == "File creation"]
    assert sum(rates) / 2 == pytest.approx(72571.980)
    assert sorted(rates) == pytest.approx([64977.599, 80166.361])


def test_rados_bench_ends_when_its_file_was_written() -> None:
    (run,) = runs("rados/write.json", Told("x", ended_s=1000.0))
    (moved,) = present(run.outcome).results
    assert (moved.host, moved.ended_s, moved.moved_bytes) == ("vm", 1000.0, 4107 * 65536)
    assert present(run.outcome).series[0].channel.quantity == "goodput"
    assert any("no time of day" in doubt for doubt in present(run.outcome).doubts)


def test_io500_s_phases_have_its_scores() -> None:
    texts = {path.name: path.read_text() for path in (REAL / "io500").iterdir()}
    found = {run.operation: run for run in read("io500", texts, Told("x"))}
    assert len(found) == 13
    assert rate(found["ior-easy-write"]) == pytest.approx(0.459838 * 1024)
    # as IOR says, not stonewall's request
    assert present(found["ior-easy-write"].outcome).results[0].moved_bytes == 591396864
    assert rate(found["mdtest-hard-stat"]) == pytest.approx(1047368.903)
    assert present(found["mdtest-easy-write"].outcome).results[0].operations_count == 4612
    assert present(found["find"].outcome).results[0].operations_count == 20667
    assert any("invalid" in doubt for doubt in present(found["ior-easy-write"].outcome).doubts)


# Trials


@pytest.mark.heavy
def test_all_formats_together_give_results_that_verify_report_and_show(tmp_path: Path) -> None:
    names = ["fio", "ior", "mdtest", "rados", "io500"]
    results, brought = bring(tmp_path, *names, zone_assumed="UTC")
    assert len(brought.records) == len(results.latest()) > 40
    report.write(results, results.folder / "report.html")
    assert verification.verify(results).differences == ()
    cells = {(cell.workload, cell.direction): cell for cell in summary(results).cells}
    assert cells["ior write 1 MiB", "write"].metrics["throughput_bytes_per_s"].mean / MIB == pytest.approx(
        1660.9585
    )
    assert len(cells["ior write 1 MiB", "write"].metrics["throughput_bytes_per_s"].values) == 3
    zoned = {
        record.trial.workload.options["format"]
        for record in brought.records
        if TIMES.zone_assumed.id in [doubt.id for doubt in record.doubts]
    }
    assert zoned == {"ior", "mdtest", "io500"}


def test_a_changed_raw_file_is_found(tmp_path: Path) -> None:
    results, _ = bring(tmp_path, "ior/iterations.json")
    raw = next((results.folder / "trials").rglob("iterations.json"))
    raw.write_text(raw.read_text().replace("633.2937", "733.2937"))
    assert any("checksum" in words for words in verification.verify(results).differences)


def test_files_that_ran_at_the_same_time_are_the_clients_of_one_trial(tmp_path: Path) -> None:
    path = REAL / "joined/client-1.json"
    later = json.loads(path.read_text())
    later["timestamp_ms"] += 60_000
    (tmp_path / "client-1.json").write_text(json.dumps(later))
    _, brought = bring(tmp_path, f"client-1={path}", f"client-2={path}", tmp_path / "client-1.json")
    found = [(r.trial.clients_count, r.trial.repetition, {h.name for h in r.hosts}) for r in brought.records]
    assert found == [(2, 1, {"client-1", "client-2"}), (1, 1, {"client-1"})]
    assert {record.trial.workload.label for record in brought.records} == {"fio write 1 MiB"}


def placed(tmp_path: Path, *places: tuple[str, int]) -> list[Path]:
    """Copies of a report at paths, each ended so many milliseconds later than the original."""
    paths: list[Path] = []
    for place, later_ms in places:
        document = json.loads((REAL / "joined/client-1.json").read_text())
        document["timestamp_ms"] += later_ms
        paths.append(tmp_path / place)
        paths[-1].parent.mkdir(exist_ok=True, parents=True)
        paths[-1].write_text(json.dumps(document))
    return paths


@pytest.mark.parametrize(
    ("places", "clients"),
    [
        ([("host-1/fio.json", 0), ("host-2/fio.json", 40)], [{"host-1", "host-2"}]),
        ([("output.0", 0), ("output.1", 40)], [{"output.0", "output.1"}]),
        ([("a/output.0", 0), ("a/output.1", 9), ("b/output.0", 5)], [{"a-output.0", "a-output.1", "b-output.0"}]),
        # repetitions
        ([("1/fio.json", 0), ("2/fio.json", 60_000)], [{"fio"}, {"fio"}]),
        (
            [("1/a/fio.json", 0), ("1/b/fio.json", 40), ("2/a/fio.json", 60_000), ("2/b/fio.json", 60_040)],
            [{"a", "b"}, {"a", "b"}],
        ),
        ([("fio.json", 0), ("copy/fio.json", 0)], [{"fio"}]),
    ],
    ids=["folders", "endings", "both", "repetitions", "repetitions in folders", "copy"],
)  # fmt: skip
def test_files_of_one_name_are_of_several_clients_where_they_ran_at_once(
    places: list[tuple[str, int]], clients: list[set[str]], tmp_path: Path
) -> None:
    results, brought = bring(tmp_path, *placed(tmp_path / "logs", *places))
    assert [{host.name for host in record.hosts} for record in brought.records] == clients
    assert [record.trial.clients_count for record in brought.records] == [len(names) for names in clients]
    assert not any("at the same time" in doubt for record in brought.records for doubt in record.doubts)
    assert verification.verify(results).differences == ()
    _, again = bring(tmp_path, *placed(tmp_path / "logs", *places))
    assert again.records == ()


@pytest.mark.parametrize("later_ms", [0, 1500, 4000, 6000])
def test_a_client_that_ran_a_load_twice_at_once_is_doubted(later_ms: int, tmp_path: Path) -> None:
    first, second = placed(tmp_path, ("1/fio.json", 0), ("2/fio.json", 40 + later_ms))
    bring(tmp_path, first)
    _, brought = bring(tmp_path, second)
    doubted = any("at the same time in another trial" in doubt for doubt in brought.records[0].doubts)
    assert doubted == (later_ms < 5289 / 2)


def test_equal_runs_are_repetitions_and_what_is_there_is_not_brought_in_again(tmp_path: Path) -> None:
    document = json.loads((REAL / "joined/client-1.json").read_text())
    for number in range(3):
        document["timestamp_ms"] += 60_000
        (tmp_path / "client-1.json").write_text(json.dumps(document))
        results, brought = bring(tmp_path, tmp_path / "client-1.json")
        assert [record.trial.repetition for record in brought.records] == [number + 1]
    # fio has no use for a zone
    results, brought = bring(tmp_path, tmp_path / "client-1.json", zone="Europe/Berlin")
    assert (brought.records, brought.known_count, len(results.latest())) == ((), 1, 3)


def test_runs_of_one_short_name_that_differ_are_distinguished(tmp_path: Path) -> None:
    document = json.loads((REAL / "joined/client-1.json").read_text())
    document["jobs"][0]["job options"]["iodepth"] = "8"
    document["timestamp_ms"] += 60_000
    (tmp_path / "deep.json").write_text(json.dumps(document))
    _, brought = bring(tmp_path, "joined/client-1.json", tmp_path / "deep.json")
    assert len({record.trial.workload.label for record in brought.records}) == 2


def test_another_campaign_s_folder_takes_no_imports(tmp_path: Path) -> None:
    store.create(tmp_path / "results", "a campaign", "other")
    with pytest.raises(FolderOfOthers):
        importing.create(tmp_path / "results")


def test_an_imported_run_can_t_be_run(tmp_path: Path) -> None:
    load = drivers.workload(Spec("imported", {"format": "fio", "operation": "write"}))
    with pytest.raises(CampaignError, match="can't be run"):
        load.prepare((), ScriptedMount(), tmp_path)
    with pytest.raises(CampaignError, match="can't be run"):
        load.run((), ScriptedMount(), tmp_path)
    with pytest.raises(WorkloadError, match="can't be read"):
        load.outcome(tmp_path)


# Counters and power


def test_counters_become_bytes_and_cpu_seconds_of_their_role(tmp_path: Path) -> None:
    path = REAL / "joined/client-1.json"
    results, brought = bring(tmp_path, path, "joined/sadf.json", roles={"vm": "storage"})
    (cell,) = summary(results).cells
    statistics = json.loads((REAL / "joined/sadf.json").read_text())["sysstat"]["hosts"][0]["statistics"]
    kib = sum(disk["wkB"] for one in statistics for disk in one["disk"] if disk["disk-device"] == "vda")
    written = cell.metrics["disk_written_storage_ratio"].mean * 64 * MIB
    # kB are KiB; the idle seconds around are not in the window
    assert 0.8 * kib * 1024 < written < kib * 1024
    assert 0.1 < cell.metrics["cpu_storage_s_per_byte"].mean * 64 * MIB < 2 * 6
    assert not [words for words in missing(brought) if "counters" in words]


def test_a_node_of_unknown_role_is_left_out_and_said(tmp_path: Path) -> None:
    _, brought = bring(tmp_path, "joined/client-1.json", "joined/sadf.json")
    assert brought.nodes == ("vm",)
    assert any("--role vm=storage" in words for words in missing(brought))
    assert not any(brought.series.values())


def test_a_node_that_is_among_the_clients_is_one_of_them(tmp_path: Path) -> None:
    _, brought = bring(tmp_path, f"vm={REAL / 'joined/client-1.json'}", "joined/sadf.json")
    assert brought.nodes == ()
    assert len(next(iter(brought.series.values()))) == 5


def test_counters_alone_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="no run"):
        bring(tmp_path, "sadf/vm.json")


@pytest.mark.parametrize(
    ("roles", "covers", "energy"),
    [
        ({}, (), "energy_j"),  # one machine does it all
        ({"vm": "storage"}, (), "gross_energy_j"),  # servers and switch
        ({"vm": "storage"}, ("servers",), "energy_j"),
        ({"vm": "storage"}, ("servers", "switch"), "gross_energy_j"),
    ],
)
def test_power_is_joined_by_the_time_of_day_for_what_it_covers(
    roles: dict[str, str], covers: tuple[str, ...], energy: str, tmp_path: Path
) -> None:
    log = powered(tmp_path, 1795272300, 1795272306)
    results, brought = bring(tmp_path, "joined/client-1.json", power=[log], covers=covers, roles=roles)
    (cell,) = summary(results).cells
    assert cell.metrics[energy].mean == pytest.approx(40.0 * 5.289, rel=1e-6)
    assert {"energy_j", "gross_energy_j"} & cell.metrics.keys() == {energy}
    assert cell.grade == "wall"
    assert not [words for words in missing(brought) if "no power" in words]
    assert any("the offset between the clocks" in doubt for doubt in cell.doubts)
    assert (results.folder_of(brought.records[0]) / "raw/joined/0/power.csv").read_bytes() == log.read_bytes()


@pytest.mark.parametrize(("declared", "doubted"), [((), True), (("zone=UTC",), False)])
def test_a_log_whose_zone_nobody_said_is_doubted(
    declared: tuple[str, ...], doubted: bool, tmp_path: Path
) -> None:
    rows = [f"2026-11-21T14:{44 + (40 + n) // 60}:{(40 + n) % 60:02},40" for n in range(40)]
    (tmp_path / "power.csv").write_text("\n".join(["t,w", *rows]) + "\n")
    words = (*POWER[:-1], *declared)
    _, brought = bring(
        tmp_path,
        "joined/client-1.json",
        power=[tmp_path / "power.csv"],
        declared=words,
        zone="UTC",
        zone_assumed="UTC",
    )
    (record,) = brought.records
    assert any(brought.series.values())
    assert (TIMES.zone_assumed.id in [doubt.id for doubt in record.doubts]) == doubted


def test_a_file_that_is_named_twice_is_one_run(tmp_path: Path) -> None:
    shutil.copy(REAL / "fio/steady.json", tmp_path / "a.json")
    found, _ = sources([str(tmp_path), f"client-1={tmp_path / 'a.json'}", str(tmp_path / "a.json")], "UTC")
    assert [source.told.clients for source in found] == [("client-1",)]


def test_power_of_another_time_is_not_taken(tmp_path: Path) -> None:
    log = powered(tmp_path, 1795279300, 1795279306)
    _, brought = bring(tmp_path, "joined/client-1.json", power=[log])
    assert any("no power in 1 of 1" in words for words in missing(brought))


def test_a_log_that_covers_a_host_that_is_not_there_is_refused(tmp_path: Path) -> None:
    log = powered(tmp_path, 1795272300, 1795272306)
    with pytest.raises(CampaignError, match='no host is called "storage-1"'):
        bring(tmp_path, "joined/client-1.json", power=[log], covers=("storage-1",))


def test_several_logs_are_named_by_tables_as_in_a_campaign(tmp_path: Path) -> None:
    log = powered(tmp_path, 1795272300, 1795272306)
    table = (
        f'[[meter]]\nkind = "csv"\npath = "{log}"\ntime = ["t"]\nvalue = "w"\nunit = "W"\nsemantics = '
        '"instantaneous"\n'
    )
    (tmp_path / "meters.toml").write_text(table + 'clock = "unix"\ngrade = "PDU"\ncovers = ["client-1"]\n')
    _, brought = bring(tmp_path, "joined/client-1.json", power=[tmp_path / "meters.toml"], declared=())
    (series,) = next(iter(brought.series.values()))
    assert (series.channel.grade, series.channel.host) == ("PDU", "client-1")


@pytest.mark.parametrize(("delimiter", "between"), [("\\t", "\t"), ("\t", "\t"), (" ", " "), (";", ";")])
def test_columns_by_number_and_blanks_between_them_need_no_quotes(
    delimiter: str, between: str, tmp_path: Path
) -> None:
    path = tmp_path / "power.log"
    path.write_text(f"1795953600{between}a{between}105\n1795953601{between}a{between}106\n")
    declared = ("header=false", "time=1", "value=3", f"delimiter={delimiter}", "clock=unix", *POWER[2:-1])
    (log,) = logs(path, declared, (), "UTC")
    assert log.series[0].value.tolist() == [105.0, 106.0]


def test_a_log_without_times_of_day_is_refused(tmp_path: Path) -> None:
    log = powered(tmp_path, 1795272300, 1795272306)
    with pytest.raises(CampaignError, match="needs times of day"):
        bring(tmp_path, "joined/client-1.json", power=[log], declared=(*POWER[:-1], "clock=beginning"))


def test_the_end_of_rados_bench_is_that_of_its_file_wherever_it_is_verified(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    shutil.copy(REAL / "rados/seq.json", path)
    os.utime(path, (1.7e9, 1.7e9))
    results, brought = bring(tmp_path, path)
    path.unlink()
    assert present(brought.records[0].outcome).ended_s == 1.7e9
    assert verification.verify(results).differences == ()


def test_an_import_says_what_it_sets_aside(tmp_path):
    results, before = bring(tmp_path, "fio/steady.json")
    assert before.remarks == ()
    results.journal.write_text("")
    _, brought = bring(tmp_path, "fio/steady.json")
    assert [words.partition(": ")[2].partition(";")[0] for words in brought.remarks] == [
        "the journal does not list this attempt"
    ]
