"""OrangeFS by the kernel's client, for real, where its module is loaded and a build of `pvfs2-client-core`
is at hand.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from lacking import lacking
from on_hosts import checksum, hosts_of, write
from perjoule import campaign
from perjoule.drivers.protocols import Hosts, Mounted
from perjoule.execution import runner
from perjoule.filesystems.orangefs import OrangeFS
from perjoule.model.errors import MachineError
from perjoule.store import create, open_results

MISSING = lacking(OrangeFS(client="kernel").checks())
pytestmark = [pytest.mark.live, pytest.mark.skipif(bool(MISSING), reason=MISSING)]

CAMPAIGN = """
name = "orangefs"
repetitions = 1
settle = "100 ms"
[testbed]
kind = "virtual"
disk = "directory"
cpu_cap = false
servers = 2
[[filesystem]]
kind = "orangefs"
client = "kernel"
[[workload]]
kind = "fio"
operation = ["write", "read"]
size = "16 MiB"
transfer = "1 MiB"
[[meter]]
kind = "system"
"""


def test_what_is_written_is_read_back_over_cold_caches_and_lies_on_all_servers(
    verified: Callable[[Hosts, Mounted], Path],
) -> None:
    with hosts_of(servers=2).hold(1) as hosts:
        client = hosts.clients[0]
        with OrangeFS(client="kernel").mount(hosts) as mounted:
            assert sorted(mounted.locate(verified(hosts, mounted))) == ["storage-1", "storage-2"]
            assert mounted.facts["client"] == "kernel"
            path = mounted.directories[client.name] / "kept"
            written = write(client, path)
            with mounted.unmounted():
                assert "pvfs2" not in client.run(["cat", "/proc/mounts"], timeout_s=10).stdout
            assert checksum(client, path) == written
            mounted.alive()
        assert "pvfs2" not in client.run(["cat", "/proc/mounts"], timeout_s=10).stdout
        listed = client.run(["ps", "-eo", "stat=,comm="], timeout_s=10).stdout.splitlines()
        assert not [line for line in listed if "pvfs2" in line and line[0] != "Z"]


def test_clients_that_share_a_kernel_are_refused_before_anything_starts() -> None:
    with (
        hosts_of(servers=1).hold(2) as hosts,
        pytest.raises(MachineError, match="clients that share one kernel"),
        OrangeFS(client="kernel").mount(hosts),
    ):
        pass


def test_a_campaign_with_it_runs_to_its_end(tmp_path: Path) -> None:
    wanted = campaign.parse(CAMPAIGN)
    runner.run(wanted, create(tmp_path / "results", wanted.text, wanted.name), lambda event: None)
    records = open_results(tmp_path / "results").records()
    assert [(record.status, record.reason) for record in records] == [("valid", "")] * 2
