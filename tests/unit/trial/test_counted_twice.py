"""Meters that show the same watts are doubted, and machines that only draw alike are not.

The data have a cause: a machine draws its idle power, and more with the load; a sensor averages that over its own
period, with noise of its own, in steps; a meter polls it at moments of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from perjoule.model import Channel, Series, Specification
from perjoule.model.series import Grade
from perjoule.trial.counted_twice import counted_twice

TRIAL_S, GRID_S = 180.0, 0.1
Floats = NDArray[np.float64]


@dataclass
class Lab:
    """What all machines of a test have in common."""

    rng: np.random.Generator
    load: Floats  # 0 to 1, every GRID_S

    @classmethod
    def of(cls, seed: int = 1) -> "Lab":
        rng = np.random.default_rng(seed)
        load = np.zeros(int(TRIAL_S / GRID_S))
        at = 300  # idle before
        while at < 1500:  # and after
            length = 5 + int(rng.exponential(20))
            load[at : min(at + length, 1500)] = rng.uniform(0.2, 1.0)
            at += length
        return cls(rng, load)

    def machine(self, idle_w: float, added_w: float, *, noise_w: float = 0.5, unlike: float = 0.01) -> Floats:
        idle, added = 1 + unlike * self.rng.uniform(-1, 1, 2)
        return idle_w * idle + added_w * added * self.load + self.rng.normal(0, noise_w, len(self.load))

    def sensor(self, watts: Floats, period_s: float = 1.0, step_w: float = 1.0) -> Floats:
        """What it shows at each moment: its last mean."""
        count = round(period_s / GRID_S)
        means = np.round(watts.reshape(-1, count).mean(axis=1) / step_w) * step_w
        return np.repeat(np.concatenate((means[:1], means[:-1])), count)

    def polled(
        self,
        shown: Floats,
        name: str,
        host: str,
        rate_hz: float = 1.0,
        *,
        grade: Grade = "PDU",
        covers: tuple[str, ...] = (),
        resolution: float | None = None,
    ) -> Series:
        count = int(TRIAL_S * rate_hz)
        t_s = np.sort((np.arange(count) + self.rng.uniform(0.1, 0.9, count)) / rate_hz)
        component = "group" if covers else "all" if host else "switch"
        stated = Specification(resolution=resolution)
        channel = Channel(name, host, component, "power", "W", "average", grade, covers, stated)
        return Series(channel, t_s, np.zeros(count), shown[(t_s / GRID_S).astype(int)])


def doubts(*series: Series) -> list[str]:
    return [doubt.id for doubt in counted_twice({one.channel: one for one in series}, {"a", "b"})]


def whole_watts(lab: Lab, machines: Sequence[Floats], name: str = "ipmi") -> list[Series]:
    return [lab.polled(lab.sensor(watts), name, f"s-{n}") for n, watts in enumerate(machines)]


def test_two_nodes_that_report_the_power_of_their_common_chassis_are_doubted():
    """NetApp Harvest #2357: two nodes report 297 W each of supplies that they share, and 594 W were shown."""
    lab = Lab.of()
    chassis = lab.sensor(lab.machine(230, 67))
    nodes = [lab.polled(chassis, "redfish", host, grade="BMC") for host in ("a", "b")]
    (doubt,) = counted_twice({one.channel: one for one in nodes}, frozenset())
    assert doubt.id == "meters.read_alike"
    assert doubt.values["within_w"] == pytest.approx(0.5, rel=0.01)
    assert str(doubt).startswith("redfish:a/all/power and redfish:b/all/power show the same ")


def test_an_outlet_that_two_protocols_read_is_doubted():
    lab = Lab.of(2)
    watts = lab.machine(110, 45)
    coarse = lab.polled(lab.sensor(watts, step_w=1.0), "snmp_pdu", "a", resolution=1.0)
    fine = lab.polled(lab.sensor(watts, step_w=0.1), "prometheus", "b", rate_hz=0.7)
    assert doubts(coarse, fine) == doubts(fine, coarse) == ["meters.read_alike"]


@pytest.mark.parametrize("seed", range(8))
def test_machines_of_one_model_under_one_load_are_not(seed):
    lab = Lab.of(seed)
    assert doubts(*whole_watts(lab, [lab.machine(150, 60) for _ in range(6)])) == []
    assert doubts(*whole_watts(lab, [lab.machine(150, 60, unlike=0.005) for _ in range(6)])) == []
    boards = [lab.machine(5, 2, noise_w=0.02) for _ in range(6)]
    assert (
        doubts(*(lab.polled(lab.sensor(w, step_w=0.01), "shelly", f"s-{n}") for n, w in enumerate(boards)))
        == []
    )


@pytest.mark.parametrize("noise_w", [0.1, 0.5, 3.0])
def test_what_does_not_move_shows_nothing(noise_w):
    lab = Lab.of()
    lab.load[:] = 0
    for step_w in (0.01, 0.1, 1.0):
        idle = [lab.sensor(lab.machine(150, 60, noise_w=noise_w, unlike=0), step_w=step_w) for _ in range(6)]
        assert doubts(*(lab.polled(shown, "ipmi", f"s-{n}") for n, shown in enumerate(idle))) == []
    constant = np.full(len(lab.load), 15.4)
    assert doubts(lab.polled(constant, "pdu", "a"), lab.polled(constant, "pdu", "b")) == []


@pytest.mark.parametrize("seed", range(4))
def test_a_load_of_two_levels_shows_nothing_on_coarse_meters(seed):
    """Both follow it, whoever they are: a flusher, a client that works and waits."""
    lab = Lab.of(seed)
    lab.load[:] = np.repeat(lab.rng.integers(0, 2, 60), 30)
    machines = [lab.machine(150, 60, noise_w=0.01, unlike=0) for _ in range(2)]
    assert doubts(*whole_watts(lab, machines)) == []


def test_steps_of_ten_watts_show_nothing():
    lab = Lab.of()
    strips = [lab.sensor(lab.machine(300, 60), step_w=10.0) for _ in range(2)]
    assert doubts(*(lab.polled(strip, "snmp_pdu", f"s-{n}") for n, strip in enumerate(strips))) == []


def test_meters_of_the_same_devices_are_never_added_and_not_doubted():
    lab = Lab.of()
    shown = lab.sensor(lab.machine(150, 60))
    assert doubts(lab.polled(shown, "ipmi", "a"), lab.polled(shown, "redfish", "a")) == []
    group = lab.polled(shown, "pdu", "", covers=("a", "b"))
    assert doubts(lab.polled(shown, "ipmi", "a"), group) == []


def test_a_simulated_or_modelled_machine_is_as_like_another_as_it_wants():
    lab = Lab.of()
    shown = lab.sensor(lab.machine(150, 60))
    for grade in ("simulated", "modelled"):
        assert doubts(*(lab.polled(shown, grade, host, grade=grade) for host in "ab")) == []


@pytest.mark.parametrize("second", ["netio", "snmp_pdu"])
def test_an_inlet_that_is_said_to_feed_the_switch_alone_is_the_sum_of_its_outlets(second):
    """The strip's total, which its firmware adds up, as "switch"; and outlets of another protocol."""
    lab = Lab.of(3)
    machines = [lab.machine(idle_w, 30) for idle_w in (60, 85, 40)]
    outlets = [lab.sensor(watts, step_w=0.1) for watts in machines]
    parts = [lab.polled(shown, second, f"s-{n}", rate_hz=2) for n, shown in enumerate(outlets)]
    inlet = lab.polled(lab.sensor(np.sum(machines, axis=0), step_w=0.1), "netio", "", rate_hz=2)
    assert doubts(*parts, inlet) == ["meters.sum_of_others"]
    assert doubts(*parts) == []


def test_a_shelf_in_its_controllers_figure_is_not_a_sum_of_others_if_other_things_are_in_it():
    """The controller draws more than its shelves: nothing shows whether these are in it."""
    lab = Lab.of(4)
    shelves = [lab.sensor(lab.machine(180, 30), step_w=0.1) for _ in range(2)]
    controller = lab.sensor(lab.machine(200, 60), step_w=0.1) + sum(shelves)
    parts = [lab.polled(shown, "shelf", f"s-{n}", rate_hz=2) for n, shown in enumerate(shelves)]
    assert doubts(*parts, lab.polled(controller, "netio", "c", rate_hz=2)) == []


@pytest.mark.parametrize("seed", range(8))
def test_as_many_machines_elsewhere_are_not_the_sum_of_these(seed):
    lab = Lab.of(seed)
    servers = whole_watts(lab, [lab.machine(150, 60) for _ in range(3)])
    clients = lab.polled(
        lab.sensor(np.sum([lab.machine(150, 60) for _ in range(3)], axis=0)), "pdu", "", covers=("c", "d")
    )
    assert doubts(*servers, clients) == []


def test_failed_reads_are_gaps_and_change_nothing():
    lab = Lab.of()
    chassis = lab.sensor(lab.machine(230, 67))
    nodes = [lab.polled(chassis, "redfish", host) for host in ("a", "b")]
    nodes[0].value[::9] = np.nan
    assert doubts(*nodes) == ["meters.read_alike"]
    nodes[1].value[:] = np.nan
    assert doubts(*nodes) == []


def shuffled(seed: int, count: int = 401) -> Floats:
    """Watts in tenths around 100, of which no two are equal: their mean is 100."""
    return 100 + (np.random.default_rng(seed).permutation(count) - count // 2) / 10


def plug(host: str, watts: Floats) -> Series:
    """A sample a second."""
    channel = Channel("plug", host, "all", "power", "W", "average", "wall", (), Specification(resolution=0.1))
    return Series(channel, np.arange(float(len(watts))), np.zeros(len(watts)), watts)


@pytest.mark.parametrize(("apart_w", "near"), [(81.0, True), (83.5, False)])
def test_means_that_differ_by_two_percent_of_the_larger_are_near(apart_w, near):
    """Ten of 401 samples are further up, which are few enough for all others to be met: by 2.020 W or 2.082 W
    in the mean, of 102 beside 100.
    """
    watts = shuffled(1)
    above = watts.copy()
    above[::40][:10] += apart_w
    assert doubts(plug("a", watts), plug("b", above)) == ["meters.read_alike"] * near
    # twice as much in a sum of two
    parts = [plug("a", watts), plug("b", shuffled(2))]
    total = np.sum([part.value for part in parts], axis=0)
    total[::40][:10] += 2 * apart_w
    assert doubts(*parts, plug("c", total)) == ["meters.sum_of_others"] * near
