"""GlusterFS: its answers (recorded from 10.3, and from 11.1 in a folder 11), its commands, and impossible
layouts.
"""

from pathlib import Path
from typing import Any

import pytest

from perjoule.filesystems.glusterfs import GlusterFS
from perjoule.filesystems.glusterfs import layout as gluster
from perjoule.filesystems.glusterfs import parse as words
from perjoule.model import Flow
from perjoule.model.errors import CampaignError, NoAnswer, TransientError
from perjoule.testbeds.simulated import SimulatedTestbed
from places import transcript
from typed import as_written


def said(name: str) -> str:
    return transcript("glusterfs", name)


def test_a_healthy_volume_has_all_bricks_and_self_heal_daemons_online() -> None:
    services = words.status(said("status.xml"))
    assert [s.name for s in services] == ["brick"] * 5 + ["Self-heal Daemon"] * 5
    assert all(s.online for s in services)


def test_a_killed_brick_is_the_one_that_is_offline() -> None:
    offline = [s for s in words.status(said("status-killed.xml")) if not s.online]
    assert [(s.name, s.uuid) for s in offline] == [("brick", "48d117d5-d544-4f71-a305-a6c03928c075")]
    assert offline[0].path == Path("/srv/h2/brick/b")


def test_a_pool_that_does_not_answer_is_not_a_volume_that_is_offline() -> None:
    refusal = (
        "<cliOutput><opRet>-1</opRet><opErrstr>Another transaction is in progress</opErrstr></cliOutput>"
    )
    for read in (words.status, words.tasks):
        with pytest.raises(
            TransientError, match=r"^gluster did not answer: Another transaction is in progress$"
        ):
            read(refusal)


def test_broken_xml_may_be_well_the_next_time() -> None:
    with pytest.raises(NoAnswer):
        words.status("Connection failed")


def test_the_volume_states_its_shape_and_options() -> None:
    assert words.volume_shape(said("info.xml")) == {
        "type": "Disperse",
        "bricks_count": 5,
        "replicas_count": 1,
        "arbiters_count": 0,
        "disperse_count": 5,
        "redundancy_count": 1,
    }
    assert words.volume_options(said("info.xml"))["auth.allow"] == "10.97.0.6,10.97.0.7"


def test_version_11_is_read_like_10() -> None:
    services = words.status(said("11/status.xml"))
    assert [s.name for s in services] == ["brick"] * 4 + ["Self-heal Daemon"] * 4
    assert all(s.online for s in services)
    shape = words.volume_shape(said("11/info.xml"))
    assert (shape["type"], shape["bricks_count"], shape["disperse_count"], shape["redundancy_count"]) == (
        "Disperse",
        4,
        4,
        1,
    )
    assert words.connected_count(said("11/pool.txt")) == 4
    assert words.version(said("11/version.txt")) == "11.1"


def test_a_disconnected_peer_is_not_counted() -> None:
    assert words.connected_count(said("pool.txt")) == 2


def test_the_operating_version_follows_the_release() -> None:
    assert words.version(said("version.txt")) == "10.3"
    assert words.info_text("u", "10.3") == "UUID=u\noperating-version=100000\n"
    assert words.info_text("u", "9.6").endswith("=90000\n")


def test_holders_are_named_in_the_order_of_the_hosts() -> None:
    names = dict(
        zip(
            (f"{n}" * 8 + "-aaaa-bbbb-cccc-dddddddddddd" for n in "123"), ("one", "two", "three"), strict=True
        )
    )
    uuids = list(names)
    assert words.holders(f"{uuids[2]} {uuids[0]} \0", names) == ("one", "three")


def laid_out(hosts_count: int, **options: Any) -> gluster.VolumeLayout:
    return gluster.shape(GlusterFS(**options), hosts_count)


@pytest.mark.parametrize(
    ("options", "hosts_count", "told"),
    [
        ({}, 5, "disperse 5 redundancy 1"),
        ({"redundancy": 2}, 5, "disperse 5 redundancy 2"),
        ({"bricks_per_host": 2}, 5, "disperse 5 redundancy 1"),
        ({"disperse": 3}, 6, "disperse 3 redundancy 1"),
        ({"layout": "replicated"}, 4, "replica 2"),
        ({"layout": "replicated", "replicas": 3}, 3, "replica 3"),
        ({"layout": "replicated", "bricks_per_host": 2}, 5, "replica 2"),
        ({"layout": "arbiter"}, 3, "replica 3 arbiter 1"),
        ({"layout": "arbiter", "bricks_per_host": 3}, 5, "replica 3 arbiter 1"),
        ({"layout": "distributed"}, 1, ""),
    ],
)
def test_layouts_are_written_in_the_format_of_gluster(
    options: dict[str, Any], hosts_count: int, told: str
) -> None:
    assert " ".join(laid_out(hosts_count, **options).words) == told


@pytest.mark.parametrize(
    ("options", "groups_count"),
    [
        ({"bricks_per_host": 2}, 2),
        ({"bricks_per_host": 3, "layout": "arbiter"}, 5),
        ({"bricks_per_host": 2, "layout": "replicated"}, 5),
    ],
)
def test_the_bricks_of_a_group_are_on_different_hosts(options: dict[str, Any], groups_count: int) -> None:
    layout = laid_out(5, **options)
    hosts = [host for host, _ in layout.bricks]
    groups = [hosts[n : n + layout.group_count] for n in range(0, len(hosts), layout.group_count)]
    assert len(groups) == groups_count
    assert all(len(set(group)) == layout.group_count for group in groups)
    assert len(set(layout.bricks)) == len(layout.bricks)


@pytest.mark.parametrize(
    ("options", "hosts_count", "what"),
    [
        ({"redundancy": 2}, 4, "redundancy = 2 is half or more of 4 bricks; set redundancy to at most 1"),
        ({}, 2, "at least 3 bricks"),
        ({}, 0, "no host has disks for a brick; use a testbed with storage hosts"),
        (
            {"disperse": 5},
            4,
            "5 bricks that share a file need as many hosts, but there are 4; set disperse to at most 4",
        ),
        (
            {"disperse": 3},
            5,
            "5 bricks can't be divided into groups of 3; set hosts = 3 or bricks_per_host = 3",
        ),
        (
            {"layout": "replicated"},
            5,
            "5 bricks can't be divided into groups of 2; set hosts = 4 or bricks_per_host = 2",
        ),
        ({"layout": "replicated", "replicas": 4}, 3, "set replicas to at most 3"),
        ({"layout": "arbiter"}, 2, "there are 2; an arbiter needs 3 hosts"),
        ({"hosts": 6}, 5, "bricks need 6 hosts, but 5 have disks; set hosts to at most 5"),
    ],
)
def test_an_impossible_layout_says_what_to_do(options: dict[str, Any], hosts_count: int, what: str) -> None:
    with pytest.raises(CampaignError) as refused:
        laid_out(hosts_count, **options)
    assert what in str(refused.value)


def test_what_a_layout_says_can_be_done_instead_can_be_done() -> None:
    for options in ({"hosts": 4}, {"bricks_per_host": 2}):
        assert laid_out(5, layout="replicated", **options).group_count == 2


def test_an_arbiter_holds_no_data() -> None:
    names = {
        f"{n}" * 8 + "-aaaa-bbbb-cccc-dddddddddddd": name for n, name in enumerate(("one", "two", "three"))
    }
    assert words.holders(" ".join(names), names, arbiters_count=1) == ("one", "two")
    assert laid_out(3, layout="arbiter").redundancy.copies_count == 2


def test_a_brick_that_a_client_lost_is_found_in_its_log() -> None:
    assert words.lost_brick(said("client-mounted.log")) == ""
    assert words.lost_brick(said("client-lost.log")) == "perjoule-client-1 was lost by the client"


def test_a_client_has_the_bricks_with_which_its_log_ends() -> None:
    lost = said("client-lost.log")
    assert words.absent_bricks(said("client-mounted.log")) == ""
    assert words.absent_bricks(lost) == "perjoule-client-1"
    again = (
        "I [client-handshake.c:1106:client_setvolume_cbk] 0-perjoule-client-1: Connected, attached to "
        "remote volume [{}]\n"
    )
    assert words.absent_bricks(lost + again) == ""
    assert words.absent_bricks(lost + again + lost) == "perjoule-client-1"


def test_the_log_of_a_brick_bears_its_path() -> None:
    assert words.brick_log(Path("/srv/storage-1/glusterfs/brick")) == "srv-storage-1-glusterfs-brick.log"


def test_a_rebalance_is_background_work() -> None:
    assert words.tasks(said("status-rebalance.xml")) == ("rebalance in progress",)
    assert words.tasks(said("status.xml")) == ()


@pytest.mark.parametrize(
    ("options", "sent", "stored"),
    [
        (as_written(GlusterFS, redundancy=1), 1.25, 1.25),
        (as_written(GlusterFS, redundancy=2), 5 / 3, 5 / 3),
        (as_written(GlusterFS, layout="replicated", replicas=2, hosts=4), 2, 2),
        (as_written(GlusterFS, layout="arbiter", hosts=3), 2, 2),
        (GlusterFS(layout="distributed"), 1, 1),
    ],
    ids=["4+1", "3+2", "two copies", "two copies and an arbiter", "one copy"],
)
def test_the_client_codes_and_copies_itself(options: GlusterFS, sent: float, stored: float) -> None:
    with SimulatedTestbed().hold(1) as hosts:
        explained = options.amplification(hosts)
    assert explained.write == Flow(
        client_sent_ratio=sent, storage_received_ratio=stored, storage_sent_ratio=0, disk_written_ratio=stored
    )
    assert explained.read == Flow(client_received_ratio=1, storage_sent_ratio=1, disk_read_ratio=1)
