import tomllib
from importlib.resources import files

import pytest

from perjoule import catalogue, planning
from perjoule.planning.candidates import space
from places import EXAMPLES, SOURCES

PARTS = SOURCES / "catalogue" / "parts"


@pytest.fixture(scope="module")
def parts():
    return planning.read(EXAMPLES / "needs" / "archive.toml").parts


def test_every_quantity_has_a_source_and_an_interval_around_its_value() -> None:
    question = planning.read(EXAMPLES / "needs" / "archive.toml")
    there = space(question).book.quantities
    assert all(one.low <= one.value <= one.high and one.source for one in there)
    assert [one.name for one in there if one.status != "stated" and one.low == one.high] == [], "nobody knows these exactly"


def test_data_under_a_license_that_must_be_kept_are_in_files_of_their_own_beside_it() -> None:
    assert "Open Database License" in (PARTS / "ODbL-1.0.txt").read_text()
    assert "Attribution-ShareAlike 4.0 International" in (PARTS / "CC-BY-SA-4.0.txt").read_text()
    assert tomllib.loads((PARTS / "grid-ember.toml").read_text()).keys() == {"grid"}
    assert tomllib.loads((PARTS / "drives-seagate.toml").read_text()).keys() == {"drive"}
    for name, license_name in (("drives-seagate.toml", "ODbL-1.0.txt"), ("grid-ember.toml", "CC-BY-SA-4.0.txt")):
        assert license_name in (PARTS / name).read_text()
    others = [path for path in PARTS.glob("*.toml") if path.name != "drives-seagate.toml"]
    assert [path.name for path in others if "life-cycle report of the" in path.read_text()] == []


def test_installed_packages_carry_the_parts_and_their_licenses() -> None:
    names = {one.name for one in (files("perjoule.catalogue") / "parts").iterdir()}
    assert {path.name for path in PARTS.iterdir()} == names


@pytest.mark.parametrize("name", ["odroid-hc4", "supermicro-2124bt"])
def test_servers_of_the_catalogue_have_its_watts_at_the_wall(parts, name) -> None:
    server = parts.server[name]
    cluster = catalogue.cluster(server.cluster)
    board = next(node.board for node in cluster.nodes if node.board.name == name)
    supply_efficiency = cluster.supply_efficiency.value
    assert server.mips.value == board.mips.value
    assert server.idle.value == pytest.approx(board.idle_w.value / supply_efficiency, rel=0.002)
    assert server.dynamic.value == pytest.approx(board.dynamic_w.value / supply_efficiency, rel=0.002)


@pytest.mark.parametrize("name", ["wd-black-1tb", "intel-p4510-4tb", "samsung-pm9a3-3840gb"])
def test_drives_of_the_catalogue_have_its_values(parts, name) -> None:
    disks = {
        disk.name: disk
        for cluster in map(catalogue.cluster, ("odroid-hc4", "reference-2"))
        for node in cluster.nodes
        for disk in node.disks
    }
    drive, disk = parts.drive[name], disks[name]
    assert drive.capacity_bytes == disk.capacity_bytes.value
    for own, its in (
        ("read", disk.read_bytes_per_s),
        ("write", disk.write_bytes_per_s),
        ("idle", disk.idle_w),
        ("active", disk.active_w),
    ):
        assert getattr(drive, own).value == pytest.approx(its.value), own


def test_the_carbon_of_ssds_is_an_interval_of_fifty_times(parts) -> None:
    embodied = parts.technology["ssd"].embodied_per_tb
    assert embodied.high / embodied.low > 50
    assert all(drive.embodied is None for drive in parts.drive.values() if drive.technology == "ssd")
