from importlib.resources import files
from pathlib import Path

import pytest

from perjoule import catalogue
from perjoule.catalogue import Value
from perjoule.catalogue.reading import read_all
from perjoule.catalogue.watts import board_w, disks_w
from perjoule.model.errors import CampaignError
from perjoule.papers import published

MIB, GIB, TIB = 1024**2, 1024**3, 1024**4


@pytest.mark.parametrize(
    ("name", "printed_bytes_per_s"),
    [("odroid-hc4", 445.36 * MIB), ("reference-1", 448.88 * MIB), ("reference-2", 44.04 * GIB)],
)
def test_the_theoretical_peak_is_the_one_that_table_i_prints(name: str, printed_bytes_per_s: float):
    assert catalogue.tpp_bytes_per_s(catalogue.cluster(name)) == pytest.approx(printed_bytes_per_s, rel=1e-9)


def test_a_slow_disk_and_a_slow_network_each_bound_their_own_nodes():
    supermicro, gigabyte = catalogue.cluster("reference-2").nodes[:2]
    assert sum(d.write_bytes_per_s.value for d in supermicro.disks) < supermicro.board.nic_bytes_per_s.value
    assert sum(d.write_bytes_per_s.value for d in gigabyte.disks) > gigabyte.board.nic_bytes_per_s.value


def test_the_cubieboard_peak_is_the_papers_150_mb_s_less_protocol_overhead():
    assert catalogue.tpp_bytes_per_s(catalogue.cluster("cubieboard2")) == pytest.approx(150e6 * 0.941)


@pytest.mark.parametrize(
    ("name", "idle_w", "tolerance_w"),
    [
        ("odroid-hc4", 40.9, 1e-9),
        ("reference-1", 460.21, 1e-9),
        ("reference-2", 699.3, 1e-9),
        ("cubieboard2", 148.7, 0.11),
    ],
)
def test_the_idle_power_without_switch_is_the_printed_one(name: str, idle_w: float, tolerance_w: float):
    assert catalogue.idle_w(catalogue.cluster(name), switch=False) == pytest.approx(idle_w, abs=tolerance_w)


def test_the_desktop_pc_draws_what_its_printed_energy_bytes_and_rate_say():
    printed = {number.id: number.value for number in published.paper("cubieboard").numbers}
    mean_w = printed["energy_pc_boards_disks"] / (printed["read_size"] / printed["rate_pc_boards_disks"])
    (node,) = catalogue.cluster("desktop-pc").nodes
    modelled_w = board_w(node.board, printed["pc_cpu"]) + disks_w(node.disks, printed["pc_disk_share"])
    assert modelled_w == pytest.approx(mean_w, rel=0.003)


def test_the_nas_draws_its_printed_watts_with_any_load_of_its_disks():
    printed = {number.id: number.value for number in published.paper("cubieboard").numbers}
    (node,) = (node for node in catalogue.cluster("nas-12-bays").nodes if node.role == "storage")
    assert len(node.disks) == printed["nas_disks"]
    idle = node.board.idle_w
    assert idle.low is not None
    assert idle.high is not None
    for board_idle_w, use in ((idle.low, 1.0), (idle.high, 0.0)):
        assert board_idle_w + disks_w(node.disks, use) == pytest.approx(printed["nas_power"], abs=0.1)
    assert idle.value == pytest.approx((idle.low + idle.high) / 2)
    assert idle.sigma == pytest.approx((idle.high - idle.low) / 12**0.5, rel=0.01)


def test_every_hard_disk_seeks_for_longer_than_half_a_turn_and_nothing_else_does():
    drives = catalogue.drives_by_name()
    turns_hz = {"seagate-st1000lm035": 90, "exos-5e8": 98}  # 5400 and 5900 rpm; others have 7200
    for name, drive in drives.items():
        assert (drive.seek is not None) == (drive.technology == "hdd"), name
        if drive.seek:
            assert 0.008 < drive.seek.value - 0.5 / turns_hz.get(name, 120) < 0.013, name


# at the operating point, as emulated (ADR 70)
CPU_USE = {"storage": 0.31, "metadata": 0.067, "management": 0.0}
DISK_USE = {"storage": 0.355, "metadata": 0.0, "management": 0.0}


def test_the_arm_cluster_draws_at_the_operating_point_what_its_load_says():
    cluster = catalogue.cluster("odroid-hc4")
    assert catalogue.idle_w(cluster, switch=True) == pytest.approx(56.36)
    assert cluster.load_w is not None
    load_w = sum(
        node.count
        * (
            CPU_USE[node.role] * node.board.dynamic_w.value
            + DISK_USE[node.role] * sum(disk.active_w.value - disk.idle_w.value for disk in node.disks)
        )
        for node in catalogue.servers(cluster)
    )
    assert load_w / 0.8 == pytest.approx(cluster.load_w.value, abs=0.02)


def test_what_a_fitted_coefficient_follows_is_another_coefficient_of_the_same_file():
    for name in catalogue.names():
        cluster = catalogue.cluster(name)
        boards = {node.board.name: node.board for node in cluster.nodes}
        disks = {disk.name: disk for node in cluster.nodes for disk in node.disks}
        known = {"switch", "supply efficiency"} | ({"load"} if cluster.load_w else set())
        known |= {
            f"{what} of board {board}" for board in boards for what in ("idle", "dynamic", "7-zip rating")
        }
        known |= {f"{what} of disk {disk}" for disk in disks for what in ("idle", "active")}
        values = [v for b in boards.values() for v in (b.idle_w, b.dynamic_w)]
        values += [v for d in disks.values() for v in (d.idle_w, d.active_w)]
        assert {source for value in values for source in value.follows} <= known


@pytest.mark.parametrize(
    ("cpu_use", "disk_use", "wanted_w"),
    [(0, 0, 40.9), (CPU_USE, DISK_USE, 53.21)],
    ids=["idle", "at the operating point"],
)
def test_what_was_measured_stays_as_it_is_whatever_was_assumed_to_split_it(cpu_use, disk_use, wanted_w):
    def wall_w(name: str, by: float) -> float:
        """Watts without the switch when a coefficient, and what follows it, is off by this much."""
        cluster = catalogue.cluster("odroid-hc4")

        def of(own: str, one: Value) -> float:
            return one.value + by * ((own == name) + one.follows.get(name, 0.0))

        total_w = 0.0
        for node in catalogue.servers(cluster):
            board, cpu, disks = node.board, cpu_use and cpu_use[node.role], disk_use and disk_use[node.role]
            rating = of(f"7-zip rating of board {board.name}", board.mips) / board.mips.value
            dynamic_w = of(f"dynamic of board {board.name}", board.dynamic_w)
            total_w += node.count * (
                of(f"idle of board {board.name}", board.idle_w) + dynamic_w * cpu / rating
            )
            for disk in node.disks:
                idle_w, active_w = (
                    of(f"idle of disk {disk.name}", disk.idle_w),
                    of(f"active of disk {disk.name}", disk.active_w),
                )
                total_w += node.count * (idle_w + (active_w - idle_w) * disks)
        return total_w / of("supply efficiency", cluster.supply_efficiency)

    assert wall_w("", 0.0) == pytest.approx(wanted_w, abs=0.02)
    assumed = {
        "supply efficiency": 0.01,
        "idle of disk wd-black-1tb": 0.1,
        "idle of disk samsung-860-pro-512gb": 0.03,
    }
    assumed |= {"active of disk wd-black-1tb": 0.1, "7-zip rating of board odroid-hc4": 30}
    for name, by in assumed.items():
        assert wall_w(name, by) == pytest.approx(wall_w("", 0.0), abs=0.02), name
    assert wall_w("idle of board odroid-hc4", 0.1) - wall_w("", 0.0) == pytest.approx(0.75)
    assert wall_w("load", 1.0) - wall_w("", 0.0) == pytest.approx(1.0 if cpu_use else 0.0, abs=1e-3)


@pytest.mark.parametrize(("part", "low_w", "high_w"), [("dynamic", 1.41, 5.81), ("active", 0.7, 2.91)])
def test_the_range_of_a_fitted_coefficient_is_that_of_the_load(part: str, low_w: float, high_w: float):
    cluster = catalogue.cluster("odroid-hc4")
    assert cluster.load_w is not None and cluster.load_w.low is not None and cluster.load_w.high is not None
    storage = cluster.nodes[0]
    value = storage.board.dynamic_w if part == "dynamic" else storage.disks[0].active_w
    idle_w = 0.0 if part == "dynamic" else storage.disks[0].idle_w.value
    assert value.low is not None and value.high is not None
    assert (value.low - idle_w, value.high - idle_w) == (
        pytest.approx(low_w, abs=0.01),
        pytest.approx(high_w, abs=0.01),
    )
    moved = [
        value.value + value.follows["load"] * (end - cluster.load_w.value)
        for end in (cluster.load_w.low, cluster.load_w.high)
    ]
    assert [value.low, value.high] == pytest.approx(moved, abs=0.02)


def test_no_sample_was_higher_than_storage_nodes_can_reach():
    cluster = catalogue.cluster("odroid-hc4")
    assert cluster.highest_w is not None
    storage = cluster.nodes[0]
    more_w = storage.board.dynamic_w.value + sum(
        disk.active_w.value - disk.idle_w.value for disk in storage.disks
    )
    assert 40.9 + 4 * more_w / 0.8 > cluster.highest_w.value


def test_reference_2_takes_at_most_the_printed_peak():
    assert catalogue.peak_w(catalogue.cluster("reference-2"), switch=False) == pytest.approx(1057)


def test_the_arm_cluster_gives_the_papers_capacity_per_watt():
    cluster = catalogue.cluster("odroid-hc4")
    assert catalogue.capacity_bytes(cluster) / TIB / catalogue.idle_w(cluster, switch=False) == pytest.approx(
        0.178, abs=5e-4
    )


def test_reference_2_deviates_from_the_printed_capacity_per_watt_and_says_so():
    cluster = catalogue.cluster("reference-2")
    density = catalogue.capacity_bytes(cluster) / TIB / catalogue.idle_w(cluster, switch=False)
    assert density == pytest.approx(0.1076, abs=5e-5)
    assert any("0.066 TiB/W" in note and "0.108 TiB/W" in note for note in cluster.notes)


def test_the_arm_cluster_has_the_hosts_of_the_paper():
    cluster = catalogue.cluster("odroid-hc4")
    assert [(n.role, n.count, len(n.disks)) for n in catalogue.servers(cluster)] == [
        ("storage", 4, 2),
        ("metadata", 1, 2),
        ("management", 1, 0),
    ]
    assert cluster.nodes[0].board.mips.value == pytest.approx(5730 * 1.8 / 2.1, abs=1)


@pytest.mark.parametrize("name", catalogue.names())
def test_every_value_of_every_cluster_has_a_source_and_a_status(name: str):
    cluster = catalogue.cluster(name)
    parts = [
        cluster,
        *(node.board for node in cluster.nodes),
        *(disk for node in cluster.nodes for disk in node.disks),
    ]
    values = [value for part in parts for value in vars(part).values() if isinstance(value, Value)]
    assert len(values) > 10
    assert all(value.source and value.status for value in values)
    assert all(
        value.sigma > 0 for value in values if value.status == "fitted" and value.source.startswith("share")
    )
    assert cluster.source and cluster.notes


OWN = """
title = "Ours"
source = "our plug"
supply_efficiency = { value = 0.80, status = "assumed", source = "typical" }

[switch_at_wall]
value = "5 W"
sigma = "0.5 W"
status = "measured"
source = "our plug"

[load_at_wall]
value = "12 W"
low = "4.8 W"
high = "19 W"
status = "bound"
source = "our plug"

[board.ours]
cores = 4
mips = { value = 5000, status = "measured", source = "7z b" }
nic = { value = "111 MiB/s", status = "measured", source = "iperf3" }
idle_behind_supply = { value = "4 W", status = "measured", source = "our plug" }
dynamic_at_wall = { value = "5 W", low = "4 W", high = "6 W", status = "measured", source = "our plug" }

[drive.ours]
technology = "ssd"
capacity = { value = "1 TB", status = "datasheet", source = "the maker" }
read = { value = "500 MiB/s", status = "measured", source = "fio" }
write = { value = "400 MiB/s", status = "measured", source = "fio" }
idle_behind_supply = { value = "0.1 W", status = "assumed", source = "typical" }
active_behind_supply = { value = "2.5 W", status = "assumed", source = "typical" }

[[node]]
name = "A"
role = "storage"
count = 4
board = "ours"
drives = { ours = 2, wd-black-1tb = 1 }

[[node]]
name = "G"
role = "client"
count = 4
board = "rock-5b"
"""


def test_a_cluster_of_ones_own_has_boards_of_its_own_and_of_the_catalogue():
    found = catalogue.read(OWN, "mine", "mine.toml")
    storage, client = found.nodes
    assert [disk.name for disk in storage.disks] == ["ours", "ours", "wd-black-1tb"]
    # 5 W at the wall, behind 80 %
    assert (storage.board.idle_w.value, storage.board.dynamic_w.value) == (4, 4)
    assert storage.board.dynamic_w.follows == {"supply efficiency": 5}
    assert client.board.idle_w.value == 3.6, "the cluster's supply does not feed its clients"


@pytest.mark.parametrize(
    ("written", "broken", "complaint"),
    [
        ('sigma = "0.5 W"', 'sgma = "0.5 W"', 'switch_at_wall has no key "sgma"; did you mean "sigma"?'),
        ("cores = 4", "kores = 4", '[board.ours] has no key "kores"; did you mean "cores"?'),
        (
            "cores = 4\n",
            "",
            "[board.ours] lacks cores, which a cluster of it needs; add cores with its source",
        ),
        ("title =", "tilte =", 'a cluster has no key "tilte"; did you mean "title"?'),
        ('"5 W"\nsigma', '"5 V"\nsigma', 'unknown unit "V"'),
        ('"5 W"\nsigma', "5\nsigma", "has no unit"),
        ('value = "1 TB"', 'value = "-1 TB"', "drive.ours.capacity.value"),
        ('status = "measured", source = "iperf3"', 'status = "measured"', '[board.ours.nic] lacks "source"'),
        (
            'status = "measured", source = "iperf3"',
            'status = "guessed", source = "x"',
            'board.ours.nic.status = "guessed" is not a valid value; known: measured',
        ),
        (
            'nic = { value = "111 MiB/s", status = "measured", source = "iperf3" }',
            'nic = "1 Gbit/s"',
            "board.ours.nic: it has no source",
        ),
        (
            'board = "ours"',
            'board = "odroid-hc5"',
            'no board is called "odroid-hc5"; did you mean "odroid-hc4"?',
        ),
        (
            "wd-black-1tb = 1",
            "wd-blue-1tb = 1",
            'no drive is called "wd-blue-1tb"; did you mean "wd-black-1tb"?',
        ),
        (
            'low = "4.8 W"',
            'low = "14.8 W"',
            "load_at_wall: low, value and high are not in order",
        ),
        ('low = "4.8 W"\n', "", "load_at_wall: a bound states low and high"),
        ("value = 0.80", "value = 1.2", "supply_efficiency is not between 0 and 1"),
        ('value = "111 MiB/s"', 'value = "0 MiB/s"', "board.ours.nic is 0; write what it reaches"),
        (
            'technology = "ssd"',
            'technology = "tape"',
            'technology "tape" is not known; write hdd, ssd, nvme or sd',
        ),
        (
            'idle_behind_supply = { value = "4 W"',
            'idle = { value = "4 W"',
            '[board.ours] has no key "idle"; write idle_at_wall or idle_behind_supply',
        ),
        (
            "dynamic_at_wall =",
            'dynamic_behind_supply = { value = "4 W", status = "assumed", source = "x" }\ndynamic_at_wall =',
            "states dynamic both at the wall and behind the supply",
        ),
        ("[switch_at_wall]", "[switch_at_wall", "not TOML"),
        (
            "[switch_at_wall]",
            "[highest_at_wall]",
            'no switch is stated; write switch = "NAME", or switch_at_wall',
        ),
    ],
)
def test_a_catalogue_file_with_a_fault_is_refused_with_the_place(written: str, broken: str, complaint: str):
    assert written in OWN
    with pytest.raises(CampaignError) as refusal:
        catalogue.read(OWN.replace(written, broken), "mine", "mine.toml")
    assert complaint in str(refusal.value)
    assert "mine.toml" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_an_unknown_cluster_is_answered_with_its_neighbour():
    with pytest.raises(CampaignError, match='did you mean "odroid-hc4"'):
        catalogue.cluster("odroid-h4")


def test_a_name_without_neighbour_is_answered_with_the_list():
    with pytest.raises(CampaignError, match=r"cubieboard2, .*mpsoc-hdd1, .*odroid-hc4, .*rock-5b"):
        catalogue.cluster("zzz")


def test_a_file_with_variants_is_a_cluster_for_each_device_in_each_machine():
    found = {name for name in catalogue.names() if name.startswith(("pc-", "mpsoc-"))}
    alone = {
        f"{machine}-{device}" for machine in ("pc", "mpsoc") for device in ("hdd1", "hdd2", "ssd1", "ssd2")
    }
    servers = {f"{machine}-server-{device}" for machine in ("pc", "mpsoc") for device in ("hdd1", "ssd1")}
    assert found == alone | servers
    nodes = [catalogue.cluster(name).nodes for name in alone]
    assert all(
        [(node.role, node.count, len(node.disks)) for node in one] == [("client", 1, 1)] for one in nodes
    )
    with pytest.raises(CampaignError, match="the file has variants; name one of pc-hdd1"):
        catalogue.read(
            files("perjoule.catalogue").joinpath("clusters", "ssd-vs-hdd.toml").read_text("utf-8"),
            "ssd-vs-hdd",
            "ssd-vs-hdd.toml",
        )


def test_machines_of_that_study_are_servers_with_its_devices_and_sd_cards_are_disks():
    for name in ("pc-server-hdd1", "mpsoc-server-ssd1"):
        server, client = catalogue.cluster(name).nodes
        (alone,) = catalogue.cluster(name.replace("-server", "")).nodes
        assert (server.role, server.board, server.disks) == ("storage", alone.board, alone.disks)
        assert client.role == "client"
    card = catalogue.cluster("cubieboard2-sd").nodes[0].disks[0]
    hard_disk = catalogue.cluster("cubieboard2").nodes[0].disks[0]
    assert card.technology == "sd"
    assert card.active_w.value < hard_disk.idle_w.value


@pytest.mark.parametrize(
    "heading", ["[[variant.v1]]", "  [[variant.v1]]", '[[variant."v1"]]', "[[ variant . v1 ]]"]
)
def test_a_variant_is_found_however_toml_writes_its_name(
    heading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "clusters").mkdir()
    file = tmp_path / "clusters" / "mine.toml"
    file.write_text(OWN.replace("[[node]]", heading))
    monkeypatch.setenv("PERJOULE_CATALOGUE", str(tmp_path))
    assert "v1" in catalogue.names()
    assert catalogue.cluster("v1").nodes


def test_a_disk_is_no_faster_and_no_more_active_than_the_port_of_its_board_lets_it_be():
    there, behind = (catalogue.cluster(name).nodes[0].disks[0] for name in ("pc-ssd1", "mpsoc-ssd1"))
    assert (there.read_bytes_per_s.value, behind.read_bytes_per_s.value) == (540e6, 200e6)
    assert (there.write_bytes_per_s.value, behind.write_bytes_per_s.value) == (280e6, 45e6)
    assert behind.active_w.value == pytest.approx(0.05 + (2.5 - 0.05) * 200 / 540)
    assert "port of cubietruck" in behind.active_w.source
    slow, same = (catalogue.cluster(name).nodes[0].disks[0] for name in ("pc-hdd2", "mpsoc-hdd2"))
    assert slow == same  # 45 MB/s fit through the port


def test_a_file_with_nodes_and_variants_is_refused():
    with pytest.raises(CampaignError, match="neither nodes nor variants, or both"):
        catalogue.read(OWN.replace('[[node]]\nname = "A"', '[[variant.x]]\nname = "A"'), "mine", "mine.toml")


@pytest.mark.parametrize("text", ["a = " + "9" * 5000, "a = " + "[" * 5000])
def test_a_file_that_no_reader_of_toml_takes_is_refused(text):
    with pytest.raises(CampaignError, match=r"^x\.toml: not TOML"):
        read_all(text, "x", "x.toml")
