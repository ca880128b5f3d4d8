"""RAPL: counters of a CPU that overlap, wrap, and belong to root."""

import math
import os
from pathlib import Path

import numpy as np
import pytest

from perjoule import drivers
from perjoule.drivers.protocols import Sink
from perjoule.drivers.protocols.hosts import planned
from perjoule.meters import rapl
from perjoule.model import Spec
from perjoule.model.errors import CampaignError, PerjouleError
from perjoule.model.waveform import Waveform
from perjoule.simulators import rapl as simulator
from perjoule.simulators._behaviour import Behaviour

WAVE = Waveform("square", 20.0, 80.0, 0.2)
RANGE_UJ = 262143328850


def zone(
    root: Path, folder: str, name: str, energy_uj: int = 1, range_uj: int | str | None = RANGE_UJ
) -> None:
    path = root / folder
    path.mkdir(parents=True)
    (path / "name").write_text(f"{name}\n")
    (path / "energy_uj").write_text(f"{energy_uj}\n")
    if range_uj is not None:
        (path / "max_energy_range_uj").write_text(f"{range_uj}\n")


@pytest.fixture
def two_sockets(tmp_path):
    for n in (0, 1):
        zone(tmp_path, f"intel-rapl:{n}", f"package-{n}", 10**6 * (n + 1))
        zone(tmp_path, f"intel-rapl:{n}:0", "core")
        zone(tmp_path, f"intel-rapl:{n}:1", "dram", range_uj=65532610987)
    zone(tmp_path, "intel-rapl:2", "psys")
    zone(tmp_path, "intel-rapl-mmio:0", "package-0", 7)
    (tmp_path / "dtpm").mkdir()
    return tmp_path


def first(heard):
    return bool(heard.samples)


def test_every_zone_is_a_channel_of_its_own_and_no_zone_is_there_twice(two_sockets, listen):
    heard = listen({"kind": "rapl", "root": str(two_sockets)}, first)
    channels = dict.fromkeys(channel for channel, *_ in heard.samples)
    assert {c.component for c in channels} == {
        "package-0",
        "core-0",
        "dram-0",
        "package-1",
        "core-1",
        "dram-1",
        "psys",
    }
    assert len({c.name for c in channels}) == 7
    assert {(c.unit, c.semantics, c.grade) for c in channels} == {("J", "counter", "component")}
    assert heard.of("energy", "package-0")[1][0] == pytest.approx(1.0)


def test_a_counter_says_where_it_wraps_and_how_fine_it_is(two_sockets, listen):
    heard = listen({"kind": "rapl", "root": str(two_sockets), "zones": ["dram-0"]}, first)
    (specification,) = {channel.specification for channel, *_ in heard.samples}
    assert specification.range_value == pytest.approx(65532.610987, rel=1e-9)
    assert specification.resolution == pytest.approx(15.26e-6, rel=1e-3)
    assert specification.gain_ratio is None  # nobody states it


@pytest.mark.parametrize("range_uj", [None, "", "0", "-5", "unknown"])
def test_a_range_that_cannot_be_read_is_refused(tmp_path, listen, range_uj):
    zone(tmp_path, "intel-rapl:0", "package-0", range_uj=range_uj)
    with pytest.raises(PerjouleError, match="the range of the counter"):
        listen({"kind": "rapl", "root": str(tmp_path)}, first)


def test_a_counter_that_could_wrap_unseen_is_refused(two_sockets, listen):
    with pytest.raises(PerjouleError, match=r"may wrap within 65\.5 s.*rate to at least 0\.038 Hz"):
        listen({"kind": "rapl", "root": str(two_sockets), "rate": "0.03 Hz"}, first)


def test_a_zone_that_is_not_there_is_refused_with_those_that_are(two_sockets, listen):
    with pytest.raises(PerjouleError, match=r"no such zone: dram\b.*package-0"):
        listen({"kind": "rapl", "root": str(two_sockets), "zones": ["dram"]}, first)


def test_a_machine_without_counters_is_answered_with_what_to_load(tmp_path, listen):
    meter = drivers.meter(Spec("rapl", {"root": str(tmp_path / "none")}))
    (check,) = meter.checks()
    assert not check.ok
    assert "modprobe intel_rapl_msr" in check.fix
    with pytest.raises(PerjouleError, match="modprobe"):
        listen({"kind": "rapl", "root": str(tmp_path)}, first)


def test_counters_for_root_alone_come_with_the_command_that_opens_them(two_sockets, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: "dram" in (path.parent / "name").read_text())
    (check,) = rapl.Rapl(root=two_sockets).checks()
    assert not check.ok
    assert check.fix.startswith(f"sudo chmod a+r {two_sockets}/intel-rapl:0/energy_uj ")
    assert f"{two_sockets}/intel-rapl:0:1/energy_uj" not in check.fix


def test_readable_counters_are_fine(two_sockets):
    (check,) = rapl.Rapl(root=two_sockets).checks()
    assert (check.ok, check.fix) == (True, "")


def test_the_joules_are_those_of_the_waveform(listen, noted):
    behaviour = noted(WAVE)
    with simulator.serve(behaviour) as options:
        heard = listen({**options, "rate": "50 Hz"}, lambda h: len(h.of("energy", "package-0")[0]) > 20)
    for component, share in (("package-0", 1.0), ("core-0", 0.6), ("dram-0", 0.1)):
        energy_j = heard.of("energy", component)[1]
        assert behaviour.told(energy_j, lambda said, share=share: round(said.energy_j * share, 6))
        assert energy_j[-1] > energy_j[0]


def test_a_wrap_reaches_the_sink_as_it_is_and_unwraps_with_the_range(listen, noted):
    behaviour = noted(WAVE, faults=("wrap",), range_j=10.0)
    with simulator.serve(behaviour) as options:
        heard = listen(
            {**options, "rate": "50 Hz", "most": "100 W", "zones": ["package-0"]},
            lambda h: (np.diff(h.of("energy", "package-0")[1]) < 0).any(),
        )
    energy_j = heard.of("energy", "package-0")[1]
    (range_j,) = {c.specification.range_value for c, *_ in heard.samples if c.component == "package-0"}
    assert behaviour.told(energy_j, lambda said: round(said.energy_j, 6))
    assert range_j == pytest.approx(10.0)
    assert np.diff(energy_j).min() < 0


@pytest.mark.parametrize("fault", [f for f in simulator.FAULTS if f not in ("wrap", "disconnect")])
def test_a_fault_never_makes_joules(listen, noted, fault):
    behaviour = noted(WAVE, faults=(fault,), share_ratio=0.0, away_s=0.1)

    def shown(energy_j):
        behaviour.share_ratio = 0.3  # what is there at the beginning can be read
        if fault in ("missing", "nan"):
            return np.isnan(energy_j).any()
        return len(energy_j) > 15 and (fault != "reset" or (np.diff(energy_j) < 0).any())

    with simulator.serve(behaviour) as options:
        heard = listen({**options, "rate": "100 Hz"}, lambda h: shown(h.of("energy", "package-0")[1]))
    energy_j = heard.of("energy", "package-0")[1]
    assert behaviour.told(energy_j[~np.isnan(energy_j)], lambda said: round(said.energy_j, 6))
    if fault in ("missing", "nan"):
        assert np.isnan(energy_j).any()
        assert heard.failures
    if fault == "reset":
        assert np.nanmin(np.diff(energy_j)) < 0


def test_counters_that_go_and_come_back_leave_a_gap(listen):
    def back(heard):
        behaviour.share_ratio = 0.05
        value = heard.of("energy", "package-0")[1]
        gaps = np.flatnonzero(np.isnan(value))
        return gaps.size > 0 and not math.isnan(value[-1])

    behaviour = Behaviour(WAVE, faults=("disconnect",), share_ratio=0.0, away_s=0.2)
    with simulator.serve(behaviour) as options:
        heard = listen({**options, "rate": "100 Hz"}, back)
    assert heard.failures


def test_a_simulated_cpu_wraps_where_it_is_configured_to():
    with simulator.serve(Behaviour(WAVE, range_j=5.0)) as options:
        assert [z.range_j for z in rapl.zones(Path(str(options["root"])))] == [5.0, 3.0, 0.5]


class Unused(Sink):
    """Where no sample ever goes."""

    def append(self, *_: object, **__: object) -> None:
        raise AssertionError("a sample")


def test_it_never_stands_for_the_cpus_of_other_machines(two_sockets):
    several = planned(["storage", "storage", "client"])
    meter = rapl.Rapl(root=two_sockets)
    with (
        pytest.raises(
            CampaignError, match="reads the CPU of the machine that runs perjoule, not those of 3 hosts"
        ),
        meter.record(several, Unused()),
    ):
        pass
