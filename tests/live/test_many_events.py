"""Twenty different events in one campaign, twice: its trials are valid or say why not, with the same
verdict both times.
"""

import re
from pathlib import Path

import pytest

from perjoule import campaign
from perjoule.execution import runner
from perjoule.model import Record
from perjoule.results.verification import verify
from perjoule.store import Results, create

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.alone]

TEXT = """
name = "many"
repetitions = 1
clients = 1
seed = 1
settle = "200 ms"
quiet = "2 s"
[testbed]
kind = "virtual"
cluster = "odroid-hc4"
scale = 0.3
servers = 3
disk = "xfs"
disk_size = "4 GiB"
[[filesystem]]
{filesystem}
[[workload]]
kind = "duty"
operation = "write"
load = "50 %"
full = "1 MiB/s"
transfer = "64 KiB"
duration = "{duration}"
"""
# Kind, host, and for "slow" the factor, with the time since the event before. One server at a time is away,
# so that the data stay within reach whatever has healed by then.
MOOSEFS = """
1 slow storage-1 3; 1 kill storage-2; 1 back storage-2; 0.5 back storage-1; 0.5 cut storage-3; 1 back storage-3; 0.5 snapshot;
0.5 slow storage-2 100; 1 back storage-2; 0.2 kill metadata-1; 1 back metadata-1; 2.5 fail storage-1; 2 back storage-1;
1.5 snapshot; 0.3 slow storage-3 5; 0.3 kill storage-3; 2 back storage-3; 1.5 cut storage-2; 2 back storage-2; 1 kill storage-1
"""
GLUSTERFS = """
1 slow storage-1 3; 1 kill storage-2; 1 back storage-2; 0.5 back storage-1; 0.5 slow storage-3 10; 1 back storage-3;
0.5 cut storage-2; 0.5 back storage-2; 0.5 slow metadata-1 2; 0.3 slow storage-2 100; 0.5 kill storage-2; 1 back storage-2;
0.2 back metadata-1; 0.5 slow storage-1 50; 0.5 slow storage-3 5; 0.5 back storage-1; 1 cut storage-2; 1 back storage-2;
0.5 fail storage-2; 2 back storage-2
"""
CEPHFS = """
1 slow storage-1 3; 1 snapshot; 1 kill storage-2; 2 back storage-2; 0.5 back storage-1; 1 cut storage-3; 2 back storage-3;
0.5 snapshot; 0.5 slow storage-2 100; 1 back storage-2; 0.5 slow metadata-1 2; 0.5 kill storage-1; 2 back storage-1;
0.5 back metadata-1; 1 slow storage-3 10; 0.5 fail storage-3; 3 back storage-3; 0.5 scrub; 1 snapshot; 1 slow storage-1 7
"""
FILESYSTEMS = {
    "moosefs": ('kind = "moosefs"\ngoal = 2', MOOSEFS, "24 s"),
    "glusterfs": ('kind = "glusterfs"\nhosts = 3', GLUSTERFS, "16 s"),
    "cephfs": ('kind = "cephfs"\nplacement_groups = 16\nosd_size = "1 GiB"', CEPHFS, "24 s"),
}


def tables(text: str) -> tuple[str, list[tuple[str, ...]]]:
    """The [[event]] tables, and each event as what distinguishes it from others."""
    at_s, made, different = 0.0, "", list[tuple[str, ...]]()
    for after, kind, *rest in (one.split() for one in text.split(";")):
        at_s += float(after)
        made += f'[[event]]\nat = "{at_s:g} s"\nkind = "{kind}"\n'
        made += f'host = "{rest[0]}"\n' if rest else ""
        made += f"factor = {rest[1]}\n" if rest[1:] else ""
        different.append((f"{at_s:g}", kind, *rest))
    return made, different


def measured(folder: Path, name: str) -> tuple[Results, Record]:
    """Run the campaign of a file system in a new folder."""
    filesystem, events, duration = FILESYSTEMS[name]
    asked = campaign.parse(TEXT.format(filesystem=filesystem, duration=duration) + tables(events)[0])
    results = create(folder, asked.text, asked.name, asked.overrides)
    runner.run(asked, results, lambda event: None)
    (record,) = results.latest()
    return results, record


def verdict(folder: Path, name: str) -> tuple[str, str, list[str]]:
    """Status and reason of the trial, without numbers, and what happened to its servers."""
    results, record = measured(folder, name)
    print(
        name,
        record.status,
        record.reason,
        [(one.event.text, round(one.late_s, 3)) for one in record.events],
        record.doubts,
    )
    assert (record.status == "valid") == (record.reason == "")
    assert verify(results).differences == ()
    return record.status, re.sub(r"[\d.]+", "#", record.reason), [one.event.text for one in record.events]


@pytest.mark.parametrize("name", FILESYSTEMS)
def test_twenty_different_events_end_twice_in_the_same_verdict(name: str, tmp_path: Path) -> None:
    different = tables(FILESYSTEMS[name][1])[1]
    assert len(different) == len(set(different)) == 20
    first, second = (verdict(tmp_path / folder, name) for folder in ("first", "second"))
    assert first == second
    assert first[0] == "failed" or len(first[2]) == 20
