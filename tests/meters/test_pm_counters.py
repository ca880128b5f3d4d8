"""pm_counters: a node's controller whose counters include each other, stand still together, and begin anew."""

import math

import numpy as np
import pytest

from perjoule import drivers
from perjoule.drivers.protocols import Sink
from perjoule.drivers.protocols.hosts import planned
from perjoule.energy.amount import amount
from perjoule.meters._on_hosts import HostSamples, Moment
from perjoule.meters._scans import Scans
from perjoule.meters.pm_counters import PmCounters
from perjoule.model import Series, Spec
from perjoule.model.errors import CampaignError, MachineError, PerjouleError
from perjoule.model.waveform import Waveform
from perjoule.simulators import pm_counters as simulator
from places import TRANSCRIPTS

WAVE = Waveform("sine", 200.0, 800.0, 0.5)
PARTS = {"": 1.0, "cpu": 0.25, "memory": 0.125, "accel0": 0.5}


def planted(root, name, **changes):
    """Make the files of a listing."""
    for line in (TRANSCRIPTS / "pm_counters" / name).read_text().splitlines():
        path, _, text = line.partition(":")
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{changes.get((root / path).name, text)}\n")
    return {"kind": "pm_counters", "root": str(root)}


class Rows(Sink):
    """The samples of one channel, as rows of a series."""

    def __init__(self):
        self.rows: list[tuple[float, ...]] = []

    def append(self, channel, t_s, value, duration_s=0.0, asked_s=math.nan, arrived_s=math.nan):
        self.rows.append((t_s, duration_s, value, asked_s, arrived_s))


def first(heard):
    return bool(heard.samples)


def test_the_node_of_a_listing_has_its_energy_and_its_parts_are_components(tmp_path, listen):
    heard = listen(planted(tmp_path, "adastra.txt"), first)
    shown = {(c.component, c.unit): value for c, _, value, _ in heard.samples}
    assert shown.pop(("all", "J")) == 1360621494
    assert shown.pop(("all", "W")) == 873
    assert (shown["accel2", "J"], shown["accel2", "W"], shown["cpu", "J"]) == (271696890, 263, 139431088)
    assert {part for part, _ in shown} == {"accel0", "accel1", "accel2", "accel3", "cpu", "memory"}
    grades = {c.component: c.grade for c, *_ in heard.samples}
    assert grades.pop("all") == "BMC"
    assert set(grades.values()) == {"component"}
    assert {(c.quantity, c.semantics) for c, *_ in heard.samples} == {
        ("energy", "counter"),
        ("power", "instantaneous"),
    }
    assert {(c.specification.resolution, c.specification.period_s) for c, *_ in heard.samples} == {(1.0, 0.1)}


def test_lines_without_a_time_are_read_and_so_are_pages_that_are_filled(tmp_path, listen):
    filled = "598732067 J\n" + "\0" * 4000
    heard = listen(planted(tmp_path, "xc40.txt", energy=filled), first)
    assert heard.of("energy", "all")[1][0] == 598732067
    assert heard.of("power", "memory")[1][0] == 6


@pytest.mark.parametrize(
    "text", ["598732067 W", "598732067J", "598732067", "Energy!", "", "-5 J x", "1.5e3 J"]
)
def test_what_is_not_whole_joules_is_no_reading(tmp_path, text):
    options = planted(tmp_path, "xc40.txt", energy=text)
    (check,) = drivers.meter(Spec("pm_counters", {"root": options["root"]})).answers()
    assert check.ok == (text == "-5 J x")  # a number in its unit, whatever is behind


def test_an_accelerator_that_a_node_does_not_have_is_no_channel(tmp_path, listen):
    zero = {"accel3_energy": "0 J 1734094386462336 us", "accel3_power": "0 W 1734094386462336 us"}
    begun = {"memory_energy": "0 J 1734094386462336 us"}  # its counter is new
    heard = listen(planted(tmp_path, "adastra.txt", **zero, **begun), first)
    assert not heard.of("power", "accel3")[1].size
    assert heard.of("power", "accel2")[1].size
    assert heard.of("energy", "memory")[1][0] == 0


@pytest.mark.parametrize("name", ["energy", "power", "freshness", "startup"])
def test_a_node_that_lacks_a_file_of_each_node_is_refused_by_its_name(tmp_path, listen, name):
    options = planted(tmp_path, "adastra.txt")
    (tmp_path / "pm_counters" / name).unlink()
    with pytest.raises(PerjouleError, match=f"no {name}; nodes of HPE Cray"):
        listen(options, first)


def test_a_machine_of_another_maker_is_told_so(tmp_path, listen):
    (check,) = drivers.meter(Spec("pm_counters", {"root": str(tmp_path)})).checks()
    assert not check.ok
    assert "HPE Cray" in check.fix
    with pytest.raises(MachineError, match="no pm_counters"):
        listen({"kind": "pm_counters", "root": str(tmp_path)}, first)


def test_it_never_stands_for_other_machines(tmp_path, listen):
    meter, several = PmCounters(root=tmp_path), planned(["storage", "storage", "client"])
    fault = r"reads the counters of the machine that runs perjoule, not those of 2 hosts"
    with pytest.raises(CampaignError, match=fault), meter.record(several, Rows()):
        pass


@pytest.mark.parametrize(
    ("looks", "verdicts"),
    [
        ([("1", "7", "1"), ("2", "7", "2")], ["new", "new"]),
        ([("1", "7", "1"), ("1", "7", "1"), ("3", "7", "3")], ["new", "old", "new"]),
        ([("1", "7", "2"), ("2", "7", "2")], ["torn", "new"]),
        ([("1", "7", "1"), ("2", "8", "2"), ("3", "8", "3")], ["new", "restarted", "restarted"]),
        ([("1", "7", "1"), ("1", "8", "1"), ("2", "8", "2")], ["new", "old", "restarted"]),
        ([("1,55,us", "7,55,us", "1,56,us"), ("2 9 us\n", "7 9 us\n", "2 9 us\n")], ["new", "new"]),
        ([("nan", "7", "nan"), ("", "7", ""), ("1", "nan", "1")], ["torn", "torn", "torn"]),
    ],
)
def test_readings_count_once_a_scan(looks, verdicts):
    scans = Scans()
    assert [scans.judge(*look) for look in looks] == verdicts


def test_the_joules_and_watts_are_those_of_the_waveform(listen, noted):
    behaviour = noted(WAVE)
    with simulator.serve(behaviour) as options:
        heard = listen({**options, "rate": "50 Hz"}, lambda h: len(h.of("energy", "cpu")[0]) > 20)
    assert not heard.failures
    for part, share in PARTS.items():
        joules, watts = (heard.of(quantity, part or "all")[1] for quantity in ("energy", "power"))
        assert behaviour.told(joules, lambda said, share=share: round(said.energy_j * share))
        assert behaviour.told(watts, lambda said, share=share: round(said.power_w * share))
        assert joules[-1] > joules[0]


@pytest.mark.parametrize("fault", [fault for fault in simulator.FAULTS if fault != "spike"])
def test_a_fault_never_makes_joules(listen, noted, fault):
    behaviour = noted(WAVE, faults=(fault,), share_ratio=0.0, away_s=0.1)

    def shown(heard):
        behaviour.share_ratio = 0.3  # what is there at the beginning can be read
        joules = heard.of("energy", "all")[1]
        if fault == "reset":
            return np.isnan(joules).sum() > 3
        odd = np.isnan(joules).any() or fault in ("frozen", "duplicate")
        return len(joules) > 15 and odd and not np.isnan(joules[-1])

    with simulator.serve(behaviour) as options:
        heard = listen({**options, "rate": "100 Hz"}, shown)
    joules = heard.of("energy", "all")[1]
    known = ~np.isnan(joules)
    assert behaviour.told(
        joules[known], lambda said: -1 if math.isnan(said.energy_j) else round(said.energy_j)
    )
    assert bool(heard.failures) == (fault in ("missing", "nan", "disconnect"))
    if fault == "reset":  # what it counts by now says nothing of what it counted before
        assert not known[np.flatnonzero(~known)[0] :].any()
        assert not np.isnan(heard.of("power", "all")[1]).any()


def test_what_a_stopped_controller_shows_is_left_out(tmp_path, listen):
    options, folder = planted(tmp_path, "adastra.txt"), tmp_path / "pm_counters"
    polls = iter(range(50))

    def moved(heard):
        if next(polls) == 40:
            (folder / "energy").write_text("1360622494 J\n")
            (folder / "freshness").write_text("15770999\n")
        return len(heard.of("energy", "all")[1]) > 1

    heard = listen({**options, "rate": "200 Hz"}, moved)
    assert list(heard.of("energy", "all")[1]) == [1360621494, 1360622494]


LINES = [  # (scan before, start, joules, scan after), twice a second
    ("10", "7", "1000,J,1734094386462336,us", "10"),
    ("15", "7", "1100,J,1734094386962336,us", "15"),
    ("15", "7", "1100,J,1734094386962336,us", "15"),  # the controller has stopped
    ("16", "7", "1400,J,1734094387962336,us", "17"),  # torn
    ("20", "7", "1300,J,1734094388462336,us", "20"),
    ("25", "7", "nan", "25"),
    ("30", "7", "1500,W,1734094389462336,us", "30"),
    ("35", "7", "1600,J,1734094389962336,us", "35"),
    ("40", "8", "9000,J,1734094390462336,us", "40"),  # began anew, long ago
    ("45", "8", "9100,J,1734094390962336,us", "45"),
]


def test_what_a_host_said_is_judged_by_its_scans(tmp_path):
    """Definition: a reading counts if its scan is new, whole, and of the same start as the one before."""
    folder = tmp_path / "pm_counters"
    folder.mkdir()
    for name, text in (("energy", "1000 J"), ("power", "200 W"), ("freshness", "10"), ("startup", "7")):
        (folder / name).write_text(text)
    meter = PmCounters(root=tmp_path, on=("storage-1",))
    sensors = [sensor for sensor in meter.sensors(tmp_path, meter._place("storage-1")) if sensor.unit == "J"]
    text = "".join(
        "".join(f"{1000 + n / 2} {word} {1000 + n / 2} " for word in line) + "\n"
        for n, line in enumerate(LINES)
    )
    sink = Rows()
    moments = Moment(1000.0, 100.0, 0.0), Moment(1005.0, 105.0, 0.0)
    doubts = HostSamples("storage-1", sensors, 0.5, text, *moments, in_scans=True).keep("pm_counters", sink)
    assert doubts == []
    rows = sink.rows
    assert [row[0] for row in rows] == [100.0, 100.5, 102.0, 102.5, 103.0, 103.5, 104.0, 104.5]
    assert np.array_equal(
        [row[2] for row in rows],
        [1000, 1100, 1300, math.nan, math.nan, 1600, math.nan, math.nan],
        equal_nan=True,
    )
    series = Series.of_rows(sensors[0].channel, np.array(rows))
    assert amount(series, 100.0, 102.0).value == pytest.approx(
        300.0, abs=5.0
    )  # when a scan was new is known to 0.1 s
    assert amount(series, 100.0, 104.5).value is None
    assert sensors[0].channel.host == "storage-1"
