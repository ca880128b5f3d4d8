"""Where data lie on hosts whose disks are apart."""

import pytest

from perjoule.drivers.protocols import Hosts, planned
from perjoule.drivers.protocols.disks import HasDisks
from perjoule.filesystems.cephfs import CephFs
from perjoule.filesystems.glusterfs import GlusterFS
from perjoule.filesystems.moosefs import MooseFS
from perjoule.filesystems.orangefs import OrangeFS
from perjoule.model import Json
from typed import as_written


@pytest.fixture
def hosts() -> Hosts:
    found = planned([*["storage"] * 3, "metadata", "client"])
    for host in found.bricks:
        assert isinstance(host, HasDisks)
        host.disks_count = 2
    return found


@pytest.mark.parametrize(
    ("kind", "options", "stores"),
    [
        (GlusterFS, {"layout": "distributed"}, ["storage-1/glusterfs/brick-1"]),
        (
            GlusterFS,
            {"layout": "distributed", "bricks_per_host": 3},
            [
                "storage-1/glusterfs/brick-1",
                "storage-1.2/glusterfs/brick-2",
                "storage-1/glusterfs/brick-3",
            ],
        ),
        (CephFs, {"osds_per_host": 2}, ["storage-1/ceph/osd.0", "storage-1.2/ceph/osd.1"]),
        (MooseFS, {}, ["storage-1/moosefs/chunks", "storage-1.2/moosefs/chunks"]),
        (
            MooseFS,
            {"beneath": {"kind": "xfs"}},
            ["storage-1/beneath/moosefs/chunks", "storage-1/beneath.2/moosefs/chunks"],
        ),
        (
            MooseFS,
            {"beneath": {"kind": "xfs", "mirror": "md"}},
            ["storage-1/beneath/moosefs/chunks"],
        ),
        (
            CephFs,
            {"osds_per_host": 2, "beneath": {"kind": "xfs"}},
            ["storage-1/beneath/ceph/osd.0", "storage-1/beneath.2/ceph/osd.1"],
        ),
    ],
)
def test_bricks_osds_and_chunks_are_dealt_to_the_disks_of_a_host(
    hosts: Hosts, kind: type, options: dict[str, Json], stores: list[str]
) -> None:
    deployment = as_written(kind, **options).deployment(hosts)
    server = hosts.by_role("storage")[0]
    if kind is GlusterFS:
        server = next(bearer for bearer in deployment.bearers if bearer is server)
    root = server.directory.parent
    assert [str(store.relative_to(root)) for store in deployment.stores(server)] == stores


def test_others_use_the_first_disk(hosts: Hosts) -> None:
    deployment = OrangeFS().deployment(hosts)
    server = hosts.by_role("storage")[0]
    assert deployment.store(server) == server.directory / "orangefs"
