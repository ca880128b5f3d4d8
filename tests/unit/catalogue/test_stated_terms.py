"""The three terms that shipped entries state follow from published watts that come with perjoule."""

from statistics import mean

import numpy as np
import pytest

from perjoule import catalogue
from perjoule.model.units import MIB
from perjoule.papers.published.metered import MeteredSeries, sources


def _series(source: str, load: str) -> MeteredSeries:
    return next(one for one in sources()[source].series if one.load == load)


def _fits() -> tuple[list[float], list[float]]:
    """Return the shares of step and bend that published curves have, each fitted by a step, a straight line and
    a cube of the load, by the normal equations.
    """
    steps, bends = [], []
    for cpu in sources()["specpower"].series:
        load, (idle_w,) = np.array(cpu.share), cpu.idle_watts
        terms = np.array([load**0, load, load**3])
        step, straight, cube = np.linalg.solve(terms @ terms.T, terms @ (np.array(cpu.watts) - idle_w))
        steps.append(step / (step + straight + cube))
        bends.append(cube / (straight + cube))
    return steps, bends


def test_a_servers_step_and_bend_are_the_shares_that_servers_under_specpower_show() -> None:
    """Plans draw half between low and value, and half between value and high: a quarter lies below the root of
    their product, as a quarter of the curves does.
    """
    steps, bends = _fits()
    server = catalogue.servers_by_name()["storage-2u12"]
    assert server.bend_at_wall and server.step_at_wall and server.dynamic_at_wall
    dynamic_w = server.dynamic_at_wall.value
    assert len(steps) == 45
    assert server.step_at_wall.value == pytest.approx(np.median(steps) * dynamic_w, abs=0.05)
    assert server.step_at_wall.high == pytest.approx(np.quantile(steps, 0.95) * dynamic_w, abs=1.0)
    assert server.step_at_wall.low <= 0.1  # W: one server in five has no step
    assert sum(share <= 0 for share in steps) / len(steps) == pytest.approx(0.2, abs=0.05)
    more_w = dynamic_w - server.step_at_wall.value
    low, value, high = server.bend_at_wall.low, server.bend_at_wall.value, server.bend_at_wall.high
    assert value == pytest.approx(np.median(bends) * more_w, abs=0.05)
    assert high == pytest.approx(np.quantile(bends, 0.95) * more_w, abs=1.0)
    for share, drawn_w in ((0.25, (low * value) ** 0.5), (0.75, (value * high) ** 0.5)):
        assert np.quantile(bends, share) * more_w == pytest.approx(drawn_w, abs=0.5)


def test_the_server_of_plans_draws_what_the_median_curve_draws() -> None:
    """Of its dynamic watts, within a twentieth at each load."""
    board = catalogue.servers_by_name()["storage-2u12"]
    assert board.bend_at_wall and board.step_at_wall and board.dynamic_at_wall
    step, bend = (
        term.value / board.dynamic_at_wall.value for term in (board.step_at_wall, board.bend_at_wall)
    )
    for load in np.arange(1, 11) / 10:
        shares = [
            (dict(zip(cpu.share, cpu.watts, strict=True))[load] - idle_w) / (cpu.watts[-1] - idle_w)
            for cpu in sources()["specpower"].series
            for idle_w in cpu.idle_watts
        ]
        stated = step + (1 - step) * load + bend * (load**3 - load)
        assert stated == pytest.approx(np.median(shares), abs=0.05)


def test_an_ssd_without_a_maker_is_steady_as_the_one_that_was_metered() -> None:
    fresh, steady, reads = (
        _series("nvme-powersensor3", load) for load in ("fresh writes", "sustained writes", "reads")
    )
    ssd = catalogue.drives_by_name()["m2-4tb"]
    assert ssd.sustained_write and ssd.sustained_behind_supply and ssd.active_behind_supply
    ratios = np.quantile(np.array(steady.mib_per_s), (0.05, 0.95)) / mean(fresh.mib_per_s)
    assert ssd.sustained_write.value / ssd.write.value == pytest.approx(
        mean(steady.mib_per_s) / mean(fresh.mib_per_s), abs=0.02
    )
    assert ssd.sustained_write.low <= ratios[0] * ssd.write.low * 1.03
    assert ssd.sustained_write.high >= ratios[1] * ssd.write.high * 0.95
    fastest_w = mean(sorted(reads.watts)[-200:])
    assert ssd.sustained_behind_supply.value == pytest.approx(
        ssd.active_behind_supply.value * mean(steady.watts) / fastest_w, rel=0.01
    )


def test_a_hard_disks_step_is_at_most_half_of_what_two_of_a_server_show() -> None:
    disks = _series("microserver-gen8", "disks")
    at_wall_w = (disks.watts[0] - disks.idle_watts[-1]) / 2
    hdd = catalogue.drives_by_name()["hdd-24tb"]
    assert hdd.step_behind_supply and hdd.active_behind_supply and hdd.idle_behind_supply
    assert hdd.step_behind_supply.high == pytest.approx(at_wall_w * 0.85, abs=0.02)
    assert hdd.step_behind_supply.high < hdd.active_behind_supply.value - hdd.idle_behind_supply.value


def test_clusters_of_papers_state_none_so_that_what_was_recorded_on_them_stays() -> None:
    for name in catalogue.names():
        found = catalogue.cluster(name)
        assert found.supply_no_load_w is None
        for node in found.nodes:
            assert node.board.step_w is None and node.board.bend_w is None
            assert all(disk.step_w is None and disk.sustained_w is None for disk in node.disks)


def test_writes_of_fresh_and_of_steady_ssds_differ() -> None:
    fresh = catalogue.cluster("rock-5b")
    steady = catalogue.sustained(fresh)
    (was,), (now,) = fresh.nodes[0].disks, steady.nodes[0].disks
    assert now.write_bytes_per_s.value < was.write_bytes_per_s.value
    assert now.active_w.value > was.active_w.value
    assert was.write_bytes_per_s.value == pytest.approx(1e9) and now.write_bytes_per_s.value > MIB
