"""BeeGFS with its client, the kernel's module as it is shipped: servers in networks of their own, each reached
by SSH, and a client in the first network, the only one that the module sees.

Where the module is loaded and a build of the servers at hand: the part `beegfs` of `make kernels`.
"""

import os
import platform
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from lacking import lacking
from on_hosts import hosts_of, write
from perjoule import drivers
from perjoule.drivers.protocols import Host, Hosts, Mounted
from perjoule.filesystems.beegfs import BeeGFS
from perjoule.filesystems.beegfs.client import FIRST_NETWORK
from perjoule.machine.mounts import in_kernel
from perjoule.model import value_at
from perjoule.results.verification import verify
from perjoule.store import open_results
from perjoule.testbeds.cluster import SshCluster
from perjoule.testbeds.local import LocalHost
from perjoule.testbeds.virtual.host import VirtualHost
from perjoule.testbeds.virtual.network import PREFIX
from places import ROOT
from sshd import NEEDS_SSHD, Lab, until

pytestmark = [
    pytest.mark.live,
    NEEDS_SSHD,
    pytest.mark.skipif(bool(lack := lacking(BeeGFS().checks())), reason=lack),
    pytest.mark.skipif(not in_kernel("beegfs"), reason=f"no module beegfs for {platform.release()}"),
    pytest.mark.skipif(not FIRST_NETWORK.exists(), reason="this is not the machine's first network"),
]

PERJOULE = Path(sys.executable).with_name("perjoule")
LINK = "pj-beegfs"  # the client's, in the first network
PATIENCE = "600 s"  # of each step: an emulated processor that others use brings it up in minutes
# The seven of the paper, which fit the 66,000 folders of a metadata server.
BENEATH: list[dict[str, Any]] = [
    *(
        {"kind": kind, "block": f"{size} KiB", "size": "2 GiB"}
        for kind in ("ext4", "xfs")
        for size in (1, 2, 4)
    ),
    {"kind": "btrfs", "size": "2 GiB"},
]


class Here(LocalHost):
    """A virtual client that has come into the first network with its link to the switch: its kernel's module
    sees no other one.
    """

    def __init__(self, client: Host, folder: Path) -> None:
        assert isinstance(client, VirtualHost)
        super().__init__(folder)
        self.name, self.role, self.address, self.node = client.name, client.role, client.address, client.node
        out = ["nsenter", "-t", str(client.pid), "-n", "ip", "link", "set", "eth0"]
        subprocess.run([*out, "name", LINK, "netns", str(os.getpid())], check=True)
        subprocess.run(["ip", "addr", "add", f"{self.address}/{PREFIX}", "dev", LINK], check=True)
        subprocess.run(["ip", "link", "set", LINK, "up"], check=True)


@pytest.fixture(scope="module")
def testbed() -> Iterator[dict[str, Any]]:
    """Options of two servers and a client, over SSH; the link goes with the switch."""
    with tempfile.TemporaryDirectory(prefix="pj-lab-") as folder, hosts_of(servers=2).hold(1) as hosts:
        Path(folder).chmod(0o755)
        lab, here = Lab(Path(folder)), Here(hosts.clients[0], Path(folder))
        # On a disk: a tmpfs, where a lab works, has no direct I/O before Linux 6.6.
        disks = Path(folder, "disks")
        disks.mkdir()
        try:
            yield lab.options(lab.serve([*hosts.by_role("storage"), here]), 22) | {"work": str(disks)}
        finally:
            here.stop()


def beegfs(**options: Any) -> BeeGFS:
    made = drivers.build("filesystems", "beegfs", {"roles": "both", "patience": PATIENCE, **options})
    assert isinstance(made, BeeGFS)
    return made


def test_a_server_that_was_killed_comes_back_to_a_client_that_reads_what_it_wrote(
    testbed: dict[str, Any], verified: Callable[[Hosts, Mounted], Path]
) -> None:
    with SshCluster(**testbed).hold(1) as hosts:
        client, server = hosts.clients[0], hosts.by_role("storage")[1]

        def mounts() -> str:
            return client.run(["cat", "/proc/mounts"], timeout_s=20).stdout

        def serves() -> bool:
            look = ["pgrep", "-f", "[b]eegfs-storage cfgFile="]
            return server.run(look, timeout_s=20, check=False).returncode == 0

        with beegfs(beneath=BENEATH[0]).mount(hosts) as mounted:
            assert sorted(mounted.locate(verified(hosts, mounted))) == ["storage-1", "storage-2"]
            path = mounted.directories[client.name] / "kept"
            written = write(client, path)
            assert "beegfs_nodev" in mounts()
            with mounted.unmounted():
                assert "beegfs_nodev" not in mounts()
            assert serves()
            mounted.kill(server)
            until(lambda: not serves())
            mounted.revive(server)
            client.drop_caches()
            read = client.run(["sha256sum", path], timeout_s=300).stdout  # it asks again every 5 s
            assert read.split()[0] == written
            mounted.alive()
        assert "beegfs_nodev" not in mounts()


def paper(testbed: dict[str, Any], disk: dict[str, Any]) -> dict[str, Any]:
    """The paper's campaign with its table of BeeGFS alone, on these hosts, with one of its disks beneath."""
    before, mark, after = (
        (ROOT / "examples" / "access-patterns.toml").read_text().partition("# [[filesystem]]")
    )
    table, end, loads = (mark + after).partition("# 6 GiB by both")
    assert end, "the paper's campaign has its table of BeeGFS elsewhere"
    tables = tomllib.loads(
        before + "".join(line[2:] for line in table.splitlines(keepends=True)) + end + loads
    )
    (filesystem,) = [listed for listed in tables["filesystem"] if listed["kind"] == "beegfs"]
    del filesystem["testbed"]
    assert [listed | {"size": "2 GiB"} for listed in filesystem["beneath"]] == BENEATH
    changed = {"clients": 1, "repetitions": 1, "quiet": "5 s", "shrink": 1024}
    # At 5 Hz, the default, to read the counters would take all of an emulated processor.
    meter = {"kind": "system", "rate": "0.2 Hz"}
    beegfs_alone = [filesystem | {"beneath": disk, "patience": PATIENCE}]
    return tables | changed | {"testbed": testbed, "meter": [meter], "filesystem": beegfs_alone}


@pytest.mark.slow
@pytest.mark.parametrize("beneath", BENEATH, ids=lambda table: "-".join(table.values()))
def test_the_papers_campaign_runs_on_each_disk_beneath(
    beneath: dict[str, Any], testbed: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "paper.toml").write_text(tomlkit.dumps(paper({"kind": "cluster", **testbed}, beneath)))
    argv = [PERJOULE, "run", tmp_path / "paper.toml", "--into", tmp_path / "results"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    results = open_results(tmp_path / "results")
    records = results.latest()
    assert [(record.status, record.reason) for record in records] == [("valid", "")] * 12
    block_bytes = 1024 * int(beneath.get("block", "4 KiB").split()[0])
    for record in records:
        disk = [value_at(record.facts, "filesystem", "beneath", key) for key in ("type", "block_bytes")]
        assert disk == [beneath["kind"], block_bytes]
    assert verify(results).differences == ()
