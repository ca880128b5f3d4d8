"""Logs of launchers and containers: what is before each line, several hosts in one file, reports inside other JSON."""

import json
import os
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from perjoule import importing
from perjoule.importing.counters import counters
from perjoule.importing.power import logs
from perjoule.importing.sources import sources, why_not
from perjoule.machine import untrusted
from perjoule.model.doubts import TIMES
from perjoule.model.errors import CampaignError, WorkloadError
from perjoule.model.units import MIB
from perjoule.results import verification
from perjoule.workloads.imported import ImportedRun, Told, outputs_of, read
from typed import present
from unit.importing.foreign import fio, ior, job, mdtest, moved, sadf

END_MS = 1_795_000_100_000
OUTPUTS = {
    "fio": fio(job(write=moved(8 * MIB, 60_000))),
    "ior": ior(("Fri Nov 27 17:00:00 2026", "", [("write", "128.00", "8.00"), ("read", "256.00", "4.00")])),
    "mdtest": mdtest("4.0.0", "File creation     : 9 9 9 0.000"),
}
# how a line of "host-1" is printed, and the client of a fio in a file "a"
PREFIXES = {
    "pdsh": ("host-1: {}", "host-1"),
    "srun --label": ("0: {}", "a"),
    "Open MPI 4": ("[1,0]<stdout>:{}", "a"),
    "Open MPI 5": ("[prterun-head-2617@1,0]<stdout>: {}", "a"),
    "Intel MPI": ("[0] {}", "a"),
    "kubectl --prefix": ("[pod/host-1/fio] {}", "host-1"),
    "kubectl --timestamps": ("2021-03-30T17:36:36.123456789Z {}", "a"),
    "kubectl with both": ("[pod/host-1/fio] 2021-03-30T17:36:36.123456789Z {}", "host-1"),
    "docker compose": ("host-1  | {}", "host-1"),
    "journalctl": ("Nov 30 01:02:03 host-1 bash[4711]: {}", "host-1"),
    "journalctl -o short-iso": ("2026-11-30T01:02:03+0100 host-1 bash[4711]: {}", "host-1"),
    "file of containerd": ("2016-10-06T00:17:09.669794202Z stdout F {}", "a"),
    "job of GitLab": ("2024-05-14T11:19:20.000000Z 00O {}", "a"),
    "ts": ("Nov 30 01:02:03 {}", "a"),
    "Jenkins": ("[2023-10-01T12:00:00.123Z] {}", "a"),
    "quotation": ("> {}", "a"),
    "indentation": ("    {}", "a"),
    "colours": ("\x1b[1;32m{}\x1b[0m", "a"),
    "blank lines between": ("{}\n", "a"),
}


def prefixed(form: str, text: str) -> str:
    return "".join(f"{form.format(line)}\n" for line in text.splitlines())


def numbers(found: tuple[ImportedRun, ...]) -> list[object]:
    return [
        (run.operation, run.details, run.transfer_bytes, r.direction, r.began_s, r.ended_s, r.moved_bytes)
        for run in found
        for r in present(run.outcome).results
    ]


def bring(tmp_path: Path, *words: object) -> importing.Brought:
    read_sources, _ = sources([str(word) for word in words], "UTC")
    return importing.bring(importing.create(tmp_path / "results"), read_sources)


@pytest.mark.parametrize("format", OUTPUTS)
@pytest.mark.parametrize(("form", "client"), PREFIXES.values(), ids=PREFIXES)
def test_what_launchers_and_logs_put_before_each_line_is_left_out(
    form: str, client: str, format: str, tmp_path: Path
) -> None:
    told, text = Told("a"), OUTPUTS[format]
    found = read(format, {"a": prefixed(form, text)}, told)
    assert numbers(found) == numbers(read(format, {"a": text}, told))
    if format == "fio":
        assert [result.host for result in present(found[0].outcome).results] == [client]
    (tmp_path / "a.log").write_text(prefixed(form, text))
    (source,), _ = sources([str(tmp_path / "a.log")], "UTC")
    assert source.format == format


def test_a_line_without_the_prefix_of_the_others_leaves_all_as_they_are() -> None:
    text = prefixed("host-1: {}", OUTPUTS["fio"]) + "made by a script\n"
    assert outputs_of(text) == {"": text}
    with pytest.raises(WorkloadError, match="truncated or empty"):
        read("fio", {"a": text}, Told("a"))


@pytest.mark.parametrize("text", OUTPUTS.values(), ids=OUTPUTS)
def test_an_output_without_prefixes_is_itself(text: str) -> None:
    assert outputs_of(text) == {"": text}


def interleaved(*hosts: str) -> str:
    """The log of a fio on each host, whose lines come in turn."""
    reports = [
        prefixed(f"{host}: {{}}", fio(job(write=moved((8 + at) * MIB, 60_000)), ended_ms=END_MS + 40 * at))
        for at, host in enumerate(hosts)
    ]
    return "".join(
        chain.from_iterable(zip(*(report.splitlines(keepends=True) for report in reports), strict=True))
    )


def test_hosts_in_one_log_are_the_clients_of_one_trial(tmp_path: Path) -> None:
    (tmp_path / "pdsh.log").write_text(interleaved("n1", "n2"))
    (record,) = bring(tmp_path, tmp_path / "pdsh.log").records
    outcome = present(record.outcome)
    assert [(r.host, r.moved_bytes / MIB) for r in outcome.results] == [("n1", 8), ("n2", 9)]
    assert TIMES.own_clocks.id in [doubt.id for doubt in record.doubts]
    results = importing.create(tmp_path / "results")
    assert verification.verify(results).differences == ()
    assert len(list(results.folder.rglob("pdsh.log"))) == 1
    assert bring(tmp_path, tmp_path / "pdsh.log").records == ()


def test_clients_that_the_user_names_are_those_of_the_log_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "srun.log").write_text(interleaved("0", "1"))
    (record,) = bring(tmp_path, f"a,b={tmp_path / 'srun.log'}").records
    assert [(r.host, r.moved_bytes / MIB) for r in present(record.outcome).results] == [("a", 8), ("b", 9)]
    with pytest.raises(WorkloadError, match="1 clients are named, and it has the outputs of 2"):
        bring(tmp_path, f"a={tmp_path / 'srun.log'}")
    (tmp_path / "unnamed").mkdir()
    (record,) = bring(tmp_path / "unnamed", tmp_path / "srun.log").records
    assert [r.host for r in present(record.outcome).results] == ["srun-0", "srun-1"]


def test_what_other_ranks_print_is_no_run() -> None:
    lines = prefixed("[1,0]<stdout>:{}", OUTPUTS["mdtest"]).splitlines(keepends=True)
    lines.insert(4, "[1,3]<stderr>:No protocol specified\n")
    (run,) = read("mdtest", {"a": "".join(lines)}, Told("a"))
    assert [result.host for result in present(run.outcome).results] == ["a"]


def test_counters_of_hosts_in_one_log_are_read(tmp_path: Path) -> None:
    first, second = (sadf({"sda": kib}, {"eth0": kib}) for kib in (1024.0, 2048.0))
    second = second.replace("client-1", "client-2")
    (tmp_path / "pdsh.log").write_text(prefixed("n1: {}", first) + prefixed("n2: {}", second))
    (source,), _ = sources([str(tmp_path / "pdsh.log")], "UTC")
    written = {
        node: next(s.value.mean() for s in counted.series if s.channel.quantity == "disk_written")
        for node, counted in counters(source).items()
    }
    assert written == {"client-1": MIB, "client-2": 2 * MIB}


@pytest.mark.parametrize(
    "keep",
    [
        lambda reports: {"data": reports, "metadata": {"pods": 4}},
        lambda reports: reports,
        lambda reports: {"runs": {str(at): {"fio": report} for at, report in enumerate(reports)}},
    ],
    ids=["in a list of an object", "in a list", "in objects"],
)
@pytest.mark.parametrize("indent", [None, 4])
def test_reports_inside_the_json_of_another_program_are_read(keep: Any, indent: int | None) -> None:
    reports = [fio(job(write=moved(8 * MIB, 2000)), ended_ms=END_MS + 60_000 * number) for number in range(2)]
    text = json.dumps(keep([json.loads(report) for report in reports]), indent=indent)
    assert numbers(read("fio", {"a": text}, Told("a"))) == numbers(
        read("fio", {"a": "\n".join(reports)}, Told("a"))
    )
    with pytest.raises(WorkloadError, match="truncated"):
        read("fio", {"a": text[: len(text) * 3 // 4]}, Told("a"))


def test_what_an_unrecognised_file_is_shows_in_its_beginning_however_long_it_is(tmp_path: Path) -> None:
    (path := tmp_path / "disk.img").write_text("neither\n")
    os.truncate(path, untrusted.MOST_BYTES + 1)  # sparse
    assert why_not(path) == "unrecognised format"
    path.write_bytes(b"\x1f\x8b\x08")
    assert why_not(path) == "this is a compressed file: unpack it (gunzip)"


# Power logs

RECORDED = ("time=t", "value=p", "unit=W", "semantics=instantaneous", "grade=wall", "clock=unix")


@pytest.mark.parametrize(
    "prefix",
    [
        "Nov 14 22:13:20 node1 logger[12]: ",
        "2023-11-14T22:13:20.1234567Z ",
        "storage-1: ",
        "\x1b[32m",
    ],
)
def test_rows_behind_a_prefix_are_read(prefix: str, tmp_path: Path) -> None:
    plain = ["t,p", *(f"{1_700_000_000 + second},{200 + second}" for second in range(5))]
    (tmp_path / "log.txt").write_text("".join(f"{prefix}{line}\n" for line in plain))
    (read_log,) = logs(tmp_path / "log.txt", RECORDED, (), "UTC")
    assert read_log.series[0].value.tolist() == [200, 201, 202, 203, 204]


def test_rows_behind_the_prefixes_of_several_hosts_are_not(tmp_path: Path) -> None:
    lines = [f"storage-{host}: {line}\n" for line in ("t,p", "1700000000,5") for host in (1, 2)]
    (tmp_path / "log.txt").write_text("".join(lines))
    with pytest.raises(CampaignError, match="no line has the columns"):
        _ = logs(tmp_path / "log.txt", RECORDED, (), "UTC")
