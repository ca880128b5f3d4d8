"""MooseFS for real: the daemons on virtual hosts."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from on_hosts import hosts_of, write
from perjoule import drivers
from perjoule.drivers.protocols import FileSystem, Hosts, Mounted
from perjoule.model import Json
from perjoule.model.errors import WorkloadError

pytestmark = pytest.mark.live


def moosefs(**options: Json) -> FileSystem:
    made = drivers.build("filesystems", "moosefs", options)
    assert isinstance(made, FileSystem)
    return made


@pytest.fixture(scope="module")
def deployment() -> Iterator[tuple[Hosts, Mounted]]:
    """One cluster for the tests that leave it whole."""
    with hosts_of().hold(2) as hosts, moosefs(goal=2, metalogger=True).mount(hosts) as mounted:
        yield hosts, mounted


@pytest.mark.parametrize("goal", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_every_goal_gives_back_what_was_written_on_as_many_hosts(
    goal: int, verified: Callable[[Hosts, Mounted], Path]
) -> None:
    with hosts_of().hold(1) as hosts, moosefs(goal=goal, trash="24 h").mount(hosts) as mounted:
        assert len(mounted.locate(verified(hosts, mounted))) == goal
        assert (mounted.facts["goal"], mounted.facts["trash_s"]) == (goal, 24 * 3600)


@pytest.mark.slow  # by day: tests/unit/filesystems/test_settings.py
def test_the_master_moves_no_chunks_to_even_out_space(deployment: tuple[Hosts, Mounted]) -> None:
    hosts, mounted = deployment
    config = hosts.metadata.read(hosts.metadata.directory / "moosefs" / "mfsmaster.cfg")
    assert b"CHUNKS_WRITE_REP_LIMIT = 2,1,0,0" in config
    assert mounted.facts["rebalance"] is False


def test_the_metalogger_follows_the_master(deployment: tuple[Hosts, Mounted]) -> None:
    hosts, mounted = deployment
    client, keeper = hosts.clients[0], hosts.management
    client.run(["touch", mounted.directories[client.name] / "followed"], timeout_s=10)
    log = keeper.directory / "moosefs" / "mfsmetalogger" / "changelog_ml.0.mfs"
    until_s = time.monotonic() + 10
    while b"followed" not in keeper.read(log):
        assert time.monotonic() < until_s


def test_a_file_lies_on_as_many_storage_hosts_as_its_goal(deployment: tuple[Hosts, Mounted]) -> None:
    hosts, mounted = deployment
    path = mounted.directories[hosts.clients[0].name] / "located"
    write(hosts.clients[0], path)
    holders = mounted.locate(path)
    assert len(holders) == len(set(holders)) == 2
    assert set(holders) < {host.name for host in hosts.by_role("storage")}


def test_facts_come_from_the_daemons(deployment: tuple[Hosts, Mounted]) -> None:
    hosts, mounted = deployment
    facts = mounted.facts
    assert str(facts["version"]).startswith(("3.", "4."))
    assert (facts["goal"], facts["trash_s"], facts["master"], facts["metalogger"]) == (
        2,
        0,
        "metadata-1",
        "management-1",
    )
    assert isinstance(rows := facts["chunkservers"], list)
    assert {row["host"] for row in rows if isinstance(row, dict)} == {
        host.name for host in hosts.by_role("storage")
    }


def test_no_daemon_runs_as_root_and_each_has_its_log(deployment: tuple[Hosts, Mounted]) -> None:
    hosts, mounted = deployment
    for host in hosts.servers:
        listed = host.run(["ps", "-eo", "user:16=,comm="], timeout_s=10).stdout.splitlines()
        owners = {line.split()[0] for line in listed if line.split()[1].startswith("mfs")}
        assert len(owners) == 1
        assert "root" not in owners
    assert len(mounted.logs) == len({log.name for log in mounted.logs}) == 8
    assert all(log.is_file() for log in mounted.logs)


def test_nobody_mounts_without_the_password(deployment: tuple[Hosts, Mounted]) -> None:
    hosts, _ = deployment
    client = hosts.clients[0]
    target = client.directory / "intruder"
    client.run(["mkdir", target], timeout_s=10)
    with pytest.raises(WorkloadError, match=r"[Pp]assword"):
        client.run(["mfsmount", "-H", hosts.metadata.address, target], timeout_s=10)
