"""Joules by device, computed again from their definition."""

from dataclasses import replace

import numpy as np
import pytest

from perjoule.figures import rendering
from perjoule.measures.points import points
from perjoule.model import PartEnergy
from perjoule.summary.metered import metered
from perjoule.trial.parts import parts
from perjoule.trial.reading import Reading
from perjoule.views.power import parts as figure
from perjoule.views.power.parts import parts_table
from readings import over
from typed import present

WINDOW = (10.0, 20.0)


def states(made, values, *, every_s=1.0):
    channel = made.channel("storage-2", "drive-nvme0", "power", "state", "nameplate", "nvme")
    t_s = np.arange(len(values)) * every_s
    return made.series(channel, t_s, np.array(values, dtype=float))


def drive(made, watts, *, host="storage-1", meter="quarch"):
    return made.steady(host, watts, component="drive-nvme0", grade="component", meter=meter)


def told(found):
    return {(part.host, part.part, part.meter): part for part in found}


def test_each_part_of_a_host_has_its_own_joules_and_whole_hosts_have_none(made):
    rows = [
        made.steady("storage-1", 40.0),
        drive(made, 6.0),
        drive(made, 5.5, meter="nvme"),
        made.steady("", 5.0, component="switch"),
    ]
    group = made.steady("", 9.0, component="drive-nvme1", grade="component")
    found = told(parts(over(made.record(), [*rows, group]), *WINDOW))
    assert {key: part.energy_j for key, part in found.items()} == pytest.approx(
        {("storage-1", "drive-nvme0", "nvme"): 55.0, ("storage-1", "drive-nvme0", "quarch"): 60.0}
    )
    assert found["storage-1", "drive-nvme0", "quarch"].mean_w == pytest.approx(6.0)


def test_a_state_has_a_bound_which_is_the_higher_of_both_neighbours_and_no_joules(made):
    values = [25.0 if 12 <= n <= 14 else 5.0 for n in range(31)]
    (part,) = parts(over(made.record(), [states(made, values)]), *WINDOW)
    high_s = 4.0  # 25 W from 12 s to 14 s, and until the neighbours on either side said otherwise
    assert part.energy_j is None
    assert part.mean_w is None
    assert part.most_j == pytest.approx(25 * high_s + 5 * (10 - high_s))
    (unseen,) = parts(over(made.record(), [states(made, values[:18])]), *WINDOW)
    assert unseen.most_j is None


def test_meters_of_drives_alone_cover_no_server_and_a_state_is_no_reason(made):
    (point,) = points(made.record(), [drive(made, 6.0), states(made, [25.0] * 31)])
    assert "energy_j" not in point.metrics
    assert any("no meter covers a whole server" in doubt for doubt in point.doubts)
    assert not any("no power of" in doubt for doubt in point.doubts)


def test_modelled_parts_and_parts_of_a_machine_that_emulates_are_left_out(made):
    modelled = made.steady("storage-1", 3.0, component="board", grade="modelled")
    simulated = made.steady("storage-1", 3.0, component="board", grade="simulated", meter="simulated")
    record = replace(made.record(), scale=0.2)
    (part,) = parts(over(record, [modelled, simulated, drive(made, 6.0)]), *WINDOW)
    assert (part.grade, part.energy_j, part.length_s) == ("simulated", pytest.approx(3.0 * 10 * 0.2), 2.0)
    assert parts(over(made.record(), [modelled]), *WINDOW) == ()


def test_a_refused_energy_is_no_number(made):
    whole = drive(made, 6.0)
    value = whole.value.copy()
    value[(whole.t_s > 12) & (whole.t_s < 16)] = np.nan
    (part,) = parts(over(made.record(), [replace(whole, value=value)]), *WINDOW)
    assert (part.energy_j, part.most_j) == (None, None)


def test_the_table_has_the_mean_over_repetitions_and_the_largest_bound(made):
    one = present(metered(Reading(made.record(), [drive(made, 6.0), states(made, [5.0] * 31)])))
    other = present(metered(Reading(made.record(), [drive(made, 8.0), states(made, [25.0] * 31)])))
    rows = [row[3:] for row in parts_table([one, other]).rows]
    assert rows == [
        ("storage-1", "nvme0", "quarch", "component", "70.00", "7.00"),
        ("storage-2", "nvme0", "nvme", "nameplate", "at most 250.0", "–"),
    ]
    assert parts_table([present(metered(Reading(made.record(), [made.steady("storage-1", 3.0)])))]).rows == ()


def test_the_figure_has_a_bar_for_each_part_and_says_what_is_a_bound():
    found = [
        PartEnergy("storage-1", "drive-nvme0", "quarch", "component", 10.0, 60.0),
        PartEnergy("storage-1", "drive-nvme0", "nvme", "nameplate", 10.0, None, 250.0),
        PartEnergy("storage-1", "package-0", "rapl", "component", 10.0, 3210.0),
        PartEnergy("storage-2", "package-0", "rapl", "component", 10.0, None),
    ]
    spec = figure.parts(found)
    assert [(row["bar"], row["text"], row["bound"]) for row in spec["data"]["values"]] == [
        ("storage-1 nvme0, quarch", "60.00 J, 6.00 W", False),
        ("storage-1 nvme0, nvme", "at most 250.0 J", True),
        ("storage-1 package-0", "3210 J, 321.0 W", False),
    ]
    assert "<svg" in rendering.svg(spec)
    assert figure.drawable(found)
    assert not figure.drawable(found[3:])


def test_only_the_parts_with_the_most_joules_are_drawn_in_their_order():
    found = [PartEnergy(f"n{n}", "package-0", "rapl", "component", 10.0, float(n % 50)) for n in range(60)]
    spec = figure.parts(found, notes=["a note"])
    shown = [row["bar"] for row in spec["data"]["values"]]
    assert len(shown) == figure.PARTS_COUNT
    assert shown == [f"n{n} package-0" for n in range(60) if f"n{n} package-0" in shown]
    assert "n49 package-0" in shown
    assert "n0 package-0" not in shown
