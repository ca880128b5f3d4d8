"""Trials on clusters that others run: refused, allowed, doubted."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perjoule.campaign import parse
from perjoule.drivers.protocols import Check, OfOthers, TellsState
from perjoule.execution import attached
from perjoule.execution.attached import ClusterWatch, doubts, moved_by_others
from perjoule.model import ClientResult, ClusterState, Outcome
from perjoule.model.doubts import SHARED, Template
from perjoule.model.errors import ClusterDegraded, WorkloadError
from perjoule.model.units import MIB
from places import TESTS
from scripted import ScriptedHost, ScriptedMount

PRINTED = TESTS / "transcripts" / "attached"
CAMPAIGN = """
name = "production"
[testbed]
kind = "{testbed}"
[[filesystem]]
kind = "directory"
path = "{path}"
{table}
[[workload]]
kind = "fio"
operation = "write"
size = "64 MiB"
"""
TABLE = 'ceph = {keyring = "/home/me/keyring", pool = "cephfs_data"}'
WHOLE = ClusterState(
    asked_s=1.0,
    version="16.2.15",
    redundancy=None,
    health="HEALTH_OK",
    lacks="",
    parts={"osd.0": "up"},
    written_bytes=0,
    read_bytes=0,
)


def loaded(write: int = 0, read: int = 0) -> Outcome:
    results = (
        ClientResult("client-1", "write", 1.0, 2.0, write, 1),
        ClientResult("client-1", "read", 1.0, 2.0, read, 1),
    )
    return Outcome("fio", results)


def ids(before: ClusterState, after: ClusterState, outcome: Outcome) -> list[str]:
    return [doubt.id for doubt in doubts(before, after, outcome)]


def test_a_whole_cluster_with_the_loads_own_bytes_is_not_doubted() -> None:
    after = replace(WHOLE, written_bytes=101 * MIB, read_bytes=3 * MIB)
    assert ids(WHOLE, after, loaded(write=100 * MIB, read=4 * MIB)) == []


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"lacks": "osd.0 down"}, {"lacks": "osd.0 down"}, [SHARED.degraded]),
        ({}, {"lacks": "osd.0 down"}, [SHARED.health_changed]),
        ({"lacks": "osd.0 down"}, {}, [SHARED.degraded, SHARED.health_changed]),
        ({}, {"parts": {"osd.0": "down"}}, [SHARED.changed]),
        ({}, {"parts": {"osd.0": "up", "osd.1": "up"}}, [SHARED.changed]),
        ({"work": "scrub"}, {}, [SHARED.working]),
        ({}, {"written_bytes": 110 * MIB}, [SHARED.others]),
        ({}, {"read_bytes": 10 * MIB}, [SHARED.others]),
        ({}, {"written_bytes": None}, [SHARED.others_unknown]),
        ({"written_bytes": 5}, {"written_bytes": 4}, [SHARED.others_unknown]),  # a pool was removed
    ],
)
def test_each_difference_is_doubted_by_its_id(
    before: dict[str, Any], after: dict[str, Any], found: list[Template[...]]
) -> None:
    made = replace(WHOLE, **{"written_bytes": 100 * MIB, **after})
    assert ids(replace(WHOLE, **before), made, loaded(write=100 * MIB)) == [template.id for template in found]


def test_the_share_of_others_is_of_all_bytes_in_both_directions() -> None:
    after = replace(WHOLE, written_bytes=150 * MIB, read_bytes=50 * MIB)
    assert moved_by_others(WHOLE, after, loaded(write=100 * MIB)) == 100 * MIB
    (doubt,) = doubts(WHOLE, after, loaded(write=100 * MIB))
    assert doubt.values == {"others_bytes": 100 * MIB, "share_ratio": 0.5}
    assert "other clients moved 100 MiB meanwhile, 50 % of all" in doubt


@pytest.mark.parametrize(
    ("read_mib", "checked", "others_mib"),
    [(100, True, 0), (99, True, 0), (150, True, 50), (100, False, 100), (40, True, 40), (0, True, 0)],
)
def test_what_a_load_wrote_and_read_back_is_not_taken_for_others_reads(
    read_mib: int, checked: bool, others_mib: int
) -> None:
    after = replace(WHOLE, written_bytes=100 * MIB, read_bytes=read_mib * MIB)
    ours = loaded(write=100 * MIB)
    assert moved_by_others(WHOLE, after, ours, checked=checked) == others_mib * MIB
    expected = [SHARED.others.id] if others_mib else []
    assert [doubt.id for doubt in doubts(WHOLE, after, ours, checked=checked)] == expected


class Foreign(ScriptedMount, TellsState):
    """A mount whose cluster says these states, one after the other."""

    def __init__(self, *states: ClusterState | WorkloadError, while_degraded: bool = False) -> None:
        super().__init__(ScriptedHost())
        self.states, self.while_degraded, self.late_s = list(states), while_degraded, 3.0

    def state(self) -> ClusterState:
        state = self.states.pop(0)
        if isinstance(state, WorkloadError):
            raise state
        return state


def test_a_trial_on_a_degraded_cluster_is_refused_unless_the_campaign_allows_it() -> None:
    degraded = replace(WHOLE, lacks="osd.0 of 6 OSDs down")
    with pytest.raises(ClusterDegraded, match=r"osd\.0 of 6 OSDs down"):
        ClusterWatch(Foreign(degraded)).require_whole()
    ClusterWatch(Foreign(degraded, while_degraded=True)).require_whole()
    with pytest.raises(WorkloadError, match="no answer"):
        ClusterWatch(Foreign(WorkloadError("no answer"), while_degraded=True)).require_whole()


def test_counts_that_lag_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(attached.time, "sleep", slept.append)
    monkeypatch.setattr(attached.time, "monotonic", lambda: 12.0)
    for prepared, began_s in ((True, 3.0), (False, 0.0)):
        watch = ClusterWatch(Foreign(WHOLE, WHOLE))
        watch.begin(prepared=prepared)
        assert watch.end(loaded(), quiet_since_s=10.0) == []
        assert watch.states == (WHOLE, WHOLE)
        assert slept == [began_s, 1.0]
        slept.clear()


def test_a_cluster_that_does_not_answer_after_the_load_is_doubted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attached.time, "sleep", lambda _: None)
    watch = ClusterWatch(Foreign(WHOLE, WorkloadError("no answer")))
    watch.begin(prepared=False)
    assert [doubt.id for doubt in watch.end(loaded(), 0.0)] == [SHARED.state_unknown.id]


class Unwatched(ScriptedMount, OfOthers):
    """A mount of a cluster that others run."""

    unwatched = "fuse.ceph-fuse"


def test_a_mount_of_a_cluster_that_nothing_asks_is_doubted_and_one_of_ours_is_not() -> None:
    ours, theirs = ScriptedMount(ScriptedHost()), Unwatched(ScriptedHost())
    assert ClusterWatch(ours).end(loaded(), 0.0) == []
    (doubt,) = ClusterWatch(theirs).end(loaded(), 0.0)
    assert (doubt.id, doubt.disqualifies) == (SHARED.unwatched.id, False)


def test_counts_that_leave_the_loading_hosts_out_are_others_alone() -> None:
    before = replace(WHOLE, of_others=True)
    after = replace(before, written_bytes=100 * MIB)
    assert moved_by_others(before, after, loaded(write=100 * MIB)) == 100 * MIB


@pytest.fixture
def printing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return what has a `ceph` on the PATH print an answer of the transcripts, and do nothing else."""
    program = tmp_path / "bin" / "ceph"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    def prints(name: str) -> None:
        program.write_text(f"#!/bin/sh\ncat {PRINTED / name}\n")
        program.chmod(0o755)

    return prints


def before(path: Path, table: str = TABLE, testbed: str = "local") -> tuple[Check, ...]:
    return attached.beforehand(parse(CAMPAIGN.format(path=path, table=table, testbed=testbed)))


def test_a_whole_cluster_says_beforehand_what_it_is(printing: Callable[[str], None], tmp_path: Path) -> None:
    printing("ceph-healthy.txt")
    (check,) = before(tmp_path)
    assert (check.name, check.ok) == ("cluster of directory", True)
    assert check.detail.startswith("HEALTH_OK; ceph version 16.2.15 ") and "2 copies" in check.detail
    assert [path.name for path in tmp_path.iterdir()] == ["bin"], "nothing is written to the folder"


@pytest.mark.parametrize("allowed", [False, True])
def test_a_degraded_cluster_is_refused_beforehand_unless_the_campaign_allows_it(
    allowed: bool, printing: Callable[[str], None], tmp_path: Path
) -> None:
    printing("ceph-osd-down.txt")
    (check,) = before(tmp_path, TABLE.replace("}", ", while_degraded = true}") if allowed else TABLE)
    assert (check.ok, check.needed) == (False, not allowed)
    assert check.detail.startswith("osd.0 of 6 OSDs down; ") and "HEALTH_WARN" in check.detail
    assert "while_degraded = true" in check.fix


def test_a_cluster_that_does_not_answer_says_why(printing: Callable[[str], None], tmp_path: Path) -> None:
    printing("moosefs.txt")
    (check,) = before(tmp_path)
    assert (check.ok, check.needed) == (False, True)
    assert "ceph did not tell its state" in check.detail and "status` must work" in check.fix


def test_only_named_clusters_and_clients_that_stand_ready_are_asked(
    printing: Callable[[str], None], tmp_path: Path
) -> None:
    printing("ceph-osd-down.txt")
    assert before(tmp_path, table="") == ()
    assert before(tmp_path, testbed="virtual") == ()
    assert before(tmp_path / "not-there") == (), "another check says that the folder is not there"


LFS = f"""#!/bin/sh
case $1 in
osts) printf '1: DIAS-OST0001_UUID ACTIVE\\n2: DIAS-OST0002_UUID ACTIVE\\n3: DIAS-OST0003_UUID ACTIVE\\n' ;;
mdts) echo '0: DIAS-MDT0000_UUID ACTIVE' ;;
df) grep -v "$GONE" {PRINTED / "lustre-df.txt"}; test "$GONE" = none ;;
getstripe) echo 'stripe_count:  1 stripe_size:   1048576 pattern:       raid0 stripe_offset: -1' ;;
--version) echo 'lfs 2.15.3' ;;
esac
"""


@pytest.mark.parametrize(
    ("gone", "detail"),
    [
        ("none", "whole; Lustre 2.15.3; 1 copy"),
        ("OST0002", "DIAS-OST0002: no answer; degraded; Lustre 2.15.3; 1 copy"),
    ],
)
def test_a_lustre_says_beforehand_what_it_is_by_its_clients_tool(
    gone: str, detail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "lfs"
    program.parent.mkdir()
    program.write_text(LFS)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("GONE", gone)
    (check,) = before(tmp_path, table="lustre = {}")
    assert (check.ok, check.needed, check.detail) == (gone == "none", True, detail)
