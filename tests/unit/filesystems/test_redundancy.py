from dataclasses import replace

import pytest

from perjoule import campaign, store
from perjoule.execution import runner
from perjoule.figures.clients import filesystems
from perjoule.filesystems.beegfs import BeeGFS
from perjoule.filesystems.cephfs import CephFs
from perjoule.filesystems.directory import Directory
from perjoule.filesystems.glusterfs import GlusterFS
from perjoule.filesystems.local import LocalFileSystem
from perjoule.filesystems.moosefs import MooseFS
from perjoule.filesystems.orangefs import OrangeFS
from perjoule.filesystems.rados import Rados
from perjoule.model import Redundancy
from perjoule.results.table import table
from perjoule.statistics.cells import cells
from perjoule.store.records import record_from, record_text
from perjoule.testbeds.simulated import SimulatedTestbed
from readings import point_of
from typed import as_written


@pytest.mark.parametrize(
    ("filesystem", "sentence"),
    [
        (MooseFS(), "1 copy, acknowledged in memory, no storage hosts may fail"),
        (MooseFS(goal=2), "2 copies, acknowledged in memory, 1 storage host may fail"),
        (as_written(GlusterFS, redundancy=1), "4+1, acknowledged on disk, 1 storage host may fail"),
        (as_written(GlusterFS, redundancy=2), "3+2, acknowledged on disk, 2 storage hosts may fail"),
        (
            as_written(GlusterFS, layout="replicated", replicas=2, hosts=4),
            "2 copies, acknowledged on disk, 1 storage host may fail",
        ),
        (
            as_written(GlusterFS, layout="arbiter", hosts=3),
            "2 copies, acknowledged on disk, 1 storage host may fail",
        ),
        (GlusterFS(layout="distributed"), "1 copy, acknowledged on disk, no storage hosts may fail"),
        (as_written(CephFs, copies=2), "2 copies, acknowledged on disk, 1 storage host may fail"),
        (CephFs(erasure="2+1"), "2+1, acknowledged on disk, 1 storage host may fail"),
        (
            as_written(CephFs, copies=2, store="memstore"),
            "2 copies, acknowledged in memory, 1 storage host may fail",
        ),
        (as_written(Rados, copies=3), "3 copies, acknowledged on disk, 2 storage hosts may fail"),
        (OrangeFS(), "1 copy, acknowledged in memory, no storage hosts may fail"),
        (OrangeFS(sync_data=True), "1 copy, acknowledged on disk, no storage hosts may fail"),
        (OrangeFS(client="kernel"), "1 copy, acknowledged on disk, no storage hosts may fail"),
        (
            OrangeFS(sync_data=True, trove="directio"),
            "1 copy, acknowledged in memory, no storage hosts may fail",
        ),
        (
            OrangeFS(client="kernel", trove="directio"),
            "1 copy, acknowledged in memory, no storage hosts may fail",
        ),
        (BeeGFS(mirror=True), "2 copies, acknowledged on disk, 1 storage host may fail"),
        (LocalFileSystem(type="xfs"), "1 copy, acknowledged on disk, no storage hosts may fail"),
    ],
)
def test_a_file_system_states_how_often_data_lie_there_and_how_many_hosts_may_fail(
    filesystem, sentence
) -> None:
    with SimulatedTestbed().hold(1) as hosts:
        assert filesystem.redundancy(hosts).sentence == sentence


def test_what_lies_behind_a_folder_is_not_known(tmp_path) -> None:
    with SimulatedTestbed().hold(1) as hosts:
        assert Directory(path=tmp_path).redundancy(hosts) is None


def test_mirrored_disks_beneath_stand_beside_the_copies() -> None:
    assert Redundancy(2, beneath_count=2).text == "2 copies, mirrored disks"


def test_a_record_keeps_it_and_one_written_before_reads_without(made) -> None:
    kept = replace(made.record(), redundancy=Redundancy(data_count=4, parity_count=1, acknowledged="on disk"))
    assert record_from(record_text(kept)).redundancy == kept.redundancy
    before = record_text(kept).partition(' "redundancy"')[0].rstrip().rstrip(",") + "\n}"
    assert record_from(before).redundancy is None


def test_tables_and_legends_say_it_beside_the_name(made) -> None:
    kept = Redundancy(2, acknowledged="on disk")
    records = [replace(made.record(made.trial(repetition=n)), redundancy=kept) for n in (1, 2)]
    found = cells(
        records,
        [point_of(r.trial, "write", {"throughput_bytes_per_s": 1e6, "duration_s": 1.0}) for r in records],
    )
    laid = table(found)
    assert dict(zip(laid.headers, laid.rows[0], strict=True))["redundancy"] == "2 copies"
    assert filesystems(found) == ["moosefs (2 copies)"]


def test_results_without_it_have_no_such_column(made) -> None:
    found = cells(
        [made.record()], [point_of(made.trial(), "write", {"throughput_bytes_per_s": 1e6, "duration_s": 1.0})]
    )
    assert "redundancy" not in table(found).headers
    assert filesystems(found) == ["moosefs"]


def test_repetitions_that_differ_in_it_are_doubted(made) -> None:
    records = [replace(made.record(made.trial(repetition=n)), redundancy=Redundancy(n)) for n in (1, 2)]
    (cell,) = cells(records, [point_of(r.trial, "write", {"duration_s": 1.0}) for r in records])
    assert cell.redundancy is None
    assert cell.doubts == ("repetitions differ in redundancy (1 copy; 2 copies)",)


def test_a_run_stores_what_the_file_system_states(tmp_path) -> None:
    asked = campaign.parse("""
name = "kept"
repetitions = 1
settle = "0.05 s"
quiet = 0
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
copies = 3
[[workload]]
kind = "simulated"
size = "1 MiB"
""")
    results = store.create(tmp_path / "kept", asked.text, asked.name, asked.overrides)
    runner.run(asked, results, lambda event: None)
    (record,) = results.latest()
    assert record.redundancy == Redundancy(3)
