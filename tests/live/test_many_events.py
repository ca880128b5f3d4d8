"""Twenty and more different events, over file systems, roles and moments: each trial is valid or says why not, twice alike."""

import re
from pathlib import Path

import pytest

from perjoule import campaign
from perjoule.execution import runner
from perjoule.results.verification import verify
from perjoule.store import create

pytestmark = [pytest.mark.live, pytest.mark.slow]

TEXT = """
name = "many"
repetitions = 1
clients = 1
seed = 1
settle = "500 ms"
quiet = "3 s"
[testbed]
kind = "virtual"
cluster = "odroid-hc4"
scale = 0.2
servers = 3
disk = "xfs"
disk_size = "4 GiB"
[[filesystem]]
kind = "moosefs"
goal = 2
[[filesystem]]
kind = "glusterfs"
hosts = 3
[[filesystem]]
kind = "cephfs"
placement_groups = 16
osd_size = "1 GiB"
[[workload]]
kind = "duty"
operation = "write"
load = "50 %"
full = "2 MiB/s"
transfer = "64 KiB"
duration = "6 s"
"""
HIT: dict[str, tuple[tuple[str, str, str], ...]] = {
    "a server dies early and comes back": (("1 s", "kill", "storage-1"), ("3 s", "back", "storage-1")),
    "a server dies late and stays away": (("5 s", "kill", "storage-3"),),
    "a link is cut and mended": (("2 s", "cut", "storage-2"), ("4 s", "back", "storage-2")),
    "disks are slow for a time": (("1500 ms", "slow", "storage-1"), ("4500 ms", "back", "storage-1")),
    "a disk fails and is replaced": (("3500 ms", "fail", "storage-2"), ("4 s", "back", "storage-2")),
    "the metadata host dies and comes back": (("2500 ms", "kill", "metadata-1"), ("3500 ms", "back", "metadata-1")),
    "one dies while another is slow": (("1 s", "slow", "storage-3"), ("2 s", "kill", "storage-1"), ("5 s", "back", "storage-1")),
}


def different() -> set[tuple[str, str, str, str]]:
    """File system, kind, host and moment of each event."""
    return {(fs, kind, host, at) for fs in ("m", "g", "c") for hit in HIT.values() for at, kind, host in hit}


def verdicts(folder: Path, hit: str) -> dict[str, tuple[str, str]]:
    """Whether each file system's trial is valid, and the reason, without its numbers, if it isn't."""
    tables = "".join(
        f'[[event]]\nat = "{at}"\nkind = "{kind}"\nhost = "{host}"\n{"factor = 10" if kind == "slow" else ""}\n'
        for at, kind, host in HIT[hit]
    )
    asked = campaign.parse(TEXT + tables)
    results = create(folder, asked.text, asked.name, asked.overrides)
    runner.run(asked, results, lambda event: None)
    records = results.latest()
    assert len(records) == 3
    for record in records:
        print(f"{hit}: {record.trial.filesystem.kind} {record.status} {record.reason}")
        assert (record.status == "valid") == (record.reason == "")
        if record.status == "valid":
            assert [one.event.kind for one in record.events] == [kind for _, kind, _ in HIT[hit]]
    assert verify(results).differences == ()
    return {record.trial.filesystem.kind: (record.status, re.sub(r"[\d.]+", "#", record.reason)) for record in records}


def test_there_are_at_least_twenty() -> None:
    assert len(different()) >= 20
    assert {kind for _, kind, _, _ in different()} == {"kill", "cut", "slow", "fail", "back"}


@pytest.mark.parametrize("hit", HIT)
def test_what_happens_to_servers_ends_twice_in_the_same_verdicts(hit: str, tmp_path: Path) -> None:
    first, second = (verdicts(tmp_path / name, hit) for name in ("first", "second"))
    assert first == second
