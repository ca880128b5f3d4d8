"""Where each file system's data lie, as its mount declares it: on the hosts of the paper's cluster,
without any daemon.
"""

from collections.abc import Iterator

import pytest

from perjoule.drivers.protocols import Hosts
from perjoule.filesystems._options import Deployed
from perjoule.filesystems.beegfs import BeeGFS
from perjoule.filesystems.cephfs import CephFs
from perjoule.filesystems.glusterfs import GlusterFS
from perjoule.filesystems.orangefs import OrangeFS
from perjoule.filesystems.rados import Rados
from perjoule.filesystems.simulated import SimulatedFileSystem as SimulatedFileSystem
from perjoule.testbeds.simulated import SimulatedTestbed
from typed import as_written

STORAGE = tuple(f"storage-{n}" for n in range(1, 5))
ALL = (*STORAGE, "metadata-1")


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    with SimulatedTestbed(cluster="odroid-hc4").hold(1) as held:
        yield held


@pytest.mark.parametrize(
    ("filesystem", "held"),
    [
        (GlusterFS(), ALL),
        (as_written(GlusterFS, layout="distributed", hosts=3), STORAGE[:3]),
        (as_written(GlusterFS, layout="arbiter", hosts=3), STORAGE[:2]),  # the third brick has names alone
        (as_written(GlusterFS, layout="arbiter", bricks_per_host=3), ALL),  # arbiters in turn
        (CephFs(), STORAGE),
        (CephFs(classes="together"), ALL),
        (Rados(), STORAGE),
        (Rados(classes="together"), ALL),
        (OrangeFS(), STORAGE),
        (OrangeFS(roles="both"), ALL),
        (BeeGFS(), STORAGE),
        (BeeGFS(roles="both"), ALL),
    ],
)
def test_the_hosts_with_data_follow_from_the_layout(
    filesystem: Deployed, held: tuple[str, ...], hosts: Hosts
) -> None:
    assert sorted(filesystem.deployment(hosts).data_hosts) == sorted(held)


def test_simulated_data_lie_on_storage_hosts(hosts: Hosts) -> None:
    with SimulatedFileSystem().mount(hosts) as mounted:
        assert mounted.data_hosts == STORAGE
