"""A cluster at another speed."""

import pytest

from perjoule import catalogue


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
        assert [d.write_bytes_per_s.value for d in new.disks] == [0.25 * d.write_bytes_per_s.value for d in old.disks]
        assert [d.read_bytes_per_s.value for d in new.disks] == [0.25 * d.read_bytes_per_s.value for d in old.disks]
    assert catalogue.peak_w(after, switch=True) == catalogue.peak_w(before, switch=True)


def test_the_same_speed_is_the_same_cluster() -> None:
    before = catalogue.cluster("odroid-hc4")
    assert catalogue.at_speed(before, cpu_ratio=1, network_ratio=1, disk_ratio=1) == before


def test_the_uncertainty_of_a_mean_is_not_the_deviation_of_its_samples() -> None:
    """The paper's switch: 15.46 W over an hour, samples of 20 Hz with 1.13 W; of them one a minute counts as independent."""
    switch = catalogue.cluster("odroid-hc4").switch_w
    assert switch.sigma == pytest.approx(1.13 / 60**0.5, rel=0.03)
