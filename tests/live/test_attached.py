"""A cluster that perjoule did not bring up for the campaign, measured by a user without root through a folder."""

import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from attached import Folder, asked, ceph_folder, other_folder
from perjoule.drivers.protocols import Completed, Killable, Process, able
from perjoule.model import Json
from perjoule.model.doubts import SHARED

pytestmark = pytest.mark.live
WHOLE_S = 15.0  # of a campaign with a load of seconds, most of it Ceph's counts of bytes, which come late
LOAD = 'kind = "fio"\noperation = "write"\nsize = "{size}"\ntransfer = "1 MiB"\nduration = "{duration}"'


def load(*, size: str = "8 MiB", duration: str = "20 s") -> str:
    return LOAD.format(size=size, duration=duration)


def measured(there: Folder, name: str, code: int = 0, more: str = "") -> tuple[dict[str, Any], Completed]:
    """Run a campaign and return its one record; `more` is added to the table of the cluster."""
    campaign = there.campaign(name, load(), there.filesystem.replace("}", f"{more}}}"))
    (record,), done = there.ran(name, campaign, code)
    return record, done


def begun(there: Folder, name: str, **changed: str) -> Process:
    """Start a campaign, and wait until its load writes."""
    process = there.started(name, there.campaign(name, load(**changed)))
    until_s = time.monotonic() + 60
    while not there.listed("-type", "f", "-size", "+0"):
        assert process.returncode is None, process.output()
        assert time.monotonic() < until_s, process.output()
        time.sleep(0.05)
    return process


def doubted(record: dict[str, Any]) -> dict[str, str]:
    """The doubts about the cluster, by id."""
    return {
        doubt["id"]: doubt["text"]
        for doubt in record["doubts"]
        if doubt["id"].startswith(SHARED.prefix + ".")
    }


@pytest.fixture(scope="module")
def ceph() -> Iterator[Folder]:
    with ceph_folder() as there:
        yield there


def test_a_cluster_is_measured_with_its_state_by_a_user_without_root_and_left_as_it_was(ceph: Folder) -> None:
    before = ceph.administered()
    assert before["objects in cephfs_data"] == 0
    record, _ = measured(ceph, "whole")
    assert doubted(record) == {}
    began, ended = record["states"]
    for state in (began, ended):
        assert (state["health"], state["lacks"]) == ("HEALTH_OK", "")
        assert state["version"].startswith("ceph version 1")
        assert state["parts"]["osd.0"].startswith("storage-1, up since map ")
        assert state["facts"]["pool"]["name"] == "cephfs_data"
    assert record["redundancy"]["copies_count"] == 2
    assert ended["written_bytes"] - began["written_bytes"] == pytest.approx(8 * 1024**2, rel=0.01)
    assert ceph.listed() == []
    assert ceph.administered() == before


@pytest.mark.slow  # by day: tests/unit/execution/test_attached.py
def test_what_others_write_beside_a_load_is_doubted_with_its_share(ceph: Folder) -> None:
    process = begun(ceph, "beside", size="512 MiB", duration="3 s")
    others = ceph.path.parent / "others"
    ceph.client.run(["dd", "if=/dev/zero", f"of={others}", "bs=1M", "count=64", "conv=fsync"], timeout_s=60)
    assert process.wait(timeout_s=60) == 0, process.output()
    ceph.client.run(["rm", others], timeout_s=20)
    (record,) = ceph.records("beside")
    ours_bytes = sum(result["moved_bytes"] for result in record["outcome"]["results"])
    (doubt,) = (doubt for doubt in record["doubts"] if doubt["id"] == SHARED.others.id)
    assert doubt["values"]["others_bytes"] == pytest.approx(64 * 1024**2, rel=0.05)
    share_ratio = 64 * 1024**2 / (64 * 1024**2 + ours_bytes)
    assert doubt["values"]["share_ratio"] == pytest.approx(share_ratio, rel=0.1)


@pytest.mark.parametrize("kills_count", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_after_sigkill_at_any_moment_the_next_command_leaves_the_cluster_as_it_was(
    kills_count: int, ceph: Folder
) -> None:
    """The first kill is in the midst of a load, the others at any moment between start and report."""
    before, chance, caught_count = ceph.administered(), random.Random(kills_count - 1), 0
    for kill in range(kills_count):
        name, delay_s = f"killed-{kills_count}-{kill}", 0.0
        if kill:
            delay_s = chance.uniform(0, WHOLE_S)
            process = ceph.started(name, ceph.campaign(name, load(duration="2 s")))
            time.sleep(delay_s)
        else:
            process = begun(ceph, name, size="64 MiB", duration="60 s")
        assert process.returncode in (None, 0), process.output()
        caught_count += process.returncode is None
        ceph.kill(name, process)
        assert kill or ceph.listed(), "a kill in the midst of a load leaves its data until the next command"
        ceph.client.run(ceph.command("down"), timeout_s=60)
        assert ceph.behind() == [], f"{name}, killed after {delay_s:.3f} s"
        assert ceph.administered() == before, f"{name}, killed after {delay_s:.3f} s"
    assert caught_count >= kills_count // 2, "most runs had ended before they were killed: make WHOLE_S less"


@pytest.mark.slow  # by day: a lost server of MooseFS, below
def test_an_osd_that_is_down_refuses_or_is_doubted_by_name(ceph: Folder) -> None:
    victim = ceph.hosts.by_role("storage")[0]
    able(ceph.mounted, Killable).kill(victim)
    until_s = time.monotonic() + 60
    while "OSD_DOWN" not in asked(ceph.hosts, "health")[0]:
        assert time.monotonic() < until_s
        time.sleep(0.5)
    record, _ = measured(ceph, "refused", code=4)
    assert record["status"] == "failed"
    assert "the cluster is degraded: osd.0 of " in record["reason"]
    assert "while_degraded = true" in record["reason"]
    assert ceph.listed() == []
    record, _ = measured(ceph, "allowed", more=", while_degraded = true")
    assert doubted(record)[SHARED.degraded.id].startswith(
        "the cluster was degraded when the trial began: osd.0 of "
    )
    assert record["states"][0]["parts"]["osd.0"] == "storage-1, down, in"


@pytest.mark.parametrize(
    ("kind", "options", "table", "copies"),
    [
        pytest.param(
            "glusterfs",
            {},
            {"volume": "perjoule", "heal_unknown": True},
            {"data_count": 4, "parity_count": 1},
            marks=pytest.mark.slow,
        ),
        ("moosefs", {"goal": 2}, {}, {"copies_count": 2}),
    ],
    ids=["glusterfs", "moosefs"],
)
def test_gluster_and_moosefs_tell_their_state_and_a_lost_server_refuses(
    kind: str, options: dict[str, Json], table: dict[str, Json], copies: dict[str, int]
) -> None:
    with other_folder(kind, options, table) as there:
        victim = there.hosts.by_role("storage")[1]
        record, _ = measured(there, "whole")
        assert doubted(record).keys() <= {SHARED.working.id}  # heals or removals
        began, ended = record["states"]
        assert (began["lacks"], ended["lacks"], began["parts"]) == ("", "", ended["parts"])
        assert record["redundancy"].items() >= copies.items()
        assert there.listed() == []
        able(there.mounted, Killable).kill(victim)
        cluster = there.cluster()
        until_s = time.monotonic() + 30
        while victim.address not in (lacks := cluster.state().lacks):
            assert time.monotonic() < until_s, lacks
            time.sleep(0.5)
        record, _ = measured(there, "refused", code=4)
        assert "the cluster is degraded: " in record["reason"]
        assert victim.address in record["reason"]
