"""elbencho's CSV and JSON become runs: read from real output, whose numbers are computed again from the
definition of its columns, and refused where a file does not say what they mean.

`files.*` and `direct.*` in `tests/transcripts/imported/elbencho` are what elbencho 3.1-10 wrote on one machine
of ours; rows of several hosts and of other versions are made from them.
"""

import csv
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from perjoule import drivers, importing
from perjoule.importing.missing import missing
from perjoule.importing.power import logs
from perjoule.importing.sources import sources, why_not
from perjoule.model import Outcome
from perjoule.model.doubts import DERIVED, IN_FLIGHT, TIMES
from perjoule.model.errors import WorkloadError
from perjoule.model.units import MIB
from perjoule.results import verification
from perjoule.summary import summary
from perjoule.workloads.imported import ImportedRun, Told, formats_of, read
from places import TRANSCRIPTS
from typed import present
from unit.importing.foreign import POWER

REAL = TRANSCRIPTS / "imported/elbencho"
HOSTS = '"--hosts" "n1 n2 n3 n4" '
BEGAN_S = datetime(2026, 11, 21, 9, 10, 55, 272000, tzinfo=UTC).timestamp()
Rows = list[dict[str, str]]


def table(name: str = "direct.csv") -> Rows:
    """The rows of a real CSV: no cell has a comma, and none is quoted."""
    with (REAL / name).open() as file:
        return list(csv.DictReader(file, quoting=csv.QUOTE_NONE))


def text(rows: Rows, without: Sequence[str] = ()) -> str:
    lines = [[name for name in rows[0] if name not in without]]
    lines += [[value for name, value in row.items() if name not in without] for row in rows]
    return "\n".join(",".join(line) for line in lines) + "\n"


def write(**cells: str) -> Rows:
    """The real WRITE of 256 MiB in 175 ms, with some cells changed."""
    return [table()[0] | cells]


def runs(content: str, told: Told | None = None) -> tuple[ImportedRun, ...]:
    return read("elbencho", {"e.csv": content}, told or Told("e"))


def outcome_of(rows: Rows, told: Told | None = None) -> Outcome:
    (run,) = runs(text(rows), told)
    return present(run.outcome)


def failure_of(rows: Rows) -> str:
    (run,) = runs(text(rows))
    assert run.outcome is None
    return run.failure


def ids(outcome: Outcome) -> set[str]:
    return {doubt.id for doubt in outcome.doubts}


# Failures


@pytest.mark.parametrize(
    ("cells", "refused"),
    [
        ({"errors total": "3"}, True),
        ({"errors total": ""}, False),
        ({"command": '"elbencho" "--s3ignoreerrors" "/mnt/a"'}, True),
        ({"command": '"elbencho" "--s3ignoreerrors" "/mnt/a"', "errors total": ""}, False),
    ],
)
def test_operations_that_failed_are_not_counted_with_the_others(
    cells: dict[str, str], *, refused: bool
) -> None:
    if refused:
        assert "operations failed, or may have" in failure_of(write(**cells))
    else:
        assert outcome_of(write(**cells)).results


# Numbers


@pytest.mark.parametrize("name", ["direct", "files"])
def test_each_phase_is_a_run_with_elbencho_s_own_rates_of_all_threads(name: str) -> None:
    documents = [json.loads(line) for line in (REAL / f"{name}.json").read_text().splitlines()]
    found = runs((REAL / f"{name}.json").read_text())
    assert [run.operation for run in found] == [d["phase_type"].lower() for d in documents]
    for run, document in zip(found, documents, strict=True):
        outcome, last = present(run.outcome), document["last_done"]
        took_s = outcome.ended_s - outcome.began_s
        (moved,) = outcome.results
        assert moved.began_s == pytest.approx(datetime.fromisoformat(document["iso_start_date"]).timestamp())
        # it rounds down
        assert took_s * 1e3 - 1 <= int(last["elapsed_time_ms"]) <= took_s * 1e3
        assert moved.moved_bytes == int(last.get("bytes", 0))
        if "bytes" in last:
            assert moved.moved_bytes / took_s == pytest.approx(int(last["bytes/s"]), rel=1e-4)
            assert moved.operations_count / took_s == pytest.approx(int(last["iops"]), abs=2)
        else:
            assert moved.operations_count == int(last["entries"])
            assert moved.operations_count / took_s == pytest.approx(int(last["entries/s"]), abs=2)


@pytest.mark.parametrize("name", ["direct", "files"])
def test_csv_and_json_of_one_elbencho_say_the_same(name: str) -> None:
    first, second = (runs((REAL / f"{name}.{kind}").read_text()) for kind in ("csv", "json"))
    for one, other in zip(first, second, strict=True):
        assert (one.operation, one.details, one.transfer_bytes, one.folder, one.id) == (
            other.operation, other.details, other.transfer_bytes, other.folder, other.id
        )  # fmt: skip
        for left, right in zip(present(one.outcome).results, present(other.outcome).results, strict=True):
            assert (left.moved_bytes, left.operations_count, left.latency_s) == (
                right.moved_bytes, right.operations_count, right.latency_s
            )  # fmt: skip
            assert left.ended_s == pytest.approx(right.ended_s, abs=1e-4)


def test_what_the_fastest_thread_saw_is_not_taken() -> None:
    slow = write(**{"time ms [first]": "100", "MiB/s [first]": "2190", "IOPS [first]": "2190"})
    (moved,) = outcome_of(slow).results
    assert moved.moved_bytes / (moved.ended_s - moved.began_s) / MIB == pytest.approx(1458, abs=1)


def test_whole_files_are_counted_to_the_byte_and_other_amounts_to_a_mebibyte() -> None:
    written = {"MiB [last]": "12", "MiB/s [last]": "519"}
    (moved,) = outcome_of([table("files.csv")[1] | written]).results
    assert moved.moved_bytes == 200 * 65536  # 12.5 MiB
    row = table()[0]
    limited = row | {"command": row["command"] + '"--timelimit" "1" '}
    outcome = outcome_of([limited])
    assert abs(outcome.results[0].moved_bytes - 256.5 * MIB) <= 1
    assert DERIVED.elbencho_amount.id in ids(outcome)
    few = limited | {"MiB [last]": "25", "MiB/s [last]": "142", "IOPS [last]": "142"}
    assert "import its JSON" in failure_of([few])


def test_a_mix_moves_in_both_directions() -> None:
    row = write(
        **{
            "operation": "RWMIX25", "MiB [last]": "192", "MiB/s [last]": "1094", "IOPS [last]": "1094",
            "rwmix read MiB [last]": "64", "rwmix read MiB/s [last]": "364", "rwmix read IOPS [last]": "364",
            "rwmix read IO lat us [avg]": "900",
        }
    )  # fmt: skip
    (run,) = runs(text(row))
    by_way = {result.direction: result for result in present(run.outcome).results}
    assert {way: round(r.moved_bytes / MIB) for way, r in by_way.items()} == {"write": 192, "read": 64}
    assert by_way["read"].latency_s["mean"] == pytest.approx(900e-6)
    assert by_way["write"].latency_s["mean"] == pytest.approx(1227e-6)
    reads = [row[0] | {f"{name} [last]": "" for name in ("MiB", "MiB/s", "IOPS")}]
    assert [result.direction for result in outcome_of(reads).results] == ["read"]
    silent = [row[0] | {f"rwmix read {name} [last]": "" for name in ("MiB", "MiB/s", "IOPS")}]
    assert "does not state what a mix read" in failure_of(silent)


def test_latencies_below_what_whole_microseconds_tell_are_left_out() -> None:
    (moved,) = outcome_of(write(**{"IO lat us [avg]": "99", "IO lat us [max]": "100"})).results
    assert moved.latency_s == {"max": pytest.approx(100e-6)}


def test_calls_are_counted_and_not_computed_from_a_rounded_rate() -> None:
    lasts = {"time ms [last]": "10000", "MiB [last]": "262144"}
    (moved,) = outcome_of(write(**lasts, **{"MiB/s [last]": "26214", "IOPS [last]": "26214"})).results
    assert abs(moved.operations_count - 262144.5) <= 1


def test_what_makes_a_load_is_told_and_what_only_names_outputs_is_not() -> None:
    (row,) = write()
    (run,) = runs(
        text([row | {"command": row["command"] + '"--flock" "full" "--csvfile" "/x,y" '.replace(",", " ")}])
    )
    assert run.details == ("2 threads", "size 256 MiB", "direct", "--flock full")
    assert TIMES.short_operation.id in ids(present(runs((REAL / "files.csv").read_text())[0].outcome))


# When it ran


def test_a_date_is_the_start_of_a_phase_since_3_0_27_and_was_when_the_row_was_written() -> None:
    for version, digits in {
        "3.0-27": "",
        "3.1-10": "",
        "3.0-25": "1 ms",
        "3.0-7": "1 s",
        "2.1-0": "1 s",
    }.items():
        outcome = outcome_of(write(version=version))
        assert (outcome.ended_s if digits else outcome.began_s) == pytest.approx(BEGAN_S), version
        by_row = [doubt for doubt in outcome.doubts if doubt.id == TIMES.elbencho_by_row.id]
        assert [f"to {digits}," in doubt for doubt in by_row] == ([True] if digits else [])
    assert "development version" in failure_of(write(version="3.0-26"))
    assert "no version of elbencho" in failure_of(write(version="new"))


def test_a_file_older_than_versions_is_dated_by_its_rows_and_one_that_lost_them_is_refused() -> None:
    (run,) = runs(text(write(), without=("label", "version", "command")))
    assert present(run.outcome).ended_s == pytest.approx(BEGAN_S)
    with pytest.raises(WorkloadError, match='no columns "version" and "command"'):
        runs(text(write(), without=("version", "command")))


def test_a_date_names_its_zone() -> None:
    date = "2026-11-21T10:10:55.272{}"
    began = [outcome_of(write(**{"ISO date": date.format(zone)})).began_s for zone in ("+0100", "+0000")]
    assert began == [pytest.approx(BEGAN_S), pytest.approx(BEGAN_S + 3600)]
    assert "no time zone" in failure_of(write(**{"ISO date": date.format("")}))


def test_a_file_of_several_elbenchos_and_lines_of_labels_is_read_row_by_row() -> None:
    old = text(write(version="2.1-0"), without=("rwmix read Ent lat us [min]",))
    found = runs(old + text(table()) + "\n")
    assert [run.operation for run in found] == ["write", "write", "read"]
    assert present(found[0].outcome).ended_s == present(found[1].outcome).began_s


def test_phases_that_load_nothing_are_no_runs() -> None:
    sync = write(**{"operation": "SYNC", "MiB [last]": "", "MiB/s [last]": "", "IOPS [last]": ""})
    assert [run.operation for run in runs(text([*sync, *table()]))] == ["write", "read"]
    with pytest.raises(WorkloadError, match="no phase in it"):
        runs(text(sync))


# Hosts


def distributed(count: int = 4, hosts: str = HOSTS) -> Rows:
    (row,) = write(**{"hosts": str(count), "shared paths": "1"})
    return [row | {"command": row["command"].replace('"--nolive"', f'{hosts}"--nolive"')}]


def test_hosts_that_the_command_names_share_the_sum() -> None:
    outcome = outcome_of(distributed())
    assert [result.host for result in outcome.results] == ["n1", "n2", "n3", "n4"]
    assert {result.moved_bytes for result in outcome.results} == {64 * MIB}
    assert sum(result.operations_count for result in outcome.results) == 256
    assert {TIMES.elbencho_services.id, DERIVED.equal_shares.id} <= ids(outcome)
    assert DERIVED.elbencho_hosts.id not in ids(outcome)


def test_two_services_on_one_host_are_one_client() -> None:
    outcome = outcome_of(distributed(3, '"--hosts" "n1:1611 n1:1612 n2" '))
    assert [result.host for result in outcome.results] == ["n1", "n2"]
    shares = [result.moved_bytes for result in outcome.results]
    assert (sum(shares), shares[1]) == (256 * MIB, pytest.approx(256 * MIB / 3, abs=1))


@pytest.mark.parametrize(
    "hosts", ['"--hosts" "n[1-4]" ', '"--hostsfile" "/etc/nodes" ', HOSTS + '"--numhosts" "2" ']
)
def test_hosts_that_are_not_named_are_counted_and_doubted(hosts: str) -> None:
    count = 2 if "numhosts" in hosts else 4
    outcome = outcome_of(distributed(count, hosts))
    assert [result.host for result in outcome.results] == [f"e-{n}" for n in range(1, count + 1)]
    assert DERIVED.elbencho_hosts.id in ids(outcome)
    named = outcome_of(distributed(count, hosts), Told("e", clients=("a", "b", "c", "d")[:count]))
    assert [result.host for result in named.results] == ["a", "b", "c", "d"][:count]
    assert DERIVED.elbencho_hosts.id not in ids(named)
    with pytest.raises(WorkloadError, match="3 clients are named"):
        runs(text(distributed(count, hosts)), Told("e", clients=("a", "b", "c")))


def test_each_service_that_writes_files_of_its_own_writes_the_whole() -> None:
    (row,) = distributed()
    apart = row | {"shared paths": "0", "MiB [last]": "1024", "MiB/s [last]": "5832", "IOPS [last]": "5832"}
    outcome = outcome_of([apart])
    assert sum(result.moved_bytes for result in outcome.results) == 1024 * MIB
    (run,) = runs(text([apart]))
    assert "files of each service" in run.details


# What a file does not say


def test_what_was_not_flushed_is_doubted() -> None:
    flushed = IN_FLIGHT.not_flushed.id
    assert flushed not in ids(outcome_of(write()))
    assert flushed in ids(outcome_of(write(**{"direct IO": "0"})))
    assert flushed not in ids(outcome_of(write(**{"direct IO": "0", "path type": "object"})))
    assert flushed not in ids(outcome_of([table()[1] | {"direct IO": "0"}]))


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"MiB/s [last]": "1700"}, "contradict"),
        ({"time ms [last]": "185"}, "contradict"),
        ({"time ms [first]": "400"}, "contradict"),
        ({"MiB [last]": "256.0"}, "not a whole number"),
        ({"MiB [last]": "9" * 400}, "not a whole number"),
        ({"operation": "NET"}, "no load on storage"),
        ({"operation": "WRITE+r"}, "counts no reads"),
        ({"command": '"elbencho" "--verify" "1" "--verifydirect" "/mnt/elb" '}, "counts no reads"),
        ({"operation": "MELT"}, "no load on storage"),
        ({"MiB [last]": "", "MiB/s [last]": "", "IOPS [last]": ""}, "moved nothing"),
        (
            {"time ms [first]": "0", "time ms [last]": "0", "MiB/s [last]": "", "IOPS [last]": ""},
            "too short for elbencho to time",
        ),
    ],
)
def test_a_row_that_can_t_be_or_does_not_count_all_is_a_failed_run(cells: dict[str, str], said: str) -> None:
    assert said in failure_of(write(**cells))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (text(table()).partition("\n")[2], "before any line of labels"),
        (text(table())[:-400], "truncated"),
        (text(table())[:-8], "truncated"),
        (text(table()).replace("MiB/s [last]", "MB/s [last]"), 'no column "MiB/s'),
        (text(write(hosts="0")), "no host ran"),
        (text(write(hosts="1000000")), "no machine has more"),
        ((REAL / "direct.json").read_text().replace('"config"', '"conf"'), "import its CSV"),
    ],
)
def test_a_file_that_does_not_say_what_its_numbers_mean_is_refused(content: str, said: str) -> None:
    with pytest.raises(WorkloadError, match=said):
        runs(content)


def test_an_s3_secret_never_gets_into_results() -> None:
    row = table()[0]
    with pytest.raises(WorkloadError, match="may hold an S3 secret"):
        runs(text([row | {"command": row["command"] + '"--s3secret=hunter2" '}]))


def test_texts_that_elbencho_writes_beside_its_results_are_named(tmp_path: Path) -> None:
    shown = "OPERATION   RESULT TYPE         FIRST DONE   LAST DONE\n"
    live = "ISO Date,Label,Phase,RuntimeMS,Rank,MixType,Done%,DoneBytes,MiB/s,IOPS\n"
    for content, said in ((shown, "the text of elbencho"), (live, "live statistics")):
        (tmp_path / "a.txt").write_text(content)
        assert not formats_of(content)
        assert said in why_not(tmp_path / "a.txt")


# Trials


def bring(tmp_path: Path, *words: object, power: Path | None = None) -> importing.Brought:
    found, _ = sources([str(word) for word in words], "UTC")
    metered = logs(power, POWER, (), "UTC") if power else ()
    return importing.bring(importing.create(tmp_path / "results"), found, metered)


def test_csv_and_json_of_one_elbencho_are_one_trial_at_once_or_later(tmp_path: Path) -> None:
    for name in ("a.csv", "b.json"):
        (tmp_path / name).write_text((REAL / f"direct{name[1:]}").read_text())
    both = bring(tmp_path, tmp_path / "a.csv", tmp_path / "b.json")
    assert [(r.trial.workload.label, r.trial.clients_count) for r in both.records] == [
        ("elbencho write 1 MiB", 1),
        ("elbencho read 1 MiB", 1),
    ]
    later = bring(tmp_path, tmp_path / "b.json")  # of which nothing is stored
    assert (later.records, later.known_count) == ((), 2)
    assert not verification.verify(importing.create(tmp_path / "results")).differences


def test_iterations_are_repetitions_and_other_options_another_load(tmp_path: Path) -> None:
    row = table()[0]
    rows = [row | {"ISO date": f"2026-11-21T09:1{n}:00.000+0000"} for n in range(3)]
    rows.append(rows[0] | {"ISO date": "2026-11-21T09:20:00.000+0000", "IO depth": "8"})
    rows.append(rows[0] | {"ISO date": "2026-11-21T09:30:00.000+0000", "random": "1", "random aligned": "1"})
    (tmp_path / "e.csv").write_text(text(rows))
    records = bring(tmp_path, tmp_path / "e.csv").records
    assert [record.trial.repetition for record in records] == [1, 2, 3, 1, 1]
    assert len({record.trial.workload.label for record in records}) == 3
    patterns = [drivers.workload(record.trial.workload).pattern for record in records]
    assert [pattern.access for pattern in patterns] == [*["sequential"] * 4, "random"]


def test_energy_is_of_the_time_in_which_all_threads_wrote(tmp_path: Path) -> None:
    row = table()[0]
    lasts = {"time ms [first]": "8000", "time ms [last]": "16000", "MiB [last]": "262144"}
    rates = {"MiB/s [last]": "16384", "IOPS [last]": "16384"}
    (tmp_path / "e.csv").write_text(
        text([row | lasts | rates | {"command": row["command"] + '"--infloop" '}])
    )
    began_s = int(BEGAN_S)
    lines = [f"{t},{100 if t <= began_s + 9 else 200}" for t in range(began_s - 20, began_s + 40)]
    (tmp_path / "power.csv").write_text("\n".join(["t,w", *lines]) + "\n")
    brought = bring(tmp_path, tmp_path / "e.csv", power=tmp_path / "power.csv")
    (cell,) = summary(importing.create(tmp_path / "results")).cells
    # a row is the mean of the second before it: 100 W until 9 s after the whole second in which the load began
    early_s = began_s + 9 - BEGAN_S
    joules = 100 * early_s + 200 * (16.0005 - early_s)
    assert cell.metrics["efficiency_bytes_per_j"].mean == pytest.approx(262144.5 * MIB / joules, rel=1e-3)
    assert "no latency percentiles in elbencho" in list(missing(brought))


def test_windows_of_real_phases_follow_one_another() -> None:
    windows = [present(run.outcome) for run in runs((REAL / "files.json").read_text())]
    assert all(one.ended_s <= other.began_s + 2e-3 for one, other in pairwise(windows))
