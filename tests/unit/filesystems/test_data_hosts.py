"""Where each file system's data lie, as its mount declares it: on the hosts of the paper's cluster, without any daemon."""

from collections.abc import Callable, Iterator

import pytest

from perjoule.drivers.protocols import Hosts, Mounted
from perjoule.filesystems._ceph import cluster as ceph_cluster
from perjoule.filesystems.beegfs import BeeGFS, versions
from perjoule.filesystems.beegfs import cluster as beegfs_cluster
from perjoule.filesystems.cephfs import CephFs
from perjoule.filesystems.glusterfs import GlusterFS
from perjoule.filesystems.glusterfs import cluster as gluster_cluster
from perjoule.filesystems.orangefs import OrangeFS
from perjoule.filesystems.orangefs import cluster as orangefs_cluster
from perjoule.filesystems.rados import Rados
from perjoule.filesystems.simulated import Simulated as SimulatedFileSystem
from perjoule.testbeds.simulated import Simulated

STORAGE = tuple(f"storage-{n}" for n in range(1, 5))
ALL = (*STORAGE, "metadata-1")


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    with Simulated(cluster="odroid-hc4").hold(1) as held:
        yield held


def gluster(of: GlusterFS) -> Callable[[Hosts], Mounted]:
    return lambda hosts: gluster_cluster.Cluster(hosts, of.shape(len(hosts.bricks)), {}, beneath=None, patience_s=1)


def ceph(of: CephFs | Rados) -> Callable[[Hosts], Mounted]:
    return lambda hosts: ceph_cluster.Cluster(hosts, of.layout(hosts), patience_s=1)


def orangefs(of: OrangeFS) -> Callable[[Hosts], Mounted]:
    return lambda hosts: orangefs_cluster.Cluster(hosts, of.layout(hosts), prefix="", beneath=None, patience_s=1)


def beegfs(of: BeeGFS) -> Callable[[Hosts], Mounted]:
    def mounted(hosts: Hosts) -> Mounted:
        wish = beegfs_cluster.Wish(of.layout(hosts), versions.ALL[0], "", of.cache, None, 1)
        return beegfs_cluster.Cluster(hosts, wish)

    return mounted


@pytest.mark.parametrize(
    ("mounted", "held"),
    [
        (gluster(GlusterFS()), ALL),
        (gluster(GlusterFS(layout="distributed", hosts=3)), STORAGE[:3]),
        (gluster(GlusterFS(layout="arbiter", hosts=3)), STORAGE[:2]),  # the third brick has names alone
        (gluster(GlusterFS(layout="arbiter", bricks_per_host=3)), ALL),  # arbiters in turn
        (ceph(CephFs()), STORAGE),
        (ceph(CephFs(classes="together")), ALL),
        (ceph(Rados()), STORAGE),
        (ceph(Rados(classes="together")), ALL),
        (orangefs(OrangeFS()), STORAGE),
        (orangefs(OrangeFS(roles="both")), ALL),
        (beegfs(BeeGFS()), STORAGE),
        (beegfs(BeeGFS(roles="both")), ALL),
    ],
)
def test_the_hosts_with_data_follow_from_the_layout(
    mounted: Callable[[Hosts], Mounted], held: tuple[str, ...], hosts: Hosts
) -> None:
    assert sorted(mounted(hosts).data_hosts) == sorted(held)


def test_simulated_data_lie_on_storage_hosts(hosts: Hosts) -> None:
    with SimulatedFileSystem().mount(hosts) as mounted:
        assert mounted.data_hosts == STORAGE
