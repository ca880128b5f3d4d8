import tomllib

import pytest

from perjoule import catalogue, planning
from perjoule.planning.candidates import space
from perjoule.planning.parts import of_server
from places import EXAMPLES, ROOT, SOURCES

CATALOGUE = SOURCES / "catalogue"
PARTS = CATALOGUE / "parts"


@pytest.fixture(scope="module")
def parts():
    return planning.read(EXAMPLES / "needs" / "archive.toml").parts


def test_every_quantity_has_a_source_and_an_interval_around_its_value() -> None:
    question = planning.read(EXAMPLES / "needs" / "archive.toml")
    there = space(question).book.quantities
    assert all(one.low <= one.value <= one.high and one.source for one in there)
    assert [one.name for one in there if one.status != "stated" and one.low == one.high] == [], (
        "nobody knows these exactly"
    )


def test_data_under_a_license_that_must_be_kept_are_in_files_of_their_own_beside_it() -> None:
    assert "Open Database License" in (PARTS / "ODbL-1.0.txt").read_text()
    assert "Attribution-ShareAlike 4.0 International" in (PARTS / "CC-BY-SA-4.0.txt").read_text()
    assert tomllib.loads((PARTS / "grid-ember.toml").read_text()).keys() == {"grid"}
    assert tomllib.loads((PARTS / "drives-seagate.toml").read_text()).keys() == {"drive"}
    for name, license_name in (
        ("drives-seagate.toml", "ODbL-1.0.txt"),
        ("grid-ember.toml", "CC-BY-SA-4.0.txt"),
    ):
        assert license_name in (PARTS / name).read_text()
    others = [path for path in CATALOGUE.glob("*/*.toml") if path.name != "drives-seagate.toml"]
    assert [path.name for path in others if "life-cycle report of the" in path.read_text()] == []


def test_installed_packages_carry_the_files_of_the_catalogue_and_their_licenses() -> None:
    wanted = {
        path.relative_to(CATALOGUE).as_posix() for path in CATALOGUE.glob("*/*") if path.suffix != ".pyc"
    }
    packed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"][
        "perjoule"
    ]
    patterns = [one.removeprefix("catalogue/") for one in packed if one.startswith("catalogue/")]
    assert wanted == {
        path.relative_to(CATALOGUE).as_posix() for pattern in patterns for path in CATALOGUE.glob(pattern)
    }


@pytest.mark.parametrize("name", catalogue.boards())
def test_a_plan_and_a_cluster_have_the_same_watts_at_the_wall(parts, name) -> None:
    server, cluster = of_server(parts.server[name]), catalogue.cluster(catalogue.standing_for(name))
    board = next(node.board for node in cluster.nodes if node.board.name == name)
    card = parts.network[parts.server[name].networks[-1]].card_behind_supply
    added_w = card.value if card and cluster.name == name else 0.0
    efficiency = cluster.supply_efficiency.value
    assert server["mips"].value == board.mips.value
    assert (server["idle"].value * efficiency + added_w) == pytest.approx(board.idle_w.value, rel=1e-12)
    assert server["dynamic"].value * efficiency == pytest.approx(board.dynamic_w.value, rel=1e-12)


def test_watts_behind_a_supply_keep_their_interval_at_the_wall(parts) -> None:
    idle, dynamic = (of_server(parts.server["odroid-hc4"])[state] for state in ("idle", "dynamic"))
    assert (idle.low, idle.value, idle.high) == pytest.approx((4.9, 5.375, 5.9))
    assert (dynamic.low, dynamic.value, dynamic.high) == pytest.approx((1.7625, 4.5125, 7.2625))


def test_the_carbon_of_ssds_is_an_interval_of_fifty_times(parts) -> None:
    embodied = parts.technology["ssd"].embodied_per_tb
    assert embodied.high / embodied.low > 50
    assert all(drive.embodied is None for drive in parts.drive.values() if drive.technology == "ssd")
