from typing import Any

import pytest

from perjoule import campaign, drivers, planning
from perjoule.model.errors import CampaignError
from perjoule.planning.measuring import written

MB = 1e6


def text_of(need: str, scale: float | None = 0.1) -> str:
    found = planning.answer(planning.parse(need), draws_count=5)
    return written(found, found.rows[0], scale)


def emulated(need: str, cluster: str) -> str:
    return need.replace("[server.box]", f'[server.box]\ncluster = "{cluster}"')


def test_virtual_hosts_have_the_speed_of_a_server_that_no_catalogue_has(small: str) -> None:
    text = text_of(emulated(small, "odroid-hc4"))
    testbed: Any = drivers.testbed(campaign.parse(text).trials[0].testbed)
    node = next(node for node in testbed.hardware.nodes if node.role == "storage")
    assert node.board.mips.value == pytest.approx(1000, rel=1e-3)
    assert node.board.nic_bytes_per_s.value == pytest.approx(100 * MB, rel=1e-3)
    # its port's
    assert sum(disk.write_bytes_per_s.value for disk in node.disks) == pytest.approx(150 * MB, rel=1e-3)
    words = " ".join(text.replace("#", "").split())
    assert "at the speed of the candidate's box with 2 x disk" in words
    assert (
        "Their clients have a network of 111 MiB/s; the need's, whose rates are expected, have 954 MiB/s."
        in words
    )


def test_disks_of_virtual_hosts_hold_what_fast_servers_write(small: str) -> None:
    fast = (
        emulated(small, "odroid-hc4")
        .replace('goodput = "100 MB/s"', 'goodput = "2 GB/s"')
        .replace("150 MB/s", "2 GB/s")
    )
    fast = fast.replace('client_network = "1 GB/s"', 'client_network = "2 GB/s"').replace(
        "100 MB/s", "1 GB/s"
    )
    asked = campaign.parse(text_of(fast))
    testbed: Any = drivers.testbed(asked.trials[0].testbed)
    stored_bytes = 2 * drivers.workload(asked.trials[0].workload).moved_bytes(2)  # two copies
    assert (
        testbed.disk_size_bytes * testbed.servers_count
        >= 2 * stored_bytes
        > 8 * 1024**3 * testbed.servers_count
    )


def test_disks_that_read_at_another_rate_than_the_emulated_ones_are_named(small: str) -> None:
    need = emulated(small, "odroid-hc4").replace('read = "100 MB/s"', 'read = "40 MB/s"')
    assert "Their disks read 143 MiB/s; the candidate's read 76.3 MiB/s." in " ".join(
        text_of(need).replace("#", "").split()
    )


def test_a_server_without_a_cluster_is_refused_with_what_to_add_and_real_hosts_need_none(small: str) -> None:
    with pytest.raises(
        CampaignError,
        match=r'add cluster = "CLUSTER" to \[server.box\] \(.*odroid-hc4.*\), or remove --scale',
    ):
        text_of(small)
    assert "a folder on the 2 x disk of each" in " ".join(text_of(small, None).replace("#", "").split())


def test_a_server_far_beyond_the_cluster_that_stands_for_it_is_refused(small: str) -> None:
    fast = emulated(small, "odroid-hc4").replace("mips = 1000", "mips = 1000000")
    with pytest.raises(
        CampaignError, match=r"server_cpu = 203.6: the cluster that stands for the server box is too slow"
    ):
        text_of(fast)


@pytest.mark.parametrize(
    ("cluster", "advice"),
    [
        ("odroid-hc", 'did you mean "odroid-hc4"'),
        ("pc-ssd1", 'did you mean "pc-server-ssd1"'),
        ("pc-hdd2", "known: "),
    ],
)
def test_a_cluster_that_can_stand_for_no_server_is_refused_where_it_is_named(
    small: str, cluster: str, advice: str
) -> None:
    with pytest.raises(CampaignError, match=f'has no cluster "{cluster}" with storage hosts') as refused:
        planning.parse(emulated(small, cluster))
    assert advice in str(refused.value) and "line" in refused.value.where
