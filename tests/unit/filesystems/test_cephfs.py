"""CephFS on paper: who gets which daemon, which key, which command; and what Ceph's answers mean."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.drivers.protocols import Completed, Hosts
from perjoule.filesystems._ceph import commands
from perjoule.filesystems._ceph import layout as ceph
from perjoule.filesystems._ceph import parse as answers
from perjoule.filesystems._ceph.cluster import CephCluster
from perjoule.filesystems._ceph.conf import configuration, settings
from perjoule.filesystems._ceph.control import absent, ask, degraded, missing
from perjoule.filesystems._ceph.tuning import CHOICES, tunes
from perjoule.filesystems._settings import as_facts, in_force
from perjoule.filesystems.cephfs import CephFs
from perjoule.filesystems.rados import Rados
from perjoule.model import Flow
from perjoule.model.errors import CampaignError, MachineError, TransientError, UnexpectedOutput
from places import TRANSCRIPTS
from scripted import ScriptedHost
from typed import as_written

SAID = TRANSCRIPTS / "cephfs"
BRING_UP: list[dict[str, Any]] = json.loads((SAID / "bring-up.json").read_text())
FACTS: dict[str, Any] = json.loads((SAID / "facts.json").read_text())
CODED: dict[str, Any] = json.loads((SAID.parent / "rados" / "facts.json").read_text())


class PaperHost(ScriptedHost):
    """A host that nothing may happen on."""

    def __init__(self, role: str, number: int) -> None:
        super().__init__(f"{role}-{number}")
        self.address = f"10.0.0.{number}"

    run = spawn = drop_caches = ScriptedHost.never


def paper(**counts: int) -> Hosts:
    return Hosts(tuple(PaperHost(role, n + 1) for role, count in counts.items() for n in range(count)))


CLUSTER = paper(storage=4, metadata=1, management=1, client=2)


def test_a_scrub_has_ended_once_each_placement_group_has_another_time_of_its_last_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def listed(**stamps: str) -> Mapping[str, Any]:
        return {
            "pg_stats": [{"pgid": group, "last_deep_scrub_stamp": stamp} for group, stamp in stamps.items()]
        }

    asked: list[Sequence[Sequence[commands.Command]]] = []
    said = [listed(a="1", b="2")]

    def ask(_: CephCluster, stages: Sequence[Sequence[commands.Command]]) -> list[list[Any]]:
        asked.append(stages)
        return [[said[-1]], [None]]

    monkeypatch.setattr(CephCluster, "ask", ask)
    cluster = CephCluster(Rados(), CLUSTER)
    assert cluster.unscrubbed() == "" and asked == []  # nobody began one
    cluster.scrub()
    assert [[one["prefix"] for one in stage] for stage in asked[0]] == [["pg dump"], ["osd deep-scrub"]]
    assert cluster.unscrubbed() == "2 of 2 PGs to scrub"
    said.append(listed(a="1", b="3"))
    assert cluster.unscrubbed() == "1 of 2 PGs to scrub"
    said.append(listed(a="2", b="3"))
    assert cluster.unscrubbed() == ""


def test_a_pool_is_deleted_and_made_again_once_and_the_others_are_waited_for_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def ask(
        _: CephCluster,
        stages: Sequence[Sequence[commands.Command]],
        ready: Mapping[str, int] | None = None,
        name: str = "",
    ) -> list[list[Any]]:
        asked.extend(f"{one['prefix']} {one['pool']}" for stage in stages for one in stage)
        asked.extend([f"{ready['placement_groups_count']} PGs: {name}"] if ready else [])
        return []

    monkeypatch.setattr(CephCluster, "ask", ask)
    cluster = CephCluster(Rados(), CLUSTER)
    cluster.make_pool("client-1")
    assert asked == []  # it exists
    for _ in range(2):
        cluster.delete_pool("client-1")
        cluster.delete_pool("client-2")
    assert asked == ["osd pool delete client-1", "osd pool delete client-2"]
    for _ in range(2):
        cluster.make_pool("client-2")
    assert asked[2:] == [
        "osd pool create client-2",
        "osd pool application enable client-2",
        "64 PGs: a healthy pool of client-2",
    ]


def test_whoever_deletes_a_pool_has_to_name_it_twice_and_ceph_must_allow_it() -> None:
    layout = Rados().layout(CLUSTER)
    ((command,),) = commands.removal(layout.pools[1])
    assert (command["pool"], command["pool2"]) == ("client-2", "client-2")
    assert command["yes_i_really_really_mean_it"] is True
    assert "mon_allow_pool_delete = true\n" in configuration(
        layout, Path("/x"), "10.0.0.1", changed=(), osd_bytes=1
    )


def stages(layout: ceph.CephLayout) -> dict[str, list[Mapping[str, Any]]]:
    """All commands by their names, in order."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for stage in commands.placement(layout) + commands.creation(layout):
        for command in stage:
            found.setdefault(str(command["prefix"]), []).append(command)
    return found


def test_options_are_as_in_the_paper_unless_told_otherwise() -> None:
    layout = CephFs().layout(CLUSTER)
    pools = {
        pool["pool"]: (pool["pg_num"], pool["size"], pool["rule"])
        for pool in stages(layout)["osd pool create"]
    }
    assert pools == {"cephfs_data": (64, 2, "cephfs_data"), "cephfs_metadata": (64, 2, "cephfs_metadata")}
    assert "osd_pool_default_min_size = 1\n" in text_of(layout)
    assert "osd_pool_default_size = 2\n" in text_of(layout)


def test_no_more_osds_are_needed_for_health_than_exist() -> None:
    hosts = paper(storage=2, metadata=1, management=1, client=1)
    assert "osd_pool_default_size = 1\n" in text_of(as_written(Rados, copies=1).layout(hosts))


def test_osds_copy_over_the_cluster_network_of_their_host_if_it_has_one() -> None:
    layout = CephFs().layout(CLUSTER)
    assert "cluster_addr" not in text_of(layout)
    text = configuration(
        layout, Path("/x"), "10.99.0.7", cluster_address="10.98.0.7", changed=(), osd_bytes=2**30
    )
    assert "public_addr = 10.99.0.7\ncluster_addr = 10.98.0.7\n" in text.partition("[osd]")[2]
    assert text.count("cluster_addr") == 1


EMULATED = replace(CLUSTER, reality="emulated")
OF_A_BOARD = {
    "osd_memory_target": "896M",
    "bluestore_cache_autotune": "false",
    "bluestore_cache_size": "64M",
    "osd_op_queue": "wpq",
    "osd_op_num_shards": "2",
    "osd_op_num_threads_per_shard": "1",
    "osd_max_pg_log_entries": "500",
    "osd_heartbeat_grace": "60",
    "mds_cache_memory_limit": "64M",
    "paxos_propose_interval": "0.05",
    "client_oc_size": str(32 * 2**20),
    "client_oc_max_dirty": str(16 * 2**20),
}


def text_of(layout: ceph.CephLayout, hosts: Hosts = CLUSTER) -> str:
    changed = in_force(settings(layout), hosts)
    return configuration(layout, Path("/srv/ceph"), "10.0.0.7", changed=changed, osd_bytes=2**30)


def lines_of(text: str) -> dict[str, str]:
    return dict(line.split(" = ", 1) for line in text.splitlines() if " = " in line)


def test_real_hosts_have_cephs_own_settings_and_emulated_ones_those_of_a_board() -> None:
    layout = CephFs().layout(CLUSTER)
    real, emulated = lines_of(text_of(layout)), lines_of(text_of(layout, EMULATED))
    assert emulated.items() >= OF_A_BOARD.items()
    assert not real.keys() & OF_A_BOARD.keys()
    # Nothing that tunes is left of a board: what only emulated hosts have is all that the facts say of them.
    only_emulated = {name: value for name, value in emulated.items() if name not in real}
    assert as_facts(in_force(settings(layout), EMULATED))["emulation"] == only_emulated
    assert [name for name in real if tunes(name) or name in CHOICES] == []
    assert real.items() <= emulated.items()
    assert "mgr_initial_modules =" in text_of(layout).splitlines()


def test_what_is_changed_is_in_the_facts_with_its_reason_but_for_what_the_campaign_sets() -> None:
    everywhere = {
        "observation": {"mgr_tick_period": "1", "mgr_stats_period": "1"},
        "comparability": {"mgr_initial_modules": ""},
    }
    assert as_facts(CephCluster(CephFs(), CLUSTER).changed) == everywhere
    board = as_facts(CephCluster(CephFs(), EMULATED).changed)
    assert board.keys() == {"emulation", *everywhere}
    ours = as_written(CephFs, conf={"osd_memory_target": "2G"}, client_cache="8 MiB")
    changed: Any = as_facts(CephCluster(ours, EMULATED).changed)["emulation"]
    assert not {"osd_memory_target", "client_oc_size"} & changed.keys()
    for hosts in (CLUSTER, EMULATED):
        text = text_of(ours.layout(hosts), hosts)
        assert text.count("osd_memory_target") == 1
        assert lines_of(text).items() >= {"osd_memory_target": "2G", "client_oc_size": str(8 * 2**20)}.items()


def test_without_a_file_system_there_are_no_settings_for_its_servers_and_clients() -> None:
    text = text_of(Rados().layout(CLUSTER), EMULATED)
    assert "osd_memory_target = 896M" in text
    assert "mds_cache" not in text and "client_oc" not in text


def test_metadata_has_osds_of_its_own_on_the_metadata_host_and_data_spreads_over_storage_hosts() -> None:
    layout = as_written(CephFs, osds_per_host=2).layout(CLUSTER)
    assert [osd.host for osd in layout.osds if osd.device_class == "hdd"] == [
        f"storage-{n}" for n in (1, 1, 2, 2, 3, 3, 4, 4)
    ]
    assert [osd.host for osd in layout.osds if osd.device_class == "ssd"] == ["metadata-1"] * 2
    rules = {
        rule["name"]: (rule["class"], rule["type"])
        for rule in stages(layout)["osd crush rule create-replicated"]
    }
    assert rules == {"cephfs_data": ("hdd", "host"), "cephfs_metadata": ("ssd", "osd")}


def test_without_a_metadata_host_both_pools_spread_over_storage_hosts() -> None:
    layout = as_written(CephFs, copies=3, acknowledged=2).layout(paper(storage=3, client=1))
    assert {osd.device_class for osd in layout.osds} == {"hdd"}
    rules = {
        rule["name"]: (rule["class"], rule["type"])
        for rule in stages(layout)["osd crush rule create-replicated"]
    }
    assert rules == {"cephfs_data": ("hdd", "host"), "cephfs_metadata": ("hdd", "host")}
    assert {pool["size"] for pool in stages(layout)["osd pool create"]} == {3}


def test_metadata_has_no_more_copies_than_osds_of_its_own() -> None:
    for copies_count, metadata_copies_count in ((3, 2), (1, 1)):
        pools = as_written(CephFs, copies=copies_count).layout(CLUSTER).pools
        assert [pool.redundancy.copies_count for pool in pools] == [copies_count, metadata_copies_count]


def test_classes_together_spread_both_pools_over_all_osds_with_data_on_the_metadata_host_too() -> None:
    layout = as_written(CephFs, copies=3, classes="together").layout(CLUSTER)
    rules = stages(layout)["osd crush rule create-replicated"]
    assert all("class" not in rule and rule["type"] == "host" for rule in rules)
    assert {pool["size"] for pool in stages(layout)["osd pool create"]} == {3}


def test_an_erasure_coded_pool_has_a_profile_and_may_be_overwritten_and_metadata_stays_in_copies() -> None:
    told = stages(CephFs(erasure="3+1").layout(CLUSTER))
    (profile,) = told["osd erasure-code-profile set"]
    assert {"k=3", "m=1", "crush-failure-domain=host", "crush-device-class=hdd"} < set(profile["profile"])
    data, metadata = told["osd pool create"]
    assert (data["pool_type"], data["erasure_code_profile"]) == ("erasure", profile["name"])
    assert (metadata["pool_type"], metadata["size"]) == ("replicated", 2)
    assert told["osd pool set"] == [
        {"prefix": "osd pool set", "pool": "cephfs_data", "var": "allow_ec_overwrites", "val": "true"}
    ]
    assert told["fs new"][0]["force"] is True


def test_without_a_file_system_each_client_has_a_pool_that_it_alone_may_use() -> None:
    layout = Rados(erasure="2+1").layout(CLUSTER)
    told = stages(layout)
    assert [pool["pool"] for pool in told["osd pool create"]] == ["client-1", "client-2"]
    assert "fs new" not in told
    assert {osd.host for osd in layout.osds} == {f"storage-{n}" for n in (1, 2, 3, 4)}
    caps = commands.capabilities(layout, ("client-1", "client-2"))
    assert caps["client.client-2"] == {"mon": "allow r", "osd": "allow rwx pool=client-2"}
    assert "mds.a" not in caps


@pytest.mark.parametrize(
    ("options", "hosts", "words"),
    [
        (
            {"copies": 3},
            paper(storage=2, metadata=1, client=1),
            "copies = 3 needs 3 .* there are 2; set copies to 2 or less",
        ),
        ({}, paper(client=1), "there are 0; use a testbed with storage hosts"),
        ({"acknowledged": 3}, CLUSTER, "acknowledged = 3 is more than copies = 2; set acknowledged to 2"),
        (
            {"erasure": "4+1"},
            CLUSTER,
            r'erasure = "4\+1" needs 5 hosts with data, but there are 4; .* classes = "together"',
        ),
        (
            {"erasure": "4+2", "classes": "together"},
            CLUSTER,
            "needs 6 hosts with data, but there are 5; use fewer parts",
        ),
        ({"erasure": "2+1", "store": "memstore"}, CLUSTER, 'needs BlueStore.*; set store = "bluestore"'),
    ],
)
def test_an_impossible_layout_is_refused_before_anything_starts(
    options: dict[str, Any], hosts: Hosts, words: str
) -> None:
    with pytest.raises(CampaignError, match=words), CephFs(**options).mount(hosts):
        pass


@pytest.mark.parametrize(
    "options",
    [
        {"copies": 0},
        {"osd_size": "-1 GiB"},
        {"store": "filestore"},
        {"replicas": 2},
        {"erasure": "1+1"},
        {"erasure": "4"},
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        drivers.build("filesystems", "cephfs", options)


def test_a_cache_of_ceph_fuse_is_refused_with_the_kernels_client() -> None:
    as_written(CephFs, client="kernel")
    with pytest.raises(
        ValidationError,
        match='client "kernel" caches in the page cache; remove client_cache, or set client = "fuse"',
    ):
        as_written(CephFs, client="kernel", client_cache="8 MiB")


def test_every_osd_is_placed_once_and_has_one_class() -> None:
    commands = stages(layout := as_written(CephFs, osds_per_host=2).layout(CLUSTER))
    places = {command["id"]: command["args"][0] for command in commands["osd crush add"]}
    assert places == {osd.id: f"host={osd.host}" for osd in layout.osds}
    classes = [number for command in commands["osd crush set-device-class"] for number in command["ids"]]
    assert sorted(map(int, classes)) == [osd.id for osd in layout.osds]


def test_a_client_may_use_this_file_system_and_nothing_else() -> None:
    caps = commands.capabilities(CephFs().layout(CLUSTER), ("client-1",))
    assert caps["client.client-1"] == {
        "mon": "allow r fsname=perjoule",
        "mds": "allow rws fsname=perjoule",
        "osd": "allow rw tag cephfs data=perjoule",
    }
    assert {"mon.", "mgr.a", "mds.a", "osd.5", "client.admin"} < caps.keys()


def test_a_keyring_has_the_keys_it_is_given_and_no_other() -> None:
    text = commands.keyring(
        {"osd.0": "AQ=="}, {"osd.0": {"mon": "allow profile osd"}, "client.admin": {"mon": "allow *"}}
    )
    assert text == '[osd.0]\n\tkey = AQ==\n\tcaps mon = "allow profile osd"\n'


def test_a_key_is_what_cephx_expects_and_never_the_same() -> None:
    raw = base64.b64decode(key := commands.new_key(1700000000))
    assert raw[:12] == b"\x01\x00\x00\xf1\x53\x65\x00\x00\x00\x00\x10\x00"
    assert len(raw) == 12 + 16
    assert commands.new_key(1700000000) != key


def test_the_configuration_authenticates_speaks_msgr2_alone_and_keeps_to_its_folder() -> None:
    text = text_of(CephFs().layout(CLUSTER))
    options = dict(line.split(" = ", 1) for line in text.splitlines() if " = " in line)
    assert {options[f"auth_{kind}_required"] for kind in ("cluster", "service", "client")} == {"cephx"}
    assert options["ms_bind_msgr1"] == "false"
    assert options["mon_host"] == "v2:10.0.0.1:3300/0"
    folders = [value for value in options.values() if "/srv" in value or value.startswith("/")]
    assert len(folders) >= 9
    assert all(value.startswith("/srv/ceph/") for value in folders)


def test_an_option_of_conf_replaces_the_drivers_own_and_is_for_all_daemons_and_clients() -> None:
    layout = CephFs().layout(CLUSTER)
    changed = replace(
        layout, options=CephFs(conf={"osd_op_num_shards": "5", "client_readahead_min": "4194304"})
    )
    plain, lines = text_of(layout, EMULATED).splitlines(), text_of(changed, EMULATED).splitlines()
    assert lines[:3] == ["[global]", "osd_op_num_shards = 5", "client_readahead_min = 4194304"]
    assert "osd_op_num_shards = 2" in plain
    assert [line for line in plain if line != "osd_op_num_shards = 2"] == [*lines[:1], *lines[3:]]


@pytest.mark.parametrize("value", ["/dev/sda", "1"])
@pytest.mark.parametrize(
    "name",
    ["fsid", "osd_data", "log_file", "bluestore_block_path", "osd_pool_default_size", "client_oc_size"],
)
def test_conf_can_not_move_the_cluster_or_change_what_has_an_option_of_its_own(name: str, value: str) -> None:
    with pytest.raises(ValidationError, match=f'"{name}" is'):
        drivers.build("filesystems", "cephfs", {"conf": {name: value}}, to_run=True)


def test_files_are_striped_as_configured_by_a_client_that_may() -> None:
    layout = as_written(CephFs, object="16 MiB", stripe_unit="1 MiB", stripe_objects=4).layout(CLUSTER)
    assert layout.striping.text == "stripe_unit=1048576 stripe_count=4 object_size=16777216"
    caps = commands.capabilities(layout, ("client-1",))
    assert caps["client.client-1"]["mds"] == "allow rwps fsname=perjoule"


@pytest.mark.parametrize(("unit", "size"), [("4 MiB", "1 MiB"), ("96 KiB", "4 MiB"), ("3 MiB", "4 MiB")])
def test_an_object_holds_whole_stripe_units(unit: str, size: str) -> None:
    with pytest.raises(
        CampaignError, match=f"objects of {size} can't hold stripe units of {unit}; choose a stripe_unit"
    ):
        as_written(CephFs, object=size, stripe_unit=unit).layout(CLUSTER)


@pytest.mark.parametrize("moment", BRING_UP, ids=lambda moment: moment["missing"] or "ready")
def test_the_status_says_what_is_missing(moment: dict[str, Any]) -> None:
    assert missing(moment["status"], 4, 16) == moment["missing"]


def test_the_bring_up_ends_ready_and_a_warning_that_is_not_muted_is_waited_for() -> None:
    status = BRING_UP[-1]["status"]
    assert missing(status, 4, 16) == ""
    assert missing(status, 4, 17).startswith("of 17 PGs: 16 active+clean")
    check = status["health"]["checks"]["MGR_MODULE_ERROR"]
    loud = status | {"health": {"checks": {"MGR_MODULE_ERROR": check | {"muted": False}}}}
    assert missing(loud, 4, 16) == f"MGR_MODULE_ERROR: {check['summary']['message']}"


def test_a_cluster_without_a_file_system_needs_no_metadata_server() -> None:
    status = BRING_UP[-1]["status"]
    idle = status | {"fsmap": {**status["fsmap"], "by_rank": []}}
    assert missing(idle, 4, 16) == "no MDS is active"
    assert missing(idle, 4, 16, 0) == ""


def test_redundancy_is_lost_with_an_osd_or_a_copy_and_not_by_work_in_the_background() -> None:
    status = BRING_UP[-1]["status"]
    assert degraded(status, 4) == ""
    assert degraded(status, 5) == "4 of 5 OSDs up"

    def having(state: str) -> dict[str, Any]:
        groups = [{"state_name": "active+clean", "count": 15}, {"state_name": state, "count": 1}]
        return status | {"pgmap": {**status["pgmap"], "pgs_by_state": groups}}

    assert degraded(having("active+clean+scrubbing+deep"), 4) == ""
    assert degraded(having("active+undersized+degraded"), 4) == "1 PGs active+undersized+degraded"


def test_a_server_is_absent_whatever_the_placement_groups_do() -> None:
    status = BRING_UP[-1]["status"]
    assert absent(status, 4, 1) == ""
    assert absent(status, 5, 1) == "4 of 5 OSDs up"
    alone = status | {"fsmap": {**status["fsmap"], "by_rank": []}}
    assert (absent(alone, 4, 1), absent(alone, 4, 0)) == ("no MDS is active", "")
    groups = [{"state_name": "active+undersized+degraded", "count": 16}]
    assert absent(status | {"pgmap": {**status["pgmap"], "pgs_by_state": groups}}, 4, 1) == ""


def test_before_there_are_pools_osds_that_are_up_are_all_that_is_waited_for() -> None:
    status = next(m["status"] for m in BRING_UP if m["missing"] == "no MDS is active")
    assert missing(status, 4, 0) == ""
    assert missing(status, 5, 0) == "4 of 5 OSDs up"


class PaperCluster:
    """A librados connection that has one answer."""

    def __init__(self, code: int, answer: bytes, words: str = "") -> None:
        self.said, self.asked, self.given = (code, answer, words), "", b""

    def mon_command(self, text: str, given: bytes) -> tuple[int, bytes, str]:
        self.asked, self.given = text, given
        return self.said

    def osd_command(self, number: int, text: str, _: bytes) -> tuple[int, bytes, str]:
        self.asked = f"osd.{number} {text}"
        return self.said


def test_a_command_goes_to_its_target_as_json() -> None:
    cluster = PaperCluster(0, b'{"a": 1}')
    assert ask(cluster, {"prefix": "status"}) == {"a": 1}
    assert json.loads(cluster.asked) == {"prefix": "status", "format": "json"}
    ask(cluster, {"prefix": "cache drop", "target": "osd.3"})
    assert cluster.asked == 'osd.3 {"format": "json", "prefix": "cache drop"}'


def test_a_command_comes_with_its_input() -> None:
    cluster = PaperCluster(0, b"3")
    ask(cluster, {"prefix": "osd new", "id": 3, "input": '{"cephx_secret": "key"}'})
    assert json.loads(cluster.asked) == {"prefix": "osd new", "id": 3, "format": "json"}
    assert cluster.given == b'{"cephx_secret": "key"}'


def test_a_new_osd_takes_the_number_and_the_secret_of_the_old_one() -> None:
    destroyed, new = commands.replacement([ceph.Osd(3, "storage-4", "hdd", "an-id")], {3: "secret"})
    assert destroyed == [
        {"prefix": "osd destroy", "id": 3, "force": True, "yes_i_really_mean_it": True, "target": "mgr"},
    ]
    assert new == [{"prefix": "osd new", "uuid": "an-id", "id": 3, "input": "secret"}]


def test_a_further_osd_is_registered_with_its_secret_and_then_placed() -> None:
    assert commands.addition([ceph.Osd(6, "storage-5", "hdd", "an-id")], {6: "secret"}) == [
        [{"prefix": "osd new", "uuid": "an-id", "id": 6, "input": "secret"}],
        [{"prefix": "osd crush add", "id": 6, "weight": 1.0, "args": ["host=storage-5", "root=default"]}],
        [{"prefix": "osd crush set-device-class", "class": "hdd", "ids": ["6"]}],
    ]


def test_an_osd_holds_whole_copies_or_parts_of_what_users_wrote() -> None:
    listed = [
        {
            "pg_stats": [
                {"pgid": "1.a", "stat_sum": {"num_bytes": 4000}},
                {"pgid": "2.0", "stat_sum": {"num_bytes": 90}},
            ]
        },
        {"pg_stats": [{"pgid": "2.1f", "stat_sum": {"num_bytes": 10}}]},
    ]
    assert answers.held_bytes(listed, {1: 4, 2: 1}) == 1000 + 90 + 10
    # as Ceph 16 answers for an OSD without placement groups
    assert answers.held_bytes([{"pg_ready": True}], {}) == 0


def test_an_answer_that_is_not_json_is_text_and_none_is_none() -> None:
    assert ask(PaperCluster(0, b"ok"), {"prefix": "x"}) == "ok"
    assert ask(PaperCluster(0, b""), {"prefix": "x"}) is None


def test_a_refused_command_is_reported_with_the_monitors_message() -> None:
    with pytest.raises(RuntimeError, match=r"fs new: pool 'x' does not exist \(-2\)"):
        ask(PaperCluster(-2, b"", "pool 'x' does not exist"), {"prefix": "fs new"})


def test_a_file_knows_its_objects() -> None:
    assert answers.objects(FACTS["file"]) == ("cephfs_data", [f"10000000001.0000000{k}" for k in range(4)])


def test_a_striped_file_fills_whole_rows_and_an_empty_one_has_its_first_object() -> None:
    assert len(answers.objects("1 9 stripe_unit=4 stripe_count=2 object_size=4 pool=pool")[1]) == 4
    assert answers.objects("255 0 stripe_unit=4 stripe_count=1 object_size=4 pool=pool") == (
        "pool",
        ["ff.00000000"],
    )


@pytest.mark.parametrize(
    "text", ["1 2 stripe_unit=4", "1", "", "a b pool=c", "a b stripe_count=1 object_size=4 pool=c"]
)
def test_a_layout_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UnexpectedOutput, match=r"^ceph\.file\.layout"):
        answers.objects(text)


def test_facts_of_version_18_are_read_like_those_of_16() -> None:
    answered = json.loads((SAID / "18" / "facts.json").read_text())
    facts: Any = answers.facts(answered, answered["config diff"])
    assert facts["version"].startswith("ceph version 18.2.7 ")
    assert facts["pools"].keys() == {"cephfs_data", "cephfs_metadata"}
    assert (facts["pools"]["cephfs_data"]["copies_count"], facts["pools"]["cephfs_data"]["apart_on"]) == (
        2,
        "host",
    )
    assert facts["osds"]["osd.1"] == {"host": "storage-2", "class": "hdd", "status": "up"}
    assert facts["settings"]


def test_facts_are_what_the_daemons_report() -> None:
    facts: Any = answers.facts(FACTS, FACTS["config diff"])
    assert facts["version"].startswith("ceph version 16.2.15 ")
    assert facts["health"]["status"] == "HEALTH_OK"
    assert facts["pools"]["cephfs_metadata"] == {
        "copies_count": 2,
        "acknowledged_count": 1,
        "placement_groups_count": 8,
        "root": "default",
        "device_class": "ssd",
        "apart_on": "osd",
        "applications": ["cephfs"],
    }
    data = facts["pools"]["cephfs_data"]
    assert (data["device_class"], data["apart_on"]) == ("hdd", "host")
    assert facts["osds"]["osd.1"] == {"host": "storage-2", "class": "hdd", "status": "up"}
    assert list(facts["osds"]) == ["osd.0", "osd.1", "osd.2", "osd.3"]
    assert facts["file_systems"]["perjoule"]["mds"] == {"a": "up:active"}
    assert facts["settings"]["osd_objectstore"] == "bluestore"


def test_facts_tell_a_code_from_copies_and_a_cluster_without_a_file_system() -> None:
    facts: Any = answers.facts(CODED, CODED["config diff"])
    assert facts["pools"]["client-1"] == {
        "erasure": "2+1",
        "acknowledged_count": 2,
        "placement_groups_count": 8,
        "root": "default",
        "device_class": "all",
        "apart_on": "host",
        "applications": ["perjoule"],
    }
    assert facts["file_systems"] == {}


def test_what_placement_groups_do_beside_serving_is_background_work() -> None:
    ready: dict[str, Any] = json.loads(json.dumps(BRING_UP[-1]["status"]))
    assert answers.background(ready) == ""
    states = [
        {"state_name": "active+clean", "count": 62},
        {"state_name": "active+clean+scrubbing+deep", "count": 2},
    ]
    ready["pgmap"]["pgs_by_state"] = states
    assert answers.background(ready) == "2 PGs active+clean+scrubbing+deep"


def test_an_osd_passes_copies_on_or_codes_and_gathers() -> None:
    hosts = paper(management=1, metadata=1, storage=4)
    copies = as_written(CephFs, copies=3).amplification(hosts)
    assert copies.write == Flow(
        client_sent_ratio=1, storage_received_ratio=3, storage_sent_ratio=2, disk_written_ratio=3
    )
    assert copies.read == Flow(client_received_ratio=1, storage_sent_ratio=1, disk_read_ratio=1)
    code = CephFs(erasure="2+1").amplification(hosts)
    assert code.write == Flow(
        client_sent_ratio=1, storage_received_ratio=2, storage_sent_ratio=1, disk_written_ratio=1.5
    )
    assert code.read == Flow(
        client_received_ratio=1, storage_received_ratio=0.5, storage_sent_ratio=1.5, disk_read_ratio=1
    )


def test_stores_in_memory_have_no_disks() -> None:
    explained = CephFs(store="memstore").amplification(paper(management=1, metadata=1, storage=2))
    assert (explained.write.disk_written_ratio, explained.read.disk_read_ratio) == (0, 0)


class Mute(PaperHost):
    """A host on which the monitor does not answer."""

    run = ScriptedHost.run

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        reply = {
            "answers": [],
            "missing": "a monitor ([errno 110] error connecting to the cluster)",
            "error": "",
        }
        return 0, json.dumps(reply)


def test_a_monitor_that_does_not_answer_is_not_a_cluster_that_has_lost_something() -> None:
    hosts = Hosts(tuple(Mute(host.role, n + 1) for n, host in enumerate(CLUSTER.all)))
    cluster = CephFs().deployment(hosts)
    cluster.patience_s = 0
    with pytest.raises(
        TransientError,
        match=(
            r"^ceph on management-6: the cluster not reached within 0 s; missing: a monitor \(\[errno 110\]"
        ),
    ):
        cluster.busy()


class KernelClient(PaperHost):
    """A client whose kernel has CephFS, or not, and whose mount command ends with this code."""

    has, code = True, 0

    def read(self, path: Path) -> bytes:
        assert path == Path("/proc/filesystems")
        return b"nodev\tceph\n" if self.has else b"\text4\n"

    def run(self, argv: Sequence[str | Path], **_: Any) -> Completed:
        self.ran.append([str(word) for word in argv])
        return Completed(
            tuple(self.ran[-1]), self.code, "", "mount error 22 = Invalid argument\n" if self.code else ""
        )


def kernel_clients() -> tuple[Hosts, KernelClient]:
    client = KernelClient("client", 9)
    return Hosts((*paper(storage=4, metadata=1, management=1).all, client)), client


def test_the_kernel_mounts_the_file_system_with_the_clients_own_key_and_never_shows_it() -> None:
    hosts, client = kernel_clients()
    deployment = CephFs(client="kernel").deployment(hosts)
    deployment.require_clients()
    assert deployment.attach(client, Path("/mnt")) is None
    (argv,) = client.ran
    monitor = hosts.management.address
    conf = client.directory / "ceph" / "ceph.conf"
    assert argv[:4] == ["mount", "-t", "ceph", "-o"]
    assert {f"name={client.name}", f"conf={conf}", "fs=perjoule", "ms_mode=crc"} <= set(argv[4].split(","))
    assert argv[5:] == [f"{monitor}:3300:/", "/mnt"]
    assert "secret" not in argv[4]


def test_a_kernel_that_can_not_mount_it_is_refused_or_quoted() -> None:
    hosts, client = kernel_clients()
    deployment = CephFs(client="kernel").deployment(hosts)
    client.code = 32
    with pytest.raises(
        TransientError, match="client-9: mount -t ceph failed: mount error 22 = Invalid argument"
    ):
        deployment.attach(client, Path("/mnt"))
    client.has = False
    client.code = 1  # of modprobe
    with pytest.raises(
        MachineError, match=r'client-9: the kernel has no client of CephFS; set client = "fuse"'
    ):
        deployment.require_clients()


@pytest.mark.parametrize(("client", "needs"), [("fuse", "ceph-fuse"), ("kernel", "CephFS in the kernel")])
def test_only_what_the_client_needs_is_checked(client: str, needs: str) -> None:
    names = " ".join(check.name for check in as_written(CephFs, client=client).checks())
    assert needs in names
    other = "CephFS in the kernel" if client == "fuse" else "ceph-fuse"
    assert other not in names
    assert ("FUSE" in names) == (client == "fuse")


@pytest.mark.parametrize("kind", ["rados", "cephfs", "rbd"])
def test_monitors_have_management_hosts_of_their_own_and_each_daemon_knows_all(kind: str) -> None:
    hosts = paper(storage=4, metadata=1, management=3, client=1)
    addresses = [host.address for host in hosts.by_role("management")]
    assert len({*addresses}) == 3
    options = drivers.build("filesystems", kind, {"monitors": 3})
    assert isinstance(options, ceph.Ceph)
    layout = options.layout(hosts)
    assert [(one.name, one.host) for one in layout.monitors] == [
        ("mon.a", "management-1"),
        ("mon.b", "management-2"),
        ("mon.c", "management-3"),
    ]
    text = configuration(layout, Path("/room"), "10.0.0.1", changed=(), osd_bytes=1)
    assert "\nmon_host = v2:{}:3300/0,v2:{}:3300/0,v2:{}:3300/0\n".format(*addresses) in text
    assert {port.number for port in options.ports()["all management"]} == {3300}
    assert "ceph-mon" in {check.name for check in options.checks() if check.on == "all management"}
    with pytest.raises(CampaignError, match="monitors = 3 needs as many management hosts, but there are 2"):
        options.layout(hosts.without(["management-3"]))


def test_a_metadata_server_stands_by_on_another_host_with_a_key_of_its_own() -> None:
    options = drivers.build("filesystems", "cephfs", {"standby": True})
    assert isinstance(options, CephFs)
    layout = options.layout(CLUSTER)
    assert (layout.mds, layout.standby) == ("metadata-1", "management-1")
    caps = commands.capabilities(layout, ())
    assert caps["mds.b"] == caps["mds.a"]
    assert "mds.b" not in commands.capabilities(CephFs().layout(CLUSTER), ())
    # as on reference cluster 2: the first server has all other roles
    assert options.layout(paper(storage=4, client=1)).standby == "storage-4"
    with pytest.raises(CampaignError, match="standby = true needs a server beside the metadata host"):
        drivers.build("filesystems", "cephfs", {"standby": True, "copies": 1}).layout(  # pyright: ignore[reportAttributeAccessIssue]
            paper(storage=1, client=1)
        )
    assert any(check.name == "ceph-mds" and check.on == "management" for check in options.checks())
