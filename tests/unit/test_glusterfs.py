"""GlusterFS: what it says (recorded from 10.3), what it is told, and layouts that can't be."""

from pathlib import Path

import pytest

from perjoule.errors import CampaignError, TransientError
from perjoule.filesystems import _gluster_words as words
from perjoule.filesystems.glusterfs import GlusterFS, check_layout
from perjoule.model import Flow
from perjoule.testbeds.simulated import Simulated

SAID = Path(__file__).parents[1] / "transcripts" / "glusterfs"


def said(name: str) -> str:
    return (SAID / name).read_text()


def test_a_healthy_volume_has_all_bricks_and_self_heal_daemons_online() -> None:
    services = words.status(said("status.xml"))
    assert [s.name for s in services] == ["brick"] * 5 + ["Self-heal Daemon"] * 5
    assert all(s.online for s in services)


def test_a_killed_brick_is_the_one_that_is_offline() -> None:
    offline = [s for s in words.status(said("status-killed.xml")) if not s.online]
    assert offline == [words.Service("brick", "48d117d5-d544-4f71-a305-a6c03928c075", online=False)]


def test_no_answer_about_the_volume_is_no_service() -> None:
    assert words.status("<cliOutput><opRet>-1</opRet><opErrstr>Another transaction is in progress</opErrstr></cliOutput>") == ()


def test_broken_xml_may_be_well_the_next_time() -> None:
    with pytest.raises(TransientError, match="XML that can't be read"):
        words.status("Connection failed")


def test_the_volume_tells_its_shape_and_options() -> None:
    assert words.volume_shape(said("info.xml")) == {
        "type": "Disperse",
        "bricks_count": 5,
        "replicas_count": 1,
        "disperse_count": 5,
        "redundancy_count": 1,
    }
    assert words.volume_options(said("info.xml"))["auth.allow"] == "10.97.0.6,10.97.0.7"


def test_a_disconnected_peer_is_not_counted() -> None:
    assert words.connected_count(said("pool.txt")) == 2


def test_the_operating_version_follows_the_release() -> None:
    assert words.version(said("version.txt")) == "10.3"
    assert words.info_text("u", "10.3") == "UUID=u\noperating-version=100000\n"
    assert words.info_text("u", "9.6").endswith("=90000\n")


def test_holders_are_named_in_the_order_of_the_hosts() -> None:
    names = dict(zip((f"{n}" * 8 + "-aaaa-bbbb-cccc-dddddddddddd" for n in "123"), ("one", "two", "three"), strict=True))
    uuids = list(names)
    assert words.holders(f"{uuids[2]} {uuids[0]} \0", names) == ("one", "three")


def test_layouts_are_told_in_the_words_of_gluster() -> None:
    def told(layout: str) -> str:
        return " ".join(words.create_words(layout, redundancy=1, replicas=2, bricks=["a:/x", "b:/x", "c:/x"]))

    assert told("dispersed") == "disperse 3 redundancy 1 a:/x b:/x c:/x force"
    assert told("replicated") == "replica 2 a:/x b:/x c:/x force"
    assert told("distributed") == "a:/x b:/x c:/x force"


@pytest.mark.parametrize(
    ("options", "hosts_count", "what"),
    [
        (GlusterFS(redundancy=2), 4, "redundancy = 2 is half or more of 4 bricks; set redundancy to at most 1"),
        (GlusterFS(), 2, "at least 3 bricks"),
        (GlusterFS(), 0, "0 hosts have disks; take a testbed with storage hosts"),
        (GlusterFS(layout="replicated"), 5, "5 bricks can't be shared out among groups of 2 replicas; set bricks = 4"),
        (GlusterFS(layout="replicated", replicas=4), 3, "set replicas to at most 3"),
        (GlusterFS(**{"bricks": 6}), 5, "6 bricks wanted, but 5 hosts have disks; set bricks to at most 5"),
    ],
)
def test_an_impossible_layout_says_what_to_do(options: GlusterFS, hosts_count: int, what: str) -> None:
    with pytest.raises(CampaignError) as refused:
        check_layout(options, hosts_count)
    assert what in str(refused.value)


@pytest.mark.parametrize(
    ("options", "hosts_count"),
    [
        (GlusterFS(), 5),
        (GlusterFS(redundancy=2), 5),
        (GlusterFS(layout="replicated"), 4),
        (GlusterFS(layout="replicated", replicas=3), 3),
        (GlusterFS(layout="distributed"), 1),
    ],
)
def test_possible_layouts_pass(options: GlusterFS, hosts_count: int) -> None:
    check_layout(options, hosts_count)


def test_the_log_of_a_brick_bears_its_path() -> None:
    assert words.brick_log(Path("/srv/storage-1/glusterfs/brick")) == "srv-storage-1-glusterfs-brick.log"


def test_a_rebalance_is_background_work() -> None:
    assert words.tasks(said("status-rebalance.xml")) == ("rebalance in progress",)
    assert words.tasks(said("status.xml")) == ()


@pytest.mark.parametrize(
    ("options", "sent", "stored"),
    [
        (GlusterFS(redundancy=1), 1.25, 1.25),
        (GlusterFS(redundancy=2), 5 / 3, 5 / 3),
        (GlusterFS(layout="replicated", replicas=2, bricks=4), 2, 2),
        (GlusterFS(layout="distributed"), 1, 1),
    ],
    ids=["4+1", "3+2", "two copies", "one copy"],
)
def test_the_client_codes_and_copies_itself(options: GlusterFS, sent: float, stored: float) -> None:
    with Simulated().hold(1) as hosts:
        explained = options.amplification(hosts)
    assert explained.write == Flow(
        client_sent_ratio=sent, storage_received_ratio=stored, storage_sent_ratio=0, disk_written_ratio=stored
    )
    assert explained.read == Flow(client_received_ratio=1, storage_sent_ratio=1, disk_read_ratio=1)
