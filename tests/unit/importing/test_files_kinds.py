"""Kinds of files: encodings, text around JSON, damaged ones beside others, and many."""

import bz2
import gzip
import json
import lzma
import os
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from perjoule import importing
from perjoule.importing.power import logs
from perjoule.importing.runs import ran_at_once
from perjoule.importing.sources import sources
from perjoule.model.doubts import APART
from perjoule.model.errors import CampaignError, WorkloadError
from perjoule.model.units import MIB
from perjoule.results import verification
from perjoule.workloads.imported import Told, read
from places import TRANSCRIPTS
from typed import present
from unit.importing.foreign import POWER, fio, ior, job, mdtest, moved

REPORT = fio(job(write=moved(8 * MIB, 2000)))
RADOS = (TRANSCRIPTS / "imported/rados/write.json").read_text()
ROWS = [("write", "128.00", "8.00")]


def bring(tmp_path: Path, *words: object) -> importing.Brought:
    found, _ = sources([str(word) for word in words], "UTC")
    return importing.bring(importing.create(tmp_path / "results"), found)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "text",
    [
        REPORT,
        RADOS,
        ior(("Fri Nov 27 17:00:00 2026", "", ROWS)),
        mdtest("4.0.0", "File creation 9 9 9 0.000"),
    ],
    ids=["fio", "rados", "ior", "mdtest"],
)
def test_a_file_is_read_in_the_encoding_that_it_has_and_verifies(
    encoding: str, newline: str, text: str, tmp_path: Path
) -> None:
    path = tmp_path / "client-1.txt"
    path.write_bytes(text.replace("\n", newline).encode(encoding))
    (record,) = bring(tmp_path, path).records
    assert present(record.outcome)
    assert verification.verify(importing.create(tmp_path / "results")).differences == ()


def test_a_cut_file_of_a_folder_is_left_out_by_name_and_doubted(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "client-1.json").write_text(REPORT)
    (folder / "client-2.json").write_text(REPORT[:400])
    brought = bring(tmp_path, folder)
    (record,) = brought.records
    assert [(path.name, "truncated" in fault) for path, fault in brought.unread] == [("client-2.json", True)]
    assert any("client-2.json can't be read and was left out" in doubt for doubt in record.doubts)


def test_a_cut_file_alone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(REPORT[:400])
    with pytest.raises(WorkloadError, match=r"a\.json: .*truncated"):
        bring(tmp_path, tmp_path / "a.json")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("hints = 1\n", ""),
        ("auth: unable to find a keyring on /etc/{client.admin}.keyring\nhints = 1\n", ""),
        (
            "Maintaining 16 concurrent writes\nObject prefix: benchmark_data_x_1\n",
            "Cleaning up\nRemoved 184 objects\n",
        ),
        ("", "Clean up completed and total clean up time :3.25\n"),
    ],
)
def test_text_around_the_json_of_rados_bench_is_skipped(before: str, after: str) -> None:
    report = RADOS[RADOS.index("{") :]
    (run,) = read("rados", {"a": f"{before}{report}\n{after}"}, Told("a", ended_s=1000.0))
    assert present(run.outcome).results[0].moved_bytes == 4107 * 65536


def test_rados_bench_ended_before_it_removed_its_objects() -> None:
    report = RADOS[RADOS.index("{") :]
    texts = ("", "Removed 184 objects\nClean up completed and total clean up time :3.25\n")
    moved = [
        present(read("rados", {"a": f"{report}\n{text}"}, Told("a", ended_s=1000.0))[0].outcome)
        for text in texts
    ]
    assert [outcome.ended_s for outcome in moved] == [1000.0, 996.75]
    assert ["removed its objects" in outcome.doubts[0] for outcome in moved] == [True, False]


def test_rados_bench_of_old_spells_a_latency_with_a_colon() -> None:
    report = RADOS[RADOS.index("{") :].replace('"max_latency"', '"max_latency:"')
    (run,) = read("rados", {"a": report}, Told("a", ended_s=1000.0))
    assert present(run.outcome).results[0].latency_s["max"] == 0.015943


def test_a_rados_bench_that_contradicts_its_bandwidth_is_refused() -> None:
    report = json.loads(RADOS[RADOS.index("{") :])
    report["write_size"] = str(int(report["write_size"]) // 1024)
    with pytest.raises(WorkloadError, match="MiB/s, and its bandwidth is"):
        read("rados", {"a": json.dumps(report)}, Told("a", ended_s=1000.0))


@pytest.mark.parametrize(("packer", "tool"), [(gzip, "gunzip"), (bz2, "bunzip2"), (lzma, "unxz")])
def test_a_compressed_file_is_called_one(packer: Any, tool: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(packer.compress(REPORT.encode()))
    (tmp_path / "a.csv").write_bytes(packer.compress(b"t,w\n1795000000,40\n"))
    with pytest.raises(CampaignError, match=rf"compressed file: unpack it \({tool}\)"):
        sources([str(tmp_path / "a.json")], "UTC")
    for declared in (POWER, ()):
        with pytest.raises(CampaignError, match=rf"the log is a compressed file; unpack it \({tool}\)"):
            logs(tmp_path / "a.csv", declared, (), "UTC")


def test_an_archive_is_not_read_as_what_lies_in_it(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name in ("a.json", "b.json"):
            (tmp_path / name).write_text(REPORT)
            archive.add(tmp_path / name)
    with pytest.raises(CampaignError, match=r"this is an archive: unpack it \(tar\)"):
        sources([str(tmp_path / "a.tar")], "UTC")


@pytest.mark.parametrize(
    "names", [("[Content_Types].xml", "xl/workbook.xml"), ("_rels/.rels", "xl/workbook.xml"), ("mimetype",)]
)
def test_a_spreadsheet_is_called_one(names: tuple[str, ...], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.csv", "w") as sheet:
        for name in names:
            sheet.writestr(name, "application/vnd.oasis.opendocument.spreadsheet")
    with pytest.raises(CampaignError, match="this is a spreadsheet: save it as CSV"):
        sources([str(tmp_path / "a.csv")], "UTC")
    with pytest.raises(CampaignError, match="the log is a spreadsheet; save it as CSV"):
        logs(tmp_path / "a.csv", POWER, (), "UTC")


def test_a_pipe_that_is_named_is_called_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CampaignError, match="it is a pipe or a device, not a file"):
        sources([str(tmp_path / "pipe")], "UTC")


def test_two_rados_benches_in_a_file_are_refused() -> None:
    with pytest.raises(WorkloadError, match="several runs and no times: give each a file"):
        read("rados", {"a": RADOS + "\n" + RADOS}, Told("a", ended_s=1000.0))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            "hints = 1\n  sec Cur ops   started  finished  avg MB/s  cur MB/s last lat(s)  avg lat(s)\n",
            "the text of rados bench",
        ),
        ("fio-3.33\nStarting 1 process\n", "the text of fio"),
        ("3;fio-3.33;j;0;0;\n", "fio's terse output"),
        ("2;seq read;0;0;5134336;127;10000;\n", "fio's terse output"),
        ("a seq read: (groupid=0, jobs=1): err= 0: pid=1: Fri Nov 27\n", "the text of fio"),
        ("500, 20480, 1, 4096, 0\n1000, 19456, 1, 4096, 0\n", "a log of fio's"),
        ("500, 1, 4096, 0, 0, 7, 12, 3\n", "a log of fio's"),  # with histograms
        ("Linux 6.1 (a)  11/27/26  _x86_64_  (4 CPU)\n\navg-cpu:  %user\n", "the text of iostat"),
        ("Linux 6.1 (a)  11/27/26  _x86_64_  (4 CPU)\n\n12:00:01 AM CPU %user\n", "the text of sar"),
        ("# hostname;interval;timestamp;CPU;%user\nn1;10;2024-01-15 12:08:10 UTC;-1;0.5\n", "sysstat's CSV"),
        ("procs -----------memory---------- ---swap--\n r  b   swpd   free\n", "the text of vmstat"),
        ("n1\t10\t1705320490\tall\t%user\t0.5\n", "sysstat's rows for databases"),
        ("\tIozone: Performance Test of File I/O\n\t        Version 3.489\n", "the text of IOzone"),
        (
            "1+0 records in\n1+0 records out\n1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n",
            "the text of dd",
        ),
        ("access,bw(MiB/s),IOPS,Latency,block(KiB)\nwrite,2004.5,8018,0.1,1024\n", "IOR's CSV"),
        ("just notes\n", "unrecognised format"),
    ],
)
def test_a_format_that_can_t_be_read_is_named(text: str, named: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(CampaignError, match=named):
        sources([str(tmp_path / "a.txt")], "UTC")


@pytest.mark.parametrize(
    ("text", "option"),
    [
        (fio(job(write=moved(MIB, 2000), options={"rw": "write", "http_s3_key": "k3y"})), "http_s3_key"),
        (
            ior(("Fri Nov 27 17:00:00 2026", "", ROWS)).replace(
                "ior -f script", "ior -a S3-libs3 --S3-libs3.secret-key=k3y"
            ),
            "--S3-libs3.secret-key",
        ),
        (
            mdtest("4.0.0", "File creation 9 9 9 0.000", options="'--S3-libs3.secret-key' 'k3y'"),
            "--S3-libs3.secret-key",
        ),
    ],
    ids=["fio", "ior", "mdtest"],
)
def test_a_key_of_an_object_store_is_not_brought_into_results(text: str, option: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(WorkloadError, match=option) as caught:
        bring(tmp_path, tmp_path / "a.txt")
    assert "k3y" not in str(caught.value)


def test_a_key_that_is_empty_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(
        fio(job(write=moved(MIB, 2000), options={"rw": "write", "http_s3_key": ""}))
    )
    assert bring(tmp_path, tmp_path / "a.txt").records[0].outcome


@pytest.mark.parametrize(
    ("format", "second_s", "at_once"),
    [
        ("fio", (0.2, 1.2), True),
        ("fio", (0.6, 1.6), False),
        ("mdtest", (0.2, 1.2), False),  # whose times are whole seconds
        ("mdtest", (0.6, 9.0), False),
    ],
)
def test_runs_at_once_overlap_by_more_than_the_rounding_of_their_times(
    format: str, second_s: tuple[float, float], *, at_once: bool
) -> None:
    assert ran_at_once(format, (0.0, 1.0), second_s) == at_once
    assert ran_at_once(format, (0.0, 100.0), (2.0, 90.0))


def test_a_client_that_ran_a_short_load_twice_at_once_is_doubted(tmp_path: Path) -> None:
    for folder, later_ms in (("1", 0), ("2", 100)):
        (tmp_path / folder).mkdir()
        text = fio(job(write=moved(8 * MIB, 1000)), ended_ms=1_795_000_000_000 + later_ms)
        (tmp_path / folder / "a.json").write_text(text)
    bring(tmp_path, tmp_path / "1/a.json")
    (record,) = bring(tmp_path, tmp_path / "2/a.json").records
    assert APART.same_load_elsewhere.id in [doubt.id for doubt in record.doubts]


def test_many_clients_one_after_another_have_few_doubts_each(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for number in range(40):
        text = fio(job(write=moved(8 * MIB, 2000)), ended_ms=1_795_000_000_000 + 30_000 * number)
        (folder / f"client-{number:02}.json").write_text(text)
    records = bring(tmp_path, folder).records
    assert len(records) == 40
    assert [record.trial.repetition for record in records] == list(range(1, 41))
    doubts = [[doubt for doubt in record.doubts if "their clocks differ" in doubt] for record in records]
    assert {len(own) for own in doubts[1:-1]} == {2}
    assert "client-18 ran the same load 30 s before" in doubts[19][0]


def test_a_log_that_many_trials_share_is_on_the_disk_once_and_each_verifies(tmp_path: Path) -> None:
    folder, log = tmp_path / "run", tmp_path / "power.csv"
    folder.mkdir()
    for number in range(3):
        text = fio(job(write=moved(8 * MIB, 2000)), ended_ms=1_795_000_000_000 + 30_000 * number)
        (folder / f"run-{number}.json").write_text(text)
    log.write_text("t,w\n" + "".join(f"{1_794_999_980 + t},40\n" for t in range(120)))
    results = importing.create(tmp_path / "results")
    found, _ = sources([f"client-1={path}" for path in sorted(folder.iterdir())], "UTC")
    importing.bring(results, found, logs(log, POWER, (), "UTC"))
    copies = list(results.folder.rglob("power.csv"))
    assert (len(copies), len({path.stat().st_ino for path in copies})) == (3, 1)
    assert {path.read_bytes() for path in copies} == {log.read_bytes()}
    assert verification.verify(results).differences == ()


def test_files_are_found_by_what_they_are_in_any_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(json.loads(REPORT)), encoding="utf-16")
    os.mkfifo(tmp_path / "pipe")
    found, strange = sources([str(tmp_path)], "UTC")
    assert ([source.format for source in found], strange) == (["fio"], ())
