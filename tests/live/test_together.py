"""Several users at once, and growth with storage hosts, for real: fio on MooseFS on virtual hosts, from
campaigns to tables.
"""

from pathlib import Path

import pytest

from perjoule import campaign
from perjoule.execution import runner
from perjoule.measures.points import points
from perjoule.model.units import MIB
from perjoule.results.verification import verify
from perjoule.statistics.scaling import scaling
from perjoule.statistics.users import mixes
from perjoule.store import Results, create, open_results
from perjoule.summary import summary

pytestmark = pytest.mark.live

HOSTS = """
repetitions = 1
clients = [2]
settle = "300 ms"
quiet = 0
[testbed]
kind = "virtual"
disk = "directory"
cpu_cap = false
[[filesystem]]
kind = "moosefs"
label = "MooseFS"
"""
USERS = """
[[workload]]
label = "mix"
only = ["", "reader", "writer"]
window = "2 s"
together = [
    {user = "reader", kind = "fio", operation = "read", transfer = "1 MiB", size = "32 MiB", clients = [1, 2]},
    {user = "writer", kind = "fio", operation = "write", size = "16 MiB", clients = [2], arrival = "every 1 s"},
]
"""
FIO = '[[workload]]\nkind = "fio"\nsize = "32 MiB"\n'


def measured(folder: Path, text: str) -> Results:
    wanted = campaign.parse(text)
    results = create(folder / "results", wanted.text, wanted.name, wanted.overrides)
    runner.run(wanted, results, lambda event: None)
    return open_results(folder / "results")


@pytest.mark.alone  # two starts are held against the second between them
def test_a_reader_and_a_writer_share_a_client_and_each_is_held_against_itself_alone(tmp_path: Path) -> None:
    results = measured(tmp_path, HOSTS + USERS)
    records = {record.trial.workload.label: record for record in results.latest()}
    assert [record.reason for record in records.values()] == [""] * 3
    outcome = records["mix"].outcome
    assert outcome is not None
    assert [(r.user, r.host, r.direction, r.moved_bytes // MIB) for r in outcome.results] == [
        ("reader", "client-1", "read", 32),
        ("reader", "client-2", "read", 32),
        ("writer", "client-2", "write", 16),
        ("writer", "client-2", "write", 16),
    ]
    writes = [r for r in outcome.results if r.user == "writer"]
    assert writes[1].began_s - writes[0].began_s == pytest.approx(1, abs=0.5)
    (mix,) = mixes([point for record in records.values() for point in points(record, results.series(record))])
    assert [user.name for user in mix.users] == ["reader", "writer"]
    assert all(user.slowdown is not None and 0.1 < user.slowdown.mean < 50 for user in mix.users)
    assert {cell.workload: cell.direction for cell in summary(results).cells} == {
        "mix": "mixed",
        "mix reader": "read",
        "mix writer": "write",
    }
    assert verify(results).differences == ()


@pytest.mark.slow  # by day: one and two servers over SSH: test_cluster.py
def test_a_campaign_has_two_servers_and_then_four(tmp_path: Path) -> None:
    results = measured(tmp_path, f"servers = [2, 4]{HOSTS}{FIO}")
    assert {
        (r.status, r.trial.filesystem.label, sum(h.role == "storage" for h in r.hosts))
        for r in results.latest()
    } == {
        ("valid", "MooseFS, 2 servers", 2),
        ("valid", "MooseFS, 4 servers", 4),
    }
    found = {one.metric: one for one in scaling(summary(results).cells)}
    rate = found["throughput_bytes_per_s"]
    assert (rate.filesystem, list(rate.values), rate.laws) == ("MooseFS", [2, 4], ())
    assert rate.refused[0] == "no power law: 2 numbers of storage hosts, but it needs 3"
    assert verify(results).differences == ()
