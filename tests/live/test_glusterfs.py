"""GlusterFS for real: the daemons on virtual hosts."""

import signal
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from day import by_day
from on_hosts import checksum, hosts_of, received_bytes, write
from perjoule import drivers
from perjoule.drivers.protocols import (
    FileSystem,
    Hosts,
    Killable,
    Mounted,
    TellsHealth,
    Testbed,
    WorksInBackground,
    able,
)
from perjoule.model import Json
from perjoule.model.errors import CampaignError, MachineError, TransientError
from perjoule.model.units import MIB

pytestmark = pytest.mark.live


def glusterfs(**options: Json) -> FileSystem:
    made = drivers.build("filesystems", "glusterfs", options)
    assert isinstance(made, FileSystem)
    return made


@pytest.fixture(scope="module")
def deployment() -> Iterator[tuple[Hosts, Mounted]]:
    """One dispersed volume 4+1 for the tests that leave it whole."""
    with hosts_of().hold(1) as hosts, glusterfs().mount(hosts) as mounted:
        yield hosts, mounted


def drop(hosts: Hosts, mounted: Mounted) -> None:
    mounted.drop_caches()
    for host in hosts.all:
        host.drop_caches()


@pytest.mark.slow  # by day: 8 MiB over cold caches: test_filesystem_contract.py
def test_the_client_forgets_small_files_too_which_it_holds_itself(deployment: tuple[Hosts, Mounted]) -> None:
    hosts, mounted = deployment
    client = hosts.clients[0]
    path = mounted.directories[client.name] / "small"
    written = write(client, path, 48, "1k")
    drop(hosts, mounted)
    before = received_bytes(client)
    assert checksum(client, path) == written
    assert received_bytes(client) - before > 48 * 1024


def test_dropping_caches_leaves_nothing_to_heal(deployment: tuple[Hosts, Mounted]) -> None:
    hosts, mounted = deployment
    client = hosts.clients[0]
    write(client, mounted.directories[client.name] / "unmarked", 1)
    drop(hosts, mounted)
    for host in hosts.bricks:
        brick = host.directory / "glusterfs" / "brick-1" / "unmarked"
        said = host.run(
            ["getfattr", "--absolute-names", "-e", "hex", "-n", "trusted.ec.dirty", brick], timeout_s=10
        ).stdout
        assert f"trusted.ec.dirty=0x{'0' * 32}" in said


def test_a_mark_of_a_removed_file_is_no_work(deployment: tuple[Hosts, Mounted]) -> None:
    hosts, mounted = deployment
    background = able(mounted, WorksInBackground)
    assert background
    client, server = hosts.clients[0], hosts.bricks[0]
    write(client, mounted.directories[client.name] / "marked", 1)
    drop(hosts, mounted)
    brick = server.directory / "glusterfs" / "brick-1"
    command = ["getfattr", "--absolute-names", "-e", "hex", "-n", "trusted.gfid", brick / "marked"]
    gfid = uuid.UUID(server.run(command, timeout_s=10).stdout.split("=0x")[1].strip())
    gone, kept = (
        brick / ".glusterfs" / "indices" / "xattrop" / str(marked) for marked in (uuid.uuid4(), gfid)
    )

    server.run(["touch", gone], timeout_s=10)
    assert not background.busy()
    server.run(["touch", kept], timeout_s=10)
    assert "finishing writes" in background.busy()
    server.run(["rm", gone, kept], timeout_s=10)
    assert not background.busy()


def test_a_dispersed_file_lies_on_all_bricks(deployment: tuple[Hosts, Mounted]) -> None:
    hosts, mounted = deployment
    path = mounted.directories[hosts.clients[0].name] / "located"
    write(hosts.clients[0], path, 1)
    assert mounted.locate(path) == tuple(host.name for host in hosts.bricks)
    assert len(hosts.bricks) == 5


def test_facts_come_from_the_daemons(deployment: tuple[Hosts, Mounted]) -> None:
    _, mounted = deployment
    facts = mounted.facts
    assert str(facts["version"])[0].isdigit()
    assert (facts["type"], facts["bricks_count"], facts["redundancy_count"]) == ("Disperse", 5, 1)
    assert isinstance(options := facts["options"], dict)
    assert "10." in str(options["auth.allow"])
    assert all(log.is_file() for log in mounted.logs)
    assert (len(mounted.logs), len(mounted.logs_there)) == (6, 5)


def test_a_host_that_is_not_allowed_can_not_mount(deployment: tuple[Hosts, Mounted]) -> None:
    hosts, _ = deployment
    intruder, server = hosts.management, hosts.bricks[0]
    target, log = intruder.directory / "intruder", intruder.directory / "intruder.log"
    intruder.run(["mkdir", target], timeout_s=10)
    who = ["--process-name", "fuse", f"--volfile-server={server.address}", "--volfile-id=perjoule"]
    process = intruder.spawn(["glusterfs", "-N", *who, "-l", log, target], log=log)
    until_s = time.monotonic() + 10
    while "Authentication failed" not in process.output() and time.monotonic() < until_s:
        time.sleep(0.05)
    process.stop()
    intruder.run(["umount", "--lazy", target], timeout_s=10, check=False)
    assert "Authentication failed" in process.output()


LAYOUTS: dict[str, tuple[dict[str, Json], str, int]] = {
    "3+2": ({"redundancy": 2}, "Disperse", 5),
    "2 x (4+1)": ({"bricks_per_host": 2}, "Distributed-Disperse", 5),
    "2 copies": ({"layout": "replicated", "hosts": 2}, "Replicate", 2),
    "3 copies": ({"layout": "replicated", "hosts": 3, "replicas": 3}, "Replicate", 3),
    "5 x 2 copies": ({"layout": "replicated", "bricks_per_host": 2}, "Distributed-Replicate", 2),
    "2 copies, arbiter": ({"layout": "arbiter", "hosts": 3}, "Replicate", 2),
    "5 x 2 copies, arbiter": ({"layout": "arbiter", "bricks_per_host": 3}, "Distributed-Replicate", 2),
    "distributed": ({"layout": "distributed"}, "Distribute", 1),
}


# A volume of 4+1 is by day that of the tests above.
@pytest.mark.parametrize("layout", by_day(LAYOUTS, "2 copies, arbiter"))
def test_every_layout_gives_back_what_was_written_and_holds_it_on_as_many_hosts(
    layout: str, verified: Callable[[Hosts, Mounted], Path]
) -> None:
    options, kind, holders_count = LAYOUTS[layout]
    with hosts_of().hold(1) as hosts, glusterfs(**options).mount(hosts) as mounted:
        assert mounted.facts["type"] == kind
        path = verified(hosts, mounted)
        holders = mounted.locate(path)
        assert len(holders) == holders_count
        for host in hosts.bricks:
            parts = host.directory.glob(f"glusterfs/brick-*/{path.name}")
            assert (sum(part.stat().st_blocks * 512 for part in parts) > MIB) == (host.name in holders)


def test_a_killed_brick_which_glusterd_started_is_seen() -> None:
    with hosts_of(servers=2).hold(1) as hosts, glusterfs().mount(hosts) as mounted:
        host = hosts.by_role("storage")[1]
        pid = host.run(["pgrep", "-x", "glusterfsd"], timeout_s=10).stdout.strip()
        host.run(["kill", f"-{signal.SIGKILL.value}", pid], timeout_s=10)
        with pytest.raises(TransientError, match=r"storage-2: the brick is offline; it last said: .*\w"):
            wait_for_its_end(mounted)


def test_a_host_that_comes_back_ends_no_process_by_a_number_of_before() -> None:
    """glusterd ends the self-heal daemon that it finds noted, and in its new namespace another process has
    that number.
    """
    with (
        hosts_of(servers=2).hold(1) as hosts,
        glusterfs(layout="replicated", hosts=2).mount(hosts) as mounted,
    ):
        host = hosts.by_role("storage")[1]
        killable, health = able(mounted, Killable), able(mounted, TellsHealth)
        killable.kill(host)
        noted = host.run(
            ["find", host.directory / "glusterfs" / "run", "-name", "*.pid"], timeout_s=10
        ).stdout.split()
        assert any("shd" in path for path in noted)
        for path in noted:
            host.put("1\n", Path(path))  # glusterd itself
        killable.revive(host)
        until_s = time.monotonic() + 60
        while (lacking := health.absent() or health.degraded()) and time.monotonic() < until_s:
            time.sleep(0.5)
        assert lacking == ""


def wait_for_its_end(mounted: Mounted) -> None:
    """A kill is a moment older than glusterd's word of it."""
    until_s = time.monotonic() + 5
    while time.monotonic() < until_s:
        mounted.alive()


def test_an_impossible_layout_is_refused_before_anything_is_started() -> None:
    with hosts_of(servers=2).hold(1) as hosts:
        with (
            pytest.raises(CampaignError, match="set redundancy to at most 1"),
            glusterfs(redundancy=2).mount(hosts),
        ):
            pass
        assert not any((host.directory / "glusterfs").exists() for host in hosts.all)


def test_a_machine_that_has_its_own_glusterfs_perhaps_is_left_alone() -> None:
    local = drivers.build("testbeds", "local", {})
    assert isinstance(local, Testbed)
    with local.hold(1) as held:
        host = held.all[0]
        host.role = "storage"
        with (
            pytest.raises(MachineError, match="mount namespace of its own"),
            glusterfs(layout="distributed").mount(held),
        ):
            pass
