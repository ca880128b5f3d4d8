"""What every file system says of the hosts that it can be laid out on, before any is held."""

import pytest

from perjoule import campaign, drivers
from perjoule.drivers.protocols import FileSystem, Hosts, Testbed, planned
from perjoule.filesystems.beegfs import BeeGFS
from perjoule.filesystems.cephfs import CephFs
from perjoule.filesystems.glusterfs import GlusterFS
from perjoule.filesystems.moosefs import MooseFS
from perjoule.filesystems.orangefs import OrangeFS
from perjoule.filesystems.rados import Rados
from perjoule.filesystems.simulated import SimulatedFileSystem
from perjoule.model import Json
from perjoule.model.errors import CampaignError
from typed import as_written

PAPER = planned(["storage"] * 4 + ["metadata", "management", "client", "client"])


def served(storage_count: int) -> Hosts:
    return planned(["storage"] * storage_count + ["client"])


@pytest.mark.parametrize(
    ("asked", "hosts", "words", "fits"),
    [
        (MooseFS(goal=5), PAPER, "has 4 storage hosts; set goal to at most 4", MooseFS(goal=4)),
        (
            as_written(GlusterFS, redundancy=3),
            PAPER,
            "half or more of 5 bricks; set redundancy to at most 2",
            as_written(GlusterFS, redundancy=2),
        ),
        (
            as_written(GlusterFS, disperse=6),
            PAPER,
            "there are 5; set disperse to at most 5",
            as_written(GlusterFS, disperse=5),
        ),
        (
            GlusterFS(layout="replicated", replicas=2),
            PAPER,
            "set hosts = 4 or",
            as_written(GlusterFS, layout="replicated", hosts=4),
        ),
        (
            as_written(CephFs, copies=5),
            PAPER,
            "there are 4; set copies to 4 or less",
            as_written(CephFs, copies=4),
        ),
        (CephFs(erasure="4+1"), PAPER, 'set classes = "together"', CephFs(erasure="4+1", classes="together")),
        (
            as_written(Rados, copies=3, classes="apart"),
            served(2),
            "there are 2; set copies to 2 or less",
            as_written(Rados, copies=2),
        ),
        (BeeGFS(mirror=True), served(3), "even number of storage hosts", BeeGFS(mirror=False)),
        (
            OrangeFS(roles="separate"),
            planned(["metadata"]),
            "use a testbed with storage hosts",
            OrangeFS(roles="both"),
        ),
        (
            as_written(SimulatedFileSystem, least_servers=5),
            PAPER,
            "set least_servers to at most 4",
            as_written(SimulatedFileSystem, least_servers=4),
        ),
    ],
)
def test_an_impossible_layout_is_refused_with_what_fits(
    asked: FileSystem, hosts: Hosts, words: str, fits: FileSystem
) -> None:
    with pytest.raises(CampaignError) as refused:
        asked.require_fit(hosts)
    assert words in str(refused.value)
    fits.require_fit(hosts)


@pytest.mark.parametrize("kind", drivers.kinds("filesystems"))
def test_every_example_fits_on_the_papers_cluster_and_needs_no_host_for_it(kind: str) -> None:
    filesystem = campaign.example("filesystems", kind)
    assert isinstance(filesystem, FileSystem)
    filesystem.require_fit(PAPER)
    filesystem.redundancy(PAPER)
    filesystem.amplification(PAPER)


@pytest.mark.parametrize("kind", drivers.kinds("testbeds"))
def test_a_testbed_plans_hosts_without_holding_any(kind: str) -> None:
    testbed = drivers.build("testbeds", kind, NEEDED.get(kind, {}))
    assert isinstance(testbed, Testbed)
    assert len(testbed.planned(1).clients) == 1
    assert testbed.planned(1).reality == testbed.reality


NEEDED: dict[str, dict[str, Json]] = {
    "cluster": {
        "hosts": [
            {"name": "a", "address": "192.0.2.1", "role": "storage"},
            {"name": "b", "address": "192.0.2.2", "role": "client"},
        ]
    },
    "slurm": {"nodes": 2},
    "grid5000": {"site": "lyon", "hosts": [{"cluster": "taurus", "role": "client"}]},
    "chameleon": {
        "hosts": [{"type": "compute_skylake", "role": "client"}],
        "image": "CC-Ubuntu24.04",
        "key": "mine",
    },
}


def test_the_hosts_of_a_testbed_are_those_that_it_planned() -> None:
    testbed = drivers.build("testbeds", "simulated", {"servers": 3})
    assert isinstance(testbed, Testbed)
    with testbed.hold(2) as hosts:
        assert [(host.name, host.role) for host in hosts.all] == [
            (host.name, host.role) for host in testbed.planned(2).all
        ]
        assert hosts.reality == "simulated"


def test_nothing_runs_on_a_planned_host() -> None:
    with pytest.raises(NotImplementedError, match="storage-1 is only planned"):
        PAPER.all[0].run(["true"], timeout_s=1)
