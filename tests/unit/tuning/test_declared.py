"""The options that drivers declare tunable, and the settings that a campaign may have."""

from math import log
from typing import Any

import pytest

from perjoule import campaign, drivers
from perjoule.campaign.source import CampaignSource
from perjoule.campaign.tables import fields_of, tunables
from perjoule.drivers.protocols import Offered, Tunable
from perjoule.model import Spec
from perjoule.model.errors import CampaignError
from perjoule.tuning.declared import DeclaredTable, declared
from perjoule.tuning.space import Setting

TESTBED = Spec("simulated", {"cluster": "odroid-hc4"}, "simulated")
TUNABLE = [
    (kind, option, mark)
    for kind in drivers.kinds("filesystems")
    for option, (_, info) in fields_of("filesystem", kind).items()
    for mark in info.metadata
    if isinstance(mark, Tunable)
]


def found(table: dict[str, Any], **words: Any) -> DeclaredTable:
    return declared(table, CampaignSource("my.toml", {}), TESTBED, 2, **words)


def option(of: DeclaredTable, name: str):
    return next(one for one in of.space.options if one.name == name)


@pytest.mark.parametrize(
    ("kind", "option", "mark"), TUNABLE, ids=lambda one: getattr(one, "key", one) or "plain"
)
def test_every_declared_value_is_one_that_its_driver_takes(kind: str, option: str, mark: Tunable) -> None:
    assert len(mark.values) == len(set(map(repr, mark.values))) > 1
    assert all(mark.lost(value) for value in mark.less_durable)
    assert set(mark.less_durable) < set(mark.values)
    example = campaign.example("filesystems", kind)
    for value in mark.values:
        type_ = "xfs" if "log_buffer" in (option, mark.key) else "ext4"  # a journal of ext4, or a log of xfs
        needed = {"type": type_} if "type" in fields_of("filesystem", kind) else {}
        inner = {"kind": type_} if option == "beneath" else {}
        built = drivers.build(
            "filesystems", kind, {**needed, option: {**inner, mark.key: value} if mark.key else value}
        )
        assert type(built) is type(example)


def test_the_values_are_those_declared_with_the_campaigns_own() -> None:
    ours = found({"kind": "cephfs", "placement_groups": 48, "client_cache": "32768 KiB"})
    groups, cache = option(ours, "placement_groups"), option(ours, "client_cache")
    assert groups.values == (16, 32, 48, 64, 128, 256)
    assert groups.values[groups.default] == 48
    assert groups.places[0] == 0
    assert groups.places[-1] == 1
    assert list(groups.places) == sorted(groups.places)
    assert cache.values == ("8 MiB", "32 MiB", "128 MiB", "512 MiB")  # the same, spelled differently
    assert cache.default == 1


def test_a_default_that_depends_on_the_hosts_is_a_value_of_its_own_which_sets_nothing() -> None:
    table = {"kind": "cephfs", "placement_groups": 64}
    ours = found(table)
    for name, values in (
        ("client_cache", ("8 MiB", "32 MiB", "128 MiB", "512 MiB")),
        ("conf.osd_op_num_shards", ("1", "2", "5")),
    ):
        tried = option(ours, name)
        assert tried.values == (*values, None)
        assert tried.default == len(values)
    assert ours.written(ours.space.default) == table


def test_a_setting_is_written_as_a_table_and_read_back() -> None:
    table = {"kind": "cephfs", "placement_groups": 64, "client_cache": "32768 KiB", "copies": 2}
    ours = found(table)
    names = [one.name for one in ours.space.options]
    setting = tuple(
        0 if name == "placement_groups" else one for name, one in zip(names, ours.space.default, strict=True)
    )
    assert ours.written(ours.space.default) == table
    assert ours.written(setting) == {**table, "placement_groups": 16}
    assert ours.description(setting) == "placement_groups = 16"
    assert ours.description(ours.space.default) == "the default"
    for one in (setting, ours.space.default, (1,) * len(names)):
        assert ours.setting(ours.written(one)) == one


def test_a_key_of_a_table_is_an_option() -> None:
    ours = found(
        {
            "kind": "glusterfs",
            "layout": "dispersed",
            "volume": {"client.event-threads": "4", "features.shard": "on"},
        }
    )
    threads = option(ours, "volume.client.event-threads")
    assert (threads.values, threads.default) == (("1", "2", "4"), 2)
    setting = tuple(0 if one.name == threads.name else one.default for one in ours.space.options)
    assert ours.written(setting)["volume"] == {"client.event-threads": "1", "features.shard": "on"}
    assert ours.setting(ours.written(setting)) == setting
    assert ours.changes(setting) == {"volume.client.event-threads": "1"}


def test_nothing_that_gives_up_durability_is_tried_unless_allowed_and_then_it_is_named() -> None:
    table = {"kind": "moosefs", "sync_on_close": True}
    assert [one.name for one in found(table).space.options] == ["cache"]
    asked = found(table, less_durable=True)
    sync = option(asked, "sync_on_close")
    assert sync.values == (False, True)
    setting = tuple(sync.values.index(False) if one is sync else one.default for one in asked.space.options)
    assert (
        asked.description(setting)
        == "sync_on_close = false (may lose: chunks in the page caches of servers that lose power)"
    )
    assert asked.gives_up(asked.space.default) == {}


def test_what_the_campaign_has_given_up_itself_is_not_a_loss() -> None:
    ours = found({"kind": "moosefs"})  # its default is not to sync
    sync = option(ours, "sync_on_close")
    assert sync.values == (False, True)
    assert sync.less_durable == {}


def test_a_setting_with_less_redundancy_is_not_allowed_even_if_its_option_does_not_say_so() -> None:
    table = {"kind": "orangefs", "sync_data": True}

    def unsynced(of: DeclaredTable) -> Setting:
        return tuple(
            one.values.index("directio") if one.name == "trove" else one.default for one in of.space.options
        )

    ours = found(table)
    assert "acknowledged in memory" in ours.description(unsynced(ours))
    assert not ours.allowed(unsynced(ours))
    assert ours.allowed(ours.space.default)
    asked = found(table, less_durable=True)
    assert asked.allowed(unsynced(asked))


def test_a_journal_is_tuned_where_the_file_system_has_one_and_never_to_less_durability_unless_allowed() -> (
    None
):
    ext4 = {"kind": "local", "type": "ext4"}
    (journal,) = found(ext4).space.options
    assert (journal.name, journal.values, journal.default) == ("journal", ("ordered", "journal"), 0)
    asked = found(ext4, less_durable=True)
    assert (
        asked.description((2,))
        == 'journal = "writeback" (may lose: what was not synced: after a power loss, a file may contain old blocks)'
    )
    (log,) = found({"kind": "local", "type": "xfs", "log_buffer": "65536 B"}).space.options
    assert (log.name, log.values, log.default) == (
        "log_buffer",
        ("32 KiB", "64 KiB", "128 KiB", "256 KiB"),
        1,
    )


@pytest.mark.parametrize("options", [["data=writeback"], ["nobarrier,data=journal"]])
def test_a_journal_that_mount_options_set_is_not_tuned(options: list[str]) -> None:
    with pytest.raises(CampaignError, match="none of its values goes with the campaign's other options"):
        found({"kind": "local", "type": "ext4", "options": options}, only=["journal"])


def test_a_journal_beneath_servers_data_is_tuned_where_the_campaign_has_such_a_disk() -> None:
    def names(table: dict[str, Any]) -> list[str]:
        return [one.name for one in found({"kind": "moosefs", **table}).space.options]

    assert names({}) == ["cache", "sync_on_close"]
    assert names({"beneath": {"kind": "ext4"}}) == ["cache", "sync_on_close", "beneath.journal"]
    assert names({"beneath": {"kind": "xfs"}}) == ["cache", "sync_on_close", "beneath.log_buffer"]
    assert names({"beneath": {"kind": "btrfs"}}) == ["cache", "sync_on_close"]
    ours = found(
        {"kind": "moosefs", "beneath": {"kind": "xfs", "block": "4 KiB"}}, only=["beneath.log_buffer"]
    )
    assert ours.written((3,))["beneath"] == {"kind": "xfs", "block": "4 KiB", "log_buffer": "256 KiB"}
    assert ours.setting(ours.written((3,))) == (3,)
    assert ours.allowed((3,))


HOSTS = Spec("local", {"power": {"cpu_max": "1500 MHz", "pcie_aspm": "default"}}, "local")
OFFERED = {
    "power.cpu_governor": Offered(("performance", "powersave"), "powersave"),
    "power.cpu_max": Offered(("800 MHz", "1.5 GHz", "3 GHz"), "3 GHz"),
    "power.cpu_deepest_idle": Offered(("C1", "C6")),
}


def of_hosts(table: dict[str, Any], **words: Any) -> DeclaredTable:
    return declared(table, CampaignSource("my.toml", {}), HOSTS, 1, offered=OFFERED, **words)


def setting_of(ours: DeclaredTable, **chosen: object) -> tuple[int, ...]:
    return tuple(
        o.values.index(chosen[n]) if (n := o.name.rpartition(".")[2]) in chosen else o.default
        for o in ours.space.options
    )


def test_options_of_hosts_have_the_values_that_these_offer() -> None:
    ours = of_hosts({"kind": "simulated"})
    governor, limit, idle = (
        option(ours, f"testbed.power.{one}") for one in ("cpu_governor", "cpu_max", "cpu_deepest_idle")
    )
    assert (governor.values, governor.default) == (("performance", "powersave"), 1)  # as it is
    # the campaign's, spelled differently
    assert (limit.values, limit.default) == (("800 MHz", "1.5 GHz", "3 GHz"), 1)
    assert list(limit.places) == pytest.approx([0, log(1.5 / 0.8) / log(3 / 0.8), 1])
    # not the same everywhere, so it stays as it is
    assert (idle.values, idle.default) == (("C1", "C6", None), 2)
    assert {one.name for one in ours.space.options} > {"threads"}


def test_options_of_hosts_are_written_for_the_file_system_alone_and_read_back() -> None:
    ours = of_hosts({"kind": "simulated", "threads": 2})
    fast = setting_of(ours, cpu_governor="performance", cpu_max="3 GHz", threads=8)
    power = {"pcie_aspm": "default", "cpu_max": "3 GHz", "cpu_governor": "performance"}
    assert ours.written(fast) == {"kind": "simulated", "threads": 8, "testbed": {"power": power}}
    assert ours.setting(ours.written(fast)) == fast
    assert (
        ours.description(fast)
        == 'threads = 8, testbed.power.cpu_governor = "performance", testbed.power.cpu_max = "3 GHz"'
    )
    assert ours.written(ours.space.default) == {"kind": "simulated", "threads": 2}
    assert ours.allowed(fast)


def test_a_file_systems_own_options_of_the_testbed_stay() -> None:
    bed = Spec("local", {"work": "/tmp", "power": {"cpu_governor": "performance"}}, "local")
    table = {"kind": "simulated", "testbed": {"work": "/tmp"}}
    ours = declared(
        table, CampaignSource("my.toml", {}), bed, 1, offered=OFFERED, only=["testbed.power.cpu_governor"]
    )
    assert ours.written((1,)) == {
        "kind": "simulated",
        "testbed": {"work": "/tmp", "power": {"cpu_governor": "powersave"}},
    }
    assert ours.setting(ours.written((1,))) == (1,)


@pytest.mark.parametrize(
    ("hosts", "offered", "sentence"),
    [
        (Spec("local"), {}, "it is tuned only in a campaign with a table [testbed.power]"),
        (HOSTS, {}, "the hosts offer no values for it, and simulated ones are not queried"),
    ],
)
def test_hosts_without_values_are_not_tuned(hosts: Spec, offered: dict[str, Offered], sentence: str) -> None:
    name = "testbed.power.cpu_governor"
    table = {"kind": "simulated"}
    assert name not in [
        one.name for one in declared(table, CampaignSource("", {}), hosts, 1, offered=offered).space.options
    ]
    with pytest.raises(CampaignError) as error:
        declared(table, CampaignSource("", {}), hosts, 1, offered=offered, only=[name])
    assert error.value.what == f"{name}: {sentence}"


def test_the_marks_of_hosts_leave_the_values_to_them() -> None:
    found = {
        kind: {".".join(path) for path, _, mark in tunables("testbed", kind) if not mark.values}
        for kind in drivers.kinds("testbeds")
    }
    assert found["local"] == found["cluster"] == set(OFFERED)


@pytest.mark.parametrize(
    ("table", "words", "sentence"),
    [
        (
            {"kind": "directory", "path": "/mnt"},
            {},
            "the driver directory declares no option that can be tuned",
        ),
        (
            {"kind": "cephfs"},
            {"only": ("client_cach",)},
            'cephfs has no tunable option "client_cach"; did you mean "client_cache"?',
        ),
        (
            {"kind": "cephfs"},
            {"only": ("store",)},
            "every value of store beside the campaign's own gives up durability",
        ),
        ({"kind": "cephfs", "copies": 9}, {}, "copies = 9 is out of range"),
        ({"kind": "cephfs", "copies": 8}, {}, "copies = 8 needs 8 hosts with data, but there are 4"),
        (
            {"kind": "moosefs", "goal": [1, 2]},
            {},
            "the table of moosefs stands for 2 file systems, but one is tuned at a time",
        ),
    ],
)
def test_what_cannot_be_tuned_is_refused(table: dict[str, Any], words: dict[str, Any], sentence: str) -> None:
    with pytest.raises(CampaignError) as error:
        found(table, **words)
    assert sentence in str(error.value)
