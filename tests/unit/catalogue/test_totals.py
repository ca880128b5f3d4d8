"""A cluster at another speed, and what its disks need for a seek."""

from dataclasses import replace

import pytest

from perjoule import catalogue
from perjoule.model.errors import CampaignError


def test_servers_change_their_speed_and_neither_clients_nor_watts_do() -> None:
    before = catalogue.cluster("odroid-hc4")
    after = catalogue.at_speed(before, cpu_ratio=0.5, network_ratio=2.0, disk_ratio=0.25)
    for old, new in zip(before.nodes, after.nodes, strict=True):
        if old.role == "client":
            assert new == old
            continue
        assert new.board.mips.value == 0.5 * old.board.mips.value
        assert new.board.mips.sigma == 0.5 * old.board.mips.sigma
        assert new.board.nic_bytes_per_s.value == 2 * old.board.nic_bytes_per_s.value
        assert [d.write_bytes_per_s.value for d in new.disks] == [
            0.25 * d.write_bytes_per_s.value for d in old.disks
        ]
        assert [d.read_bytes_per_s.value for d in new.disks] == [
            0.25 * d.read_bytes_per_s.value for d in old.disks
        ]
    assert catalogue.peak_w(after, switch=True) == catalogue.peak_w(before, switch=True)


def test_hosts_of_a_role_get_as_many_disks_of_another_kind_of_their_cluster() -> None:
    before = catalogue.cluster("odroid-hc4")
    after = catalogue.with_drives(before, storage="", metadata="wd-black-1tb")
    disks = {node.role: [disk.name for disk in node.disks] for node in after.nodes}
    assert disks["metadata"] == disks["storage"] == ["wd-black-1tb"] * 2
    assert catalogue.idle_w(after, switch=False) > catalogue.idle_w(before, switch=False)
    assert catalogue.with_drives(before, storage="", metadata="") == before
    with pytest.raises(CampaignError, match='has no disk "wd-blak"'):
        catalogue.with_drives(before, storage="", metadata="wd-blak")
    with pytest.raises(CampaignError, match="no metadata host"):
        catalogue.with_drives(catalogue.cluster("reference-2"), metadata="intel-p4510-4tb")


def test_the_same_speed_is_the_same_cluster() -> None:
    before = catalogue.cluster("odroid-hc4")
    assert catalogue.at_speed(before, cpu_ratio=1, network_ratio=1, disk_ratio=1) == before


def test_the_uncertainty_of_a_mean_is_not_the_deviation_of_its_samples() -> None:
    """The paper's switch: 15.46 W over an hour, samples of 20 Hz with 1.13 W; of them one a minute counts
    as independent.
    """
    switch = catalogue.cluster("odroid-hc4").switch_w
    assert switch.sigma == pytest.approx(1.13 / 60**0.5, rel=0.03)


def test_a_hard_disk_whose_seek_time_is_unknown_is_refused_where_it_is_needed():
    storage, metadata = catalogue.cluster("odroid-hc4").nodes[:2]
    assert catalogue.seek_s(storage) == pytest.approx(0.016)
    assert catalogue.seek_s(metadata) is None, "SSDs have no arm"
    bare = replace(storage, disks=tuple(replace(disk, seek_s=None) for disk in storage.disks))
    with pytest.raises(
        CampaignError, match="does not know the seek time of wd-black-1tb; add seek to its file"
    ):
        catalogue.seek_s(bare)


def test_a_value_without_sigma_has_that_of_a_uniform_distribution_over_its_interval():
    cluster = catalogue.cluster("rock-5b")
    assert cluster.nodes[0].board.mips.sigma == pytest.approx((18_000 - 14_500) / 12**0.5)
    assert cluster.nodes[0].board.idle_w.follows == {"supply efficiency": 3.6}, (
        "what was measured at the wall stays"
    )
