import tomllib
from importlib.resources import files

import pytest

from perjoule import catalogue
from perjoule.catalogue import Value
from perjoule.catalogue.reading import read_all
from perjoule.model.errors import CampaignError
from perjoule.planning.parts import shipped

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
    [("odroid-hc4", 40.9, 1e-9), ("reference-1", 460.21, 1e-9), ("reference-2", 699.3, 1e-9), ("cubieboard2", 148.7, 0.11)],
)
def test_the_idle_power_without_switch_is_the_printed_one(name: str, idle_w: float, tolerance_w: float):
    assert catalogue.idle_w(catalogue.cluster(name), switch=False) == pytest.approx(idle_w, abs=tolerance_w)


def test_every_hard_disk_seeks_for_longer_than_half_a_turn_and_nothing_else_does():
    disks = {disk.name: disk for name in catalogue.names() for node in catalogue.cluster(name).nodes for disk in node.disks}
    turns_hz = {disk.name: (90 if "1000lm035" in disk.name else 120) for disk in disks.values()}  # 5400 and 7200 rpm
    for disk in disks.values():
        assert (disk.seek_s is not None) == (disk.technology == "hdd"), disk.name
        if disk.seek_s:
            assert 0.008 < disk.seek_s.value - 0.5 / turns_hz[disk.name] < 0.013, disk.name


CPU_USE = {"storage": 0.31, "metadata": 0.067, "management": 0.0}  # at the operating point, as emulated (ADR 70)
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
        known |= {f"{what} of board {board}" for board in boards for what in ("idle", "dynamic", "7-zip rating")}
        known |= {f"{what} of disk {disk}" for disk in disks for what in ("idle", "active")}
        values = [v for b in boards.values() for v in (b.idle_w, b.dynamic_w)]
        values += [v for d in disks.values() for v in (d.idle_w, d.active_w)]
        assert {source for value in values for source in value.follows} <= known


@pytest.mark.parametrize(
    ("cpu_use", "disk_use", "wanted_w"), [(0, 0, 40.9), (CPU_USE, DISK_USE, 53.21)], ids=["idle", "at the operating point"]
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
            total_w += node.count * (of(f"idle of board {board.name}", board.idle_w) + dynamic_w * cpu / rating)
            for disk in node.disks:
                idle_w, active_w = of(f"idle of disk {disk.name}", disk.idle_w), of(f"active of disk {disk.name}", disk.active_w)
                total_w += node.count * (idle_w + (active_w - idle_w) * disks)
        return total_w / of("supply efficiency", cluster.supply_efficiency)

    assert wall_w("", 0.0) == pytest.approx(wanted_w, abs=0.02)
    assumed = {"supply efficiency": 0.01, "idle of disk wd-black-1tb": 0.1, "idle of disk samsung-860-pro-512gb": 0.03}
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
    assert (value.low - idle_w, value.high - idle_w) == (pytest.approx(low_w, abs=0.01), pytest.approx(high_w, abs=0.01))
    moved = [
        value.value + value.follows["load"] * (end - cluster.load_w.value) for end in (cluster.load_w.low, cluster.load_w.high)
    ]
    assert [value.low, value.high] == pytest.approx(moved, abs=0.02)


def test_no_sample_was_higher_than_storage_nodes_can_reach():
    cluster = catalogue.cluster("odroid-hc4")
    assert cluster.highest_w is not None
    storage = cluster.nodes[0]
    more_w = storage.board.dynamic_w.value + sum(disk.active_w.value - disk.idle_w.value for disk in storage.disks)
    assert 40.9 + 4 * more_w / 0.8 > cluster.highest_w.value


def test_the_parts_of_a_plan_are_those_of_the_cluster_that_they_name():
    """The watts of a board, a disk and a switch stand twice: in a cluster, and behind its supply as parts of a plan."""
    parts, compared = shipped(), 0
    for name, server in parts.server.items():
        for node in (
            (node for node in catalogue.cluster(server.cluster).nodes if node.board.name == name) if server.cluster else ()
        ):
            supply = catalogue.cluster(server.cluster).supply_efficiency.value
            for own, board in ((server.idle, node.board.idle_w), (server.dynamic, node.board.dynamic_w)):
                compared += 1
                assert own.value == pytest.approx(board.value / supply, rel=5e-3), name
                if board.low is not None and board.high is not None:
                    assert (own.low, own.high) == (
                        pytest.approx(board.low / supply, rel=5e-3), pytest.approx(board.high / supply, rel=5e-3)
                    ), name  # fmt: skip
    disks = {disk.name: disk for one in catalogue.names() for node in catalogue.cluster(one).nodes for disk in node.disks}
    for name, drive in parts.drive.items():
        if name in disks:
            compared += 1
            assert drive.idle and drive.active, name
            assert drive.idle.value == pytest.approx(disks[name].idle_w.value), name
            assert drive.active.value == pytest.approx(disks[name].active_w.value), name
    assert compared >= 3


def test_reference_2_takes_at_most_the_printed_peak():
    assert catalogue.peak_w(catalogue.cluster("reference-2"), switch=False) == pytest.approx(1057)


def test_the_arm_cluster_gives_the_papers_capacity_per_watt():
    cluster = catalogue.cluster("odroid-hc4")
    assert catalogue.capacity_bytes(cluster) / TIB / catalogue.idle_w(cluster, switch=False) == pytest.approx(0.178, abs=5e-4)


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
    parts = [cluster, *(node.board for node in cluster.nodes), *(disk for node in cluster.nodes for disk in node.disks)]
    values = [value for part in parts for value in vars(part).values() if isinstance(value, Value)]
    assert len(values) > 10
    assert all(value.source and value.status for value in values)
    assert all(value.sigma > 0 for value in values if value.status == "fitted" and value.source.startswith("share"))
    assert cluster.source and cluster.notes


def _text() -> str:
    return files("perjoule.catalogue").joinpath("odroid-hc4.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("written", "broken", "complaint"),
    [
        ('sigma = "0.15 W"', 'sgma = "0.15 W"', "switch.sgma: unknown key"),
        ("cores = 4", "kores = 4", "board.odroid-hc4.kores: unknown key"),
        ("title =", "tilte =", "tilte: unknown key"),
        ('"15.46 W"', '"15.46 V"', 'unknown unit "V"'),
        ('"15.46 W"', "15.46", "has no unit"),
        ('value = "1 TB"', 'value = "-1 TB"', "disk.wd-black-1tb.capacity.value"),
        ('status = "measured", source = "Table I, network"', 'status = "measured"', "board.odroid-hc4.nic.source"),
        ('status = "measured", source = "Table I, network"', 'status = "guessed", source = "x"', "board.odroid-hc4.nic.status"),
        ('board = "odroid-hc4"', 'board = "odroid-hc5"', "no board or disk is called 'odroid-hc5'"),
        ('low = "4.8 W"', 'low = "14.8 W"', "load: Value error, the value is not between low and high"),
        ('low = "4.8 W"\n', "", "load: Value error, a bound states low and high"),
        ("value = 0.80", "value = 1.2", "supply_efficiency is not between 0 and 1"),
        ('value = "111.34 MiB/s"', 'value = "0 MiB/s"', "board.odroid-hc4.nic is 0; write what it reaches"),
        ("[switch]", "[switch", "not TOML"),
    ],
)
def test_a_catalogue_file_with_a_fault_is_refused_with_the_place(written: str, broken: str, complaint: str):
    text = _text()
    assert written in text
    with pytest.raises(CampaignError) as refusal:
        catalogue.read(text.replace(written, broken), "mine")
    assert complaint in str(refusal.value)
    assert "mine.toml" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_an_unknown_cluster_is_answered_with_its_neighbour():
    with pytest.raises(CampaignError, match='did you mean "odroid-hc4"'):
        catalogue.cluster("odroid-h4")


def test_a_name_without_neighbour_is_answered_with_the_list():
    with pytest.raises(CampaignError, match=r"cubieboard2, mpsoc-hdd1, .*odroid-hc4"):
        catalogue.cluster("zzz")


def test_quantities_in_the_files_carry_their_unit():
    board = tomllib.loads(_text())["board"]["odroid-hc4"]
    assert board["nic"]["value"] == "111.34 MiB/s"


def test_a_file_with_variants_is_a_cluster_for_each_device_in_each_machine():
    found = {name for name in catalogue.names() if name.startswith(("pc-", "mpsoc-"))}
    assert found == {f"{machine}-{device}" for machine in ("pc", "mpsoc") for device in ("hdd1", "hdd2", "ssd1", "ssd2")}
    nodes = [catalogue.cluster(name).nodes for name in found]
    assert all([(node.role, node.count, len(node.disks)) for node in one] == [("client", 1, 1)] for one in nodes)
    with pytest.raises(CampaignError, match="the file has variants; name one of pc-hdd1"):
        catalogue.read(files("perjoule.catalogue").joinpath("ssd-vs-hdd.toml").read_text("utf-8"), "ssd-vs-hdd")


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
        catalogue.read(_text().replace('[[node]]\nname = "A"', '[[variant.x]]\nname = "A"'), "mine")


@pytest.mark.parametrize("text", ["a = " + "9" * 5000, "a = " + "[" * 5000])
def test_a_file_that_no_reader_of_toml_takes_is_refused(text):
    with pytest.raises(CampaignError, match=r"catalogue file x\.toml: not TOML"):
        read_all(text, "x")
