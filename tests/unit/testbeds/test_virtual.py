"""What a virtual testbed promises before it holds any host: what can be done to its hosts, and their disks."""

import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.drivers.protocols.abilities import LosesPackets, SlowsDisks, TakesLinkDown
from perjoule.drivers.protocols.testbed_abilities import HasEvents
from perjoule.model import Spec

GIB = 1024**3


@pytest.mark.parametrize(
    ("disk", "disk_cap", "slowed"),
    [("ext4", True, True), ("ext4", False, False), ("directory", True, False), ("directory", False, False)],
)
def test_only_disks_with_a_cap_can_be_slowed_down(disk, disk_cap, slowed):
    testbed = drivers.testbed(Spec("virtual", {"disk": disk, "disk_cap": disk_cap}))
    assert isinstance(testbed, HasEvents)
    assert (SlowsDisks in testbed.abilities) == slowed
    assert {TakesLinkDown, LosesPackets} <= testbed.abilities


@pytest.mark.parametrize(
    ("options", "each_gib"),
    [
        ({}, {"storage": 2, "metadata": 2, "management": 2, "client": None}),
        # a storage host has two of its own, and a host without any one all the same
        ({"disks_apart": True}, {"storage": 4, "metadata": 4, "management": 2, "client": None}),
        ({"disk": "directory"}, dict.fromkeys(("storage", "metadata", "management", "client"))),
    ],
)
def test_each_server_is_planned_with_the_disks_that_it_will_have_and_no_client(options, each_gib):
    testbed = drivers.testbed(Spec("virtual", {"servers": 3, "disk_size": "2 GiB", **options}))
    hosts = testbed.planned(2).all
    assert [host.role for host in hosts] == [*["storage"] * 3, "metadata", "management", "client", "client"]
    for host in hosts:
        size_gib = each_gib[host.role]
        assert getattr(host, "disk_bytes", None) == (size_gib and size_gib * GIB)


def test_disks_apart_take_disks():
    with pytest.raises(ValidationError, match="disks_apart needs disks"):
        drivers.testbed(Spec("virtual", {"disk": "directory", "disks_apart": True}))
    drivers.testbed(Spec("virtual", {"disk": "xfs", "disks_apart": True}))


def test_watts_are_modelled_where_cpus_are_capped():
    for cpu_cap in (True, False):
        assert drivers.testbed(Spec("virtual", {"cpu_cap": cpu_cap})).models_power == cpu_cap
