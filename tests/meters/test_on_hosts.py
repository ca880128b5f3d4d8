"""Sensors that are sampled on the hosts, by the hosts' own clocks."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.drivers.protocols import ClockOffset, Completed, Hosts, Meter, Sink
from perjoule.meters._on_hosts import HostSamples, Moment, copied
from perjoule.meters._sysfs import Sensor
from perjoule.model import Channel, Json, Series, Specification
from perjoule.model.errors import CampaignError, MachineError, TransientError
from perjoule.model.waveform import Waveform
from perjoule.simulators import _tool, hwmon, nvme, rapl
from perjoule.simulators._behaviour import Behaviour
from perjoule.testbeds._machine import ThisMachine
from perjoule.testbeds.local import LocalHost
from sysfs import acpi_meter

ENERGY = Channel(
    "rapl",
    "storage-1",
    "package-0",
    "energy",
    "J",
    "counter",
    "component",
    (),
    Specification(range_value=1000.0),
)
SENSORS = [Sensor(ENERGY, Path("/energy_uj"), 1e-6)]


class Kept(Sink):
    """The samples by channel."""

    def __init__(self) -> None:
        self.rows: dict[Channel, list[tuple[float, ...]]] = {}

    def append(
        self,
        channel: Channel,
        t_s: float,
        value: float,
        duration_s: float = 0.0,
        asked_s: float = math.nan,
        arrived_s: float = math.nan,
    ) -> None:
        self.rows.setdefault(channel, []).append((t_s, duration_s, value, asked_s, arrived_s))

    @property
    def series(self) -> list[Series]:
        return [Series.of_rows(channel, np.array(rows)) for channel, rows in self.rows.items()]


class Other(LocalHost):
    """Another computer, for which this one stands."""

    def __init__(self, directory: Path, name: str) -> None:
        super().__init__(directory)
        self.name, self.role = name, name.partition("-")[0]

    def clock_offset(self) -> ClockOffset:
        return ClockOffset(0.0, 0.001)


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    made = tuple(Other(tmp_path, name) for name in ("storage-1", "storage-2", "client-1"))
    yield Hosts(made)
    for host in made:
        host.stop()


def build(**options: Json) -> Meter:
    meter = drivers.build("meters", str(options.pop("kind")), options)
    assert isinstance(meter, Meter)
    return meter


def kept(text: str, began: Moment, ended: Moment | None, why: str = "") -> tuple[Kept, Sequence[str]]:
    sink = Kept()
    return sink, HostSamples("storage-1", SENSORS, 0.5, text, began, ended, why).keep("rapl", sink)


def test_every_server_is_sampled_by_itself_and_what_is_kept_is_what_its_sensors_said(
    hosts: Hosts, noted: Any
) -> None:
    behaviour = noted(Waveform("constant", 40.0, 40.0, 1.0))
    with rapl.serve(behaviour) as options:
        meter, sink = build(**options, on=["servers"], rate="20 Hz"), Kept()
        began_s = time.monotonic()
        with meter.record(hosts, sink) as doubts:
            time.sleep(1.2)
        ended_s = time.monotonic()
    assert not [doubt for doubt in doubts if "left out" not in doubt]  # as on a busy machine
    assert {channel.host for channel in sink.rows} == {"storage-1", "storage-2"}
    assert {channel.component for channel in sink.rows} == {"package-0", "core-0", "dram-0"}
    for series in sink.series:
        share = {"package-0": 1.0, "core-0": 0.6, "dram-0": 0.1}[series.channel.component]
        assert began_s <= series.t_s[0] < series.t_s[-1] <= ended_s
        assert behaviour.told(series.value, lambda said, share=share: round(said.energy_j * share, 6))
        assert series.value[-1] > series.value[0]


def test_a_board_of_each_host_is_found_by_its_chip(hosts: Hosts) -> None:
    with hwmon.serve(Behaviour(Waveform("constant", 12.0, 12.0, 1.0))) as options:
        sink = Kept()
        one: dict[str, Json] = {**options, "on": ["storage-2"], "rate": "20 Hz"}
        with build(**one).record(hosts, sink) as doubts:
            time.sleep(0.3)
    (series,) = sink.series
    assert (series.channel.host, series.channel.component) == ("storage-2", "all")
    assert series.value == pytest.approx(np.full(len(series.value), 12.0))
    assert all("storage-2" in doubt for doubt in doubts)


@pytest.mark.parametrize("serve", [_tool.ipmitool, _tool.nvidia_smi], ids=["ipmi", "nvml"])
def test_every_host_asks_its_own_tool_and_what_is_kept_is_what_that_said(
    serve: Any, hosts: Hosts, noted: Any
) -> None:
    behaviour = noted(Waveform("sine", 120.0, 240.0, 1.0))
    with serve(behaviour) as options:
        meter, sink = build(**options, on=["servers"], rate="10 Hz"), Kept()
        with meter.record(hosts, sink) as doubts:
            time.sleep(1.5)
    assert not [doubt for doubt in doubts if "left out" not in doubt]
    assert {channel.host for channel in sink.rows} == {"storage-1", "storage-2"}
    for series in sink.series:
        assert (series.channel.quantity, series.channel.semantics) == ("power", "average")
        digits = 0 if options["kind"] == "ipmi" else 2
        assert behaviour.told(series.value, lambda said, digits=digits: round(said.power_w, digits))
        assert len(set(series.value)) > 3


@pytest.mark.parametrize("serve", [_tool.ipmitool, _tool.nvidia_smi], ids=["ipmi", "nvml"])
def test_a_tool_that_fails_or_has_no_reading_leaves_a_gap(serve: Any, hosts: Hosts) -> None:
    behaviour = Behaviour(Waveform("constant", 80.0, 80.0, 1.0))
    with serve(behaviour) as options:
        sink = Kept()
        with build(**options, on=["storage-1"], rate="10 Hz").record(hosts, sink):
            behaviour.faults, behaviour.share_ratio = ("nan",), 1.0
            time.sleep(0.6)
            behaviour.faults = ("missing",)
            time.sleep(0.6)
            behaviour.faults = ()
            time.sleep(0.3)
    (series,) = sink.series
    assert series.value[0] == series.value[-1] == 80.0
    assert np.isnan(series.value).sum() >= 4
    assert set(series.value[~np.isnan(series.value)]) == {80.0}


@pytest.mark.parametrize("measures", [True, False])
def test_every_host_asks_its_own_drives_for_the_mean_of_their_last_second_or_their_state(
    measures: bool, hosts: Hosts, noted: Any
) -> None:
    behaviour = noted(Waveform("sine", 4.0, 12.0, 1.0))
    with nvme.serve(behaviour, measures=measures) as options:
        sink = Kept()
        with build(**options, on=["servers"], rate="10 Hz").record(hosts, sink) as doubts:
            time.sleep(1.5)
    powers = [series for series in sink.series if series.channel.quantity == "power"]
    assert {(one.channel.host, one.channel.component) for one in powers} == {
        ("storage-1", "drive-nvme0"),
        ("storage-2", "drive-nvme0"),
    }
    for one in powers:
        assert one.channel.semantics == ("window mean" if measures else "state")
        assert set(one.duration_s) == {1.0 if measures else 0.0}
        if measures:
            assert behaviour.told(one.value, lambda said: round(round(said.power_w / 0.01) * 0.01, 6))
        else:
            assert set(one.value) == {nvme.STATES_W[0], nvme.STATES_W[nvme.LOW_POWER]}
    stated = [doubt for doubt in doubts if "left out" not in doubt]
    assert len(stated) == (0 if measures else 2)
    assert all("reports only its power state" in doubt for doubt in stated)


def test_a_host_without_the_tool_or_with_a_tool_that_knows_no_power_is_refused_by_name(hosts: Hosts) -> None:
    for kind, tool in (("ipmi", "ipmitool"), ("nvml", "nvidia-smi")):
        meter = build(kind=kind, on=["storage-2"], tool=f"/no/such/{tool}")
        with (
            pytest.raises(MachineError, match=f"storage-2: {tool} failed .*No such file"),
            meter.record(hosts, Kept()),
        ):
            pass
    silent = Behaviour(Waveform("constant", 80.0, 80.0, 1.0), faults=("nan",), share_ratio=1.0)
    silent.manner()
    with (
        _tool.ipmitool(silent) as options,
        pytest.raises(
            MachineError, match=r"storage-1: the BMC shows 0 W .deactivated., which is not a reading"
        ),
        build(**options, on=["storage-1"]).record(hosts, Kept()),
    ):
        pass
    with (
        _tool.nvidia_smi(Behaviour()) as options,
        pytest.raises(MachineError, match="storage-1: no GPU is called GPU-0; known: GPU-3f2a9c1e"),
        build(**options, on=["storage-1"], gpus=["GPU-0"]).record(hosts, Kept()),
    ):
        pass


def test_what_only_this_machine_can_be_asked_is_not_mixed_with_on() -> None:
    with pytest.raises(ValidationError, match="each host queries its own BMC"):
        build(kind="ipmi", on=["servers"], address="192.0.2.1")
    with pytest.raises(ValidationError, match="no energy counter"):
        build(kind="nvml", on=["servers"], quantity="energy")


def test_samples_are_mapped_from_a_clock_that_is_ahead_and_runs_fast() -> None:
    """Definition: a line between the two moments at which both clocks were read."""
    text = "1040.5 7000000 1040.5\n1041.0005 9000000 1041.0007\n"
    sink, doubts = kept(text, Moment(1040.0, 100.0, 0.002), Moment(1050.001, 110.0, 0.001))
    (series,) = sink.series
    assert doubts == []
    assert series.t_s == pytest.approx([100 + 0.5 * 10 / 10.001, 100 + 1.0006 * 10 / 10.001], abs=1e-9)
    assert series.value == pytest.approx([7, 9])
    assert series.asked_s is not None
    assert series.asked_s[1] == pytest.approx(100 + 1.0005 * 10 / 10.001, abs=1e-9)
    assert series.channel.specification.clock_s == pytest.approx(0.002 / math.sqrt(3))
    assert series.channel.specification.range_value == 1000


@pytest.mark.parametrize("set_s", [5.0, -5.0, 0.2])
def test_the_samples_of_a_host_whose_clock_was_set_are_left_out_with_its_name(set_s: float) -> None:
    sink, doubts = kept(
        "1000.5 7000000 1000.5\n", Moment(1000.0, 100.0, 0.0), Moment(1010.0 + set_s, 110.0, 0.0)
    )
    assert not sink.series
    (doubt,) = doubts
    assert f"storage-1 are left out: its clock was set by {set_s:+.3g} s" in doubt


def test_what_came_before_a_host_was_lost_is_kept_and_the_rest_is_a_gap() -> None:
    text = "1000.5 7000000 1000.5\n1001.0 nan 1001.0\n1001.5 8000000 1001.5\n1002.0 85"
    sink, doubts = kept(text, Moment(1000.0, 100.0, 0.0), None, "storage-1: the connection was lost")
    (series,) = sink.series
    assert series.t_s == pytest.approx([100.5, 101.0, 101.5])
    assert np.array_equal(series.value, [7, np.nan, 8], equal_nan=True)
    assert doubts == [
        "rapl: the sensors of storage-1 were not read to the end (storage-1: the connection was lost)"
    ]


def test_samples_that_a_busy_host_left_out_are_counted() -> None:
    text = "".join(f"{1000 + s} 1 {1000 + s}\n" for s in (0.0, 0.5, 1.4, 3.4, 4.0))
    _, doubts = kept(text, Moment(1000.0, 100.0, 0.0), Moment(1005.0, 105.0, 0.0))
    assert doubts == ["rapl on storage-1: 3 of 8 samples left out, the host was too slow or too busy"]


def test_a_sensor_that_only_root_may_read_names_host_and_command(hosts: Hosts, tmp_path: Path) -> None:
    zone = tmp_path / "powercap" / "intel-rapl:0"
    (zone / "energy_uj").mkdir(parents=True)  # what nobody can read, not even root
    for name, text in (("name", "package-0"), ("max_energy_range_uj", "262143328850")):
        (zone / name).write_text(f"{text}\n")
    with pytest.raises(MachineError, match="storage-1: no RAPL zone"), record(hosts, tmp_path / "powercap"):
        pass
    (zone / "energy_uj").rmdir()
    (zone / "energy_uj").write_text("")
    said = r"storage-1: .*energy_uj can't be read; on storage-1: sudo chmod a\+r"
    with pytest.raises(MachineError, match=said), record(hosts, tmp_path / "powercap"):
        pass


def record(hosts: Hosts, root: Path, *on: str) -> AbstractContextManager[Sequence[str]]:
    return build(kind="rapl", root=str(root), on=list(on) or ["storage-1"]).record(hosts, Kept())


def test_a_host_without_sensors_and_one_of_another_name_are_refused(hosts: Hosts, tmp_path: Path) -> None:
    with (
        pytest.raises(MachineError, match="storage-1: no RAPL zone; sudo modprobe"),
        record(hosts, tmp_path / "none"),
    ):
        pass
    with (
        pytest.raises(CampaignError, match='no host is called "storage-9"'),
        record(hosts, tmp_path, "storage-9"),
    ):
        pass


def test_clients_alone_are_sampled_by_themselves(hosts: Hosts) -> None:
    """As on a cluster whose file system is mounted already: its servers are no hosts of the campaign."""
    with rapl.serve(Behaviour()) as options:
        meter, sink = build(**options, on=["clients"], rate="20 Hz"), Kept()
        for host in hosts.all:
            host.role = "client"
        with meter.record(hosts, sink):
            pass
    assert {channel.host for channel in sink.rows} == {host.name for host in hosts.all}


def test_hosts_that_share_a_machine_are_not_counted_each(hosts: Hosts, tmp_path: Path) -> None:
    shared = Hosts(hosts.all, machine=ThisMachine())
    with (
        pytest.raises(CampaignError, match="2 hosts share this machine's sensors"),
        record(shared, tmp_path, "servers"),
    ):
        pass


def test_covers_and_on_are_not_mixed() -> None:
    with pytest.raises(ValidationError, match="on already names the hosts"):
        build(kind="rapl", on=["servers"], covers=["storage-1"])


def test_nothing_samples_on_when_a_trial_fails(hosts: Hosts) -> None:
    with rapl.serve(Behaviour(Waveform("constant", 40.0, 40.0, 1.0))) as options:
        meter = build(**options, on=["servers", "clients"])
        with suppress(TransientError), meter.record(hosts, Kept()):
            raise TransientError("a daemon died")
    running = [
        Path(f"/proc/{pid}/cmdline").read_bytes() for pid in _pids() if Path(f"/proc/{pid}/cmdline").exists()
    ]
    assert not [line for line in running if str(options["root"]).encode() in line]


def _pids() -> list[str]:
    return [path.name for path in Path("/proc").glob("[0-9]*")]


def test_sensors_of_a_host_that_are_behind_its_device_are_read_there(tmp_path: Path) -> None:
    host = Other(tmp_path, "storage-1")
    meter = build(
        kind="hwmon", root=str(acpi_meter(tmp_path / "hwmon")), on=["storage-1"], chip="power_meter"
    )
    sink = Kept()
    try:
        with meter.record(Hosts((host,)), sink):
            pass
    finally:
        host.stop()
    (series,) = sink.series
    assert set(series.value) == {210.0}


@pytest.mark.parametrize(
    "file",
    ["/evil", "device/x", "hwmon1/device", "hwmon1/other/x", "../x", "hwmon1", "hwmon1/device/../x", ""],
)
def test_a_host_can_write_nothing_beside_the_copy_of_its_sensors(tmp_path: Path, file: str) -> None:
    class Hostile(Other):
        def run(self, argv: Sequence[str | Path], **words: Any) -> Completed:
            return replace(super().run(["true"], **words), stdout=f"{file}\0text\0device\0")

    host = Hostile(tmp_path, "storage-1")
    before = set(tmp_path.rglob("*"))
    with pytest.raises(MachineError, match="is not the path of a sensor"):
        copied(host, Path("/sys/class/hwmon"), ("name",), tmp_path)
    host.stop()
    assert set(tmp_path.rglob("*")) - before <= {tmp_path / "storage-1"}
    assert not Path("/evil").exists()
