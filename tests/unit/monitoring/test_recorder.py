"""Meters without a campaign: what they really do, what is recorded elsewhere and joined, what Prometheus
gets.
"""

import errno
import io
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread, current_thread
from typing import Any

import numpy as np
import pytest
from pydantic.dataclasses import dataclass

from measured import measured
from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check, Hosts
from perjoule.energy.behaviour import agreement, behaviour, step
from perjoule.execution.clocks import clock_sync
from perjoule.measures.points import points
from perjoule.meters._metered import Metered, MeterReading, Read
from perjoule.meters._sampler import sampling
from perjoule.meters.simulated import Simulated
from perjoule.model import OPTIONS, Channel, Series, Specification
from perjoule.model.errors import MachineError
from perjoule.monitoring import exporter, recorder
from perjoule.store.recordings import ClockError, Recording, read_recording
from perjoule.testbeds.local import Local
from typed import as_written

POWER = Channel("plug", "local", "all", "power", "W", "instantaneous", "wall")


def series(t_s: object, value: object, channel: Channel = POWER) -> Series:
    times = np.asarray(t_s, dtype=np.float64)
    return Series(channel, times, np.zeros_like(times), np.asarray(value, dtype=np.float64))


def test_a_meter_that_is_polled_more_often_than_it_measures_is_found_out() -> None:
    t_s = np.arange(0, 60, 0.25)
    seen = behaviour(series(t_s, np.floor(t_s) % 7))
    assert seen.asked_period_s == pytest.approx(0.25)
    assert seen.update_period_s == pytest.approx(1.0)
    assert seen.longest_frozen_s == pytest.approx(1.0)


def test_noise_is_distinguished_from_drift() -> None:
    dice = np.random.default_rng(1)
    t_s = np.arange(0, 200, 0.5)
    assert behaviour(series(t_s, 40 + 0.05 * t_s + dice.normal(0, 0.3, len(t_s)))).noise == pytest.approx(
        0.3, rel=0.2
    )


def test_the_step_of_a_coarse_meter_is_seen_and_of_a_fine_one_not() -> None:
    dice = np.random.default_rng(1)
    assert step(np.round(dice.normal(50, 5, 200) / 2.13) * 2.13) == pytest.approx(2.13)
    assert step(dice.normal(50, 5, 200)) == 0.0


def test_failed_reads_and_a_frozen_time_are_reported() -> None:
    value = np.array([1.0, 2, 3, np.nan, 4, 4, 4, 4, 5, 6])
    seen = behaviour(series(np.arange(10), value))
    assert seen.failed_ratio == pytest.approx(0.1)
    assert seen.longest_frozen_s == pytest.approx(4.0)


def test_of_a_few_samples_nothing_is_stated() -> None:
    assert np.isnan(behaviour(series([0, 1], [1, 2])).update_period_s)


def test_a_second_meter_that_reads_two_percent_more_is_found_out() -> None:
    t_s = np.arange(0, 60, 0.5)
    watts = 50 + 5 * np.sin(t_s)
    found = agreement([series(t_s, watts * 1.02)], [series(t_s, watts)])
    assert found is not None and found.ratio == pytest.approx(1.02) and found.scatter_ratio < 1e-9
    assert agreement([series([0, 1], [1, 1])], [series([5, 6], [1, 1])]) is None


def test_a_meters_behaviour_is_that_of_the_reads_that_did_not_fail() -> None:
    dice = np.random.default_rng(2)
    t_s = np.cumsum(dice.uniform(0.3, 0.7, 60))
    value = np.repeat(dice.integers(80, 120, 20) / 2, 3).astype(float)
    value[[5, 17, 18]] = np.nan
    seen = behaviour(series(t_s, value))
    kept_s, kept = t_s[np.isfinite(value)], value[np.isfinite(value)]
    changes_s = [b for b, x, y in zip(kept_s[1:], kept[:-1], kept[1:], strict=True) if x != y]
    assert (seen.samples_count, seen.failed_ratio) == (60, pytest.approx(3 / 60))
    assert seen.asked_period_s == pytest.approx(np.median(np.diff(kept_s)))
    assert seen.update_period_s == pytest.approx(np.median(np.diff(changes_s)))
    assert seen.mean == pytest.approx(kept.mean())
    assert seen.noise == pytest.approx(np.median(np.abs(np.diff(kept))) / 0.6745 / 2**0.5)
    assert seen.longest_frozen_s == pytest.approx(np.diff([kept_s[0], *changes_s, kept_s[-1]]).max())
    assert seen.resolution == 0.5


def test_a_counters_behaviour_is_that_of_its_power_where_it_did_not_fall() -> None:
    counter = Channel("plug", "local", "all", "energy", "J", "counter", "wall")
    t_s = np.array([0.0, 1, 2, 3, 4, 5, 6, 7])
    seen = behaviour(series(t_s, [0, 10, 30, 30, 5, 25, 55, 75], counter))
    assert (seen.samples_count, seen.mean) == (8, pytest.approx((10 + 20 + 0 + 20 + 30 + 20) / 6))
    assert seen.longest_frozen_s == 2  # it rose at 2 s and fell at 4 s


def test_two_meters_are_compared_over_ten_windows_of_their_common_time() -> None:
    t_s = np.arange(0, 61.0)
    one, other = series(t_s, 50 + t_s), series(t_s[3:-4], np.full(54, 40.0))
    mean = Channel("lmg", "", "total", "power", "W", "window mean", "wall")
    pair = [Series(mean, s.t_s, np.ones(len(s.t_s)), s.value) for s in (one, other)]
    found = agreement([pair[0]], [pair[1]])
    assert found is not None and found.windows_count == 10
    edges_s = np.linspace(3, 56, 11)
    until = np.concatenate(([0.0], np.cumsum(50 + t_s[1:])))
    energies = np.diff(np.interp(edges_s, t_s, until)) / np.diff(edges_s) / 40
    assert found.ratio == pytest.approx(energies.mean(), rel=1e-4)
    assert found.scatter_ratio == pytest.approx(np.std(energies, ddof=1), rel=1e-2)
    twice = agreement([pair[0], pair[0]], [pair[1]], windows_count=4)
    assert twice is not None and (twice.windows_count, twice.ratio) == (
        4,
        pytest.approx(2 * found.ratio, rel=1e-3),
    )


def test_power_beside_a_counter_of_the_same_device_counts_once() -> None:
    t_s = np.arange(0, 61.0)
    counter = Channel("plug", "local", "all", "energy", "J", "counter", "wall")
    both = [series(t_s, 50 * t_s, counter), series(t_s, np.full(61, 50.0))]
    mean = Series(
        Channel("lmg", "", "total", "power", "W", "window mean", "wall"), t_s, np.ones(61), np.full(61, 50.0)
    )
    found = agreement(both, [mean])
    assert found is not None and found.ratio == pytest.approx(1)
    other_host = [
        both[0],
        Series(
            Channel("plug", "b", "all", "power", "W", "window mean", "wall"), t_s, np.ones(61), mean.value
        ),
    ]
    found = agreement(other_host, [mean])
    assert found is not None and found.ratio == pytest.approx(2)


def test_meters_that_share_one_window_or_no_time_are_not_compared() -> None:
    t_s = np.arange(0, 61.0)
    mean = Channel("lmg", "", "total", "power", "W", "window mean", "wall")
    whole = Series(mean, t_s, np.ones(61), np.full(61, 50.0))
    holes = np.where((t_s > 12) & (t_s < 60), np.nan, 50.0)
    assert agreement([Series(mean, t_s, np.ones(61), holes)], [whole]) is not None  # two windows of ten
    assert agreement([Series(mean, t_s, np.ones(61), np.where(t_s > 6, np.nan, 50.0))], [whole]) is None
    assert agreement([], [whole]) is None and agreement([whole], []) is None
    assert agreement([], []) is None and agreement([whole.at(slice(0, 0))], [whole]) is None
    assert agreement([Series(mean, t_s[:1], np.ones(1), np.ones(1))], [whole]) is None
    assert agreement([Series(mean, t_s + 60, np.ones(61), np.full(61, 50.0))], [whole]) is None


def test_a_recording_is_whole_after_every_sample_and_keeps_what_the_meter_states(tmp_path: Path) -> None:
    channel = Channel(
        "lmg", "", "group", "power", "W", "window mean", "wall", ("a", "b"), Specification(gain_ratio=0.001)
    )
    sink = Recording(tmp_path / "r.csv")
    before_s = time.time()
    sink.append(channel, time.monotonic(), 40.5, 0.1)
    after_s = time.time()
    with (tmp_path / "r.csv").open("a") as torn:
        torn.write("1790000000.1,0.1,40")  # killed in the middle of a line
    found = read_recording(tmp_path / "r.csv")
    sink.close()
    assert [s.channel for s in found] == [channel]
    assert found[0].value.tolist() == [40.5]
    assert before_s - 0.01 <= found[0].t_s[0] <= after_s + 0.01


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Recording, list[int]]]:
    """A recording on a disk with room for this many more bytes; the clock stands still unless a test moves
    it.
    """
    room = [10_000]

    class Small(io.FileIO):
        def write(self, data: Any) -> int:
            if not room[0]:
                raise OSError(errno.ENOSPC, "No space left on device")
            written_count = super().write(bytes(data)[: room[0]])
            room[0] -= written_count
            return written_count

    opened = Path.open

    def small(path, mode="r", **words):
        return Small(path, "x") if mode == "xb" else opened(path, mode, **words)

    monkeypatch.setattr(Path, "open", small)
    sink = Recording(tmp_path / "r.csv")
    yield sink, room
    with suppress(MachineError):
        sink.close()


def test_a_moment_without_room_on_the_disk_ends_no_meter_and_loses_no_sample(
    recorded: tuple[Recording, list[int]], tmp_path: Path
) -> None:
    sink, room = recorded

    def sample() -> None:
        count = sink.samples_count
        room[0] = 30 if 10 <= count < 20 else 10_000  # less than a line
        for n in range(3):
            sink.append(
                Channel(f"m{n}", "", "total", "power", "W", "instantaneous", "wall"),
                count + n,
                float(count + n),
            )

    with sampling("m", 500.0, sample):
        while sink.samples_count < 60:
            time.sleep(0.001)
    assert not sink.failed()
    sink.close()
    found = read_recording(tmp_path / "r.csv")
    assert sorted(value for series in found for value in series.value) == list(range(sink.samples_count))


def test_a_line_of_a_recording_that_does_not_end_is_refused(tmp_path: Path) -> None:
    """A hole in a file costs whoever made it nothing."""
    path = tmp_path / "r.csv"
    sink = Recording(path)
    sink.append(POWER, time.monotonic(), 40.5)
    sink.close()
    os.truncate(path, 2**30)
    limits = ["prlimit", f"--as={2**30}", sys.executable, "-c"]
    script = "import pathlib, sys; from perjoule.store.recordings import *; read_recording(pathlib.Path(sys.argv[1]))"
    completed = subprocess.run([*limits, script, path], capture_output=True, text=True, check=False)
    assert "the recording can't be read: a line of it has more than 65536 characters" in completed.stderr


def test_a_disk_that_stays_full_ends_the_recording_and_says_what_is_lost(
    recorded: tuple[Recording, list[int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink, room = recorded
    channel = Channel("m", "", "total", "power", "W", "instantaneous", "wall")
    for n in range(5):
        sink.append(channel, n, n)
    room[0] = 20
    for n in range(5, 9):
        sink.append(channel, n, n)
    assert not sink.failed()
    monkeypatch.setattr("perjoule.store.disk.PATIENCE_S", -1.0)
    assert sink.failed()
    sink.append(channel, 9, 9)  # comes too late, and ends no thread
    with pytest.raises(
        MachineError, match=r"the disk is full: the recording ends after 5 samples, the last 4 are lost"
    ) as stop:
        sink.close()
    assert stop.value.exit_code == 3
    assert (tmp_path / "r.csv").read_bytes().endswith(b"\n")
    assert read_recording(tmp_path / "r.csv")[0].value.tolist() == [0, 1, 2, 3, 4]


def test_a_disk_that_is_full_from_the_start_is_reported_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Path.open
    monkeypatch.setattr(Path, "open", lambda p, mode="r", **w: opened(Path("/dev/full"), "wb", buffering=0))
    with pytest.raises(OSError, match="No space left"):
        Recording(tmp_path / "r.csv")


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Slow(Metered):
    """Answers after a while, and may date what it says by a clock of its own."""

    ahead: float | None = None

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        def read() -> list[MeterReading]:
            time.sleep(0.01)
            t_s = None if self.ahead is None else time.monotonic() + self.ahead
            return [MeterReading(POWER, 40.0, t_s, dated=t_s is not None)]

        yield read

    def checks(self) -> tuple[Check, ...]:
        return ()


def _recorded(meter: Slow) -> Series:
    memory = recorder.Memory()
    with meter.record(Hosts(()), memory):
        time.sleep(0.03)
    return memory.series()[0]


def test_the_request_of_a_polled_sample_is_kept_and_its_moment_is_the_middle() -> None:
    found = _recorded(as_written(Slow, rate="50 Hz"))
    assert found.asked_s is not None
    assert found.arrived_s is not None
    assert (found.arrived_s - found.asked_s >= 0.01).all()
    assert found.t_s == pytest.approx((found.asked_s + found.arrived_s) / 2)


def test_a_sample_that_another_clock_dated_keeps_when_it_came_and_one_of_the_future_is_refused() -> None:
    found = _recorded(as_written(Slow, rate="50 Hz", ahead=-0.5))
    assert found.asked_s is None
    assert found.arrived_s is not None
    assert ((found.arrived_s - found.t_s > 0.49) & (found.arrived_s - found.t_s < 5)).all()
    with pytest.raises(MachineError, match=r"its clock is at least \d\.\d s ahead"):
        _recorded(as_written(Slow, rate="50 Hz", ahead=5.0))


def test_a_recording_keeps_when_samples_were_polled_and_older_ones_are_read_without(tmp_path: Path) -> None:
    sink = Recording(tmp_path / "r.csv")
    now_s = time.monotonic()
    sink.append(POWER, now_s, 40.0, 0.0, now_s - 0.1, now_s + 0.1)
    sink.close()
    (found,) = read_recording(tmp_path / "r.csv")
    assert found.asked_s is not None
    assert found.arrived_s is not None
    assert found.arrived_s - found.asked_s == pytest.approx(0.2, abs=1e-5)
    lines = (tmp_path / "r.csv").read_text().splitlines()
    (tmp_path / "old.csv").write_text("".join(line.rsplit(",", 2)[0] + "\n" for line in lines))
    (older,) = read_recording(tmp_path / "old.csv")
    assert (older.asked_s, older.value[0]) == (None, 40.0)
    editors = "".join(f"{line}\r\n" for line in lines)  # as editors on Windows save it
    (tmp_path / "edited.csv").write_bytes(editors.encode("utf-8-sig"))
    (edited,) = read_recording(tmp_path / "edited.csv")
    assert (edited.t_s.tolist(), edited.channel) == (found.t_s.tolist(), found.channel)


def test_what_is_not_a_recording_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(MachineError, match="not a recording by perjoule"):
        read_recording(tmp_path / "x.csv")


def test_a_recording_from_elsewhere_is_joined_by_its_clock(tmp_path: Path) -> None:
    sink = Recording(tmp_path / "plug.csv")
    whole = Channel("plug", "", "total", "power", "W", "window mean", "wall")
    ahead_s = 2.0  # the recorder's clock
    began_s = time.monotonic()
    results = measured(tmp_path / "results", 'repetitions = 1\nsettle = "200 ms"\nquiet = 0')
    ended_s = time.monotonic()
    for t_s in np.arange(began_s - 1, ended_s + 1, 0.05):
        sink.append(whole, t_s + ahead_s, 30.0, 0.05)
    sink.close()
    record = results.latest()[0]
    assert record.status == "valid", record.reason
    assert "energy_j" not in points(record, results.series(record))[0].metrics
    results.join(tmp_path / "plug.csv", ClockError(offset_s=ahead_s, uncertainty_s=0.02))
    joined = next(s for s in results.series(record) if s.channel.meter == "plug")
    assert joined.channel.specification.clock_s == 0.02
    point = points(record, results.series(record))[0]
    assert point.metrics["gross_mean_w"] == pytest.approx(30.0, rel=1e-4)  # a recording has microseconds
    with pytest.raises(MachineError, match="another recording with this name"):
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "plug.csv").write_text((tmp_path / "plug.csv").read_text() + "1,1,1\n")
        results.join(tmp_path / "other" / "plug.csv", ClockError())


def test_prometheus_gets_live_watts_and_a_gap_in_the_place_of_a_failed_read() -> None:
    memory = recorder.Memory(2)
    energy = Channel("plug", "local", "all", "energy", "J", "counter", "wall")
    stale = Channel("old", "local", "all", "power", "W", "instantaneous", "BMC")
    broken = Channel("broken", "local", "all", "power", "W", "instantaneous", "PDU")
    now_s = time.monotonic()
    memory.append(POWER, now_s, 41.5)
    memory.append(energy, now_s, 1234.0)
    memory.append(stale, now_s - 100, 7.0)
    memory.append(broken, now_s, float("nan"))
    with (
        exporter.serving(memory.latest, "127.0.0.1", 0) as url,
        urllib.request.urlopen(url, timeout=5) as answer,
    ):
        said = answer.read().decode()
    assert (
        'perjoule_power_watts{component="all",covers="",grade="wall",host="local",meter="plug"} 41.5' in said
    )
    assert re.search(r"perjoule_energy_joules_total\{.*\} 1234\.0", said)
    assert "perjoule_power_watts{" in said and 'meter="old"} 7' not in said and "NaN" not in said
    assert (
        'perjoule_sample_age_seconds{component="all",covers="",grade="BMC",host="local",meter="old"}' in said
    )


def test_meters_stream_into_a_memory_of_bounded_size() -> None:
    memory = recorder.Memory(10)
    with recorder.recording([as_written(Simulated, rate="200 Hz")], memory):
        deadline_s = time.monotonic() + 5
        while sum(len(s.t_s) for s in memory.series()) < 9 and time.monotonic() < deadline_s:
            time.sleep(0.01)
    assert 9 <= sum(len(s.t_s) for s in memory.series()) <= 20


def test_the_load_of_a_pattern_is_real_on_time_and_gone_afterwards(tmp_path: Path) -> None:
    with Local(work=str(tmp_path)).hold(1) as hosts:
        before = hosts.all[0].counters()
        planned_s = (0.0, 0.2, 0.3, 0.5)
        began_s = time.monotonic()
        edges_s = clock_sync.drive(hosts.all, planned_s, tmp_path)
        after = hosts.all[0].counters()
    assert all(edge_s - began_s >= at_s for edge_s, at_s in zip(edges_s, planned_s, strict=True))
    assert before.cpu_s is not None and after.cpu_s is not None
    assert after.cpu_s - before.cpu_s > 0.05  # of 0.4 s on each core, which others may want, too
    children = " ".join(path.read_text() for path in Path("/proc/self/task").glob("*/children")).split()
    assert not [pid for pid in children if "if=/dev/zero" in Path(f"/proc/{pid}/cmdline").read_text()]


def test_who_stops_looking_for_meters_waits_for_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    looking, ending = Event(), Event()

    class Slow:
        @classmethod
        def discover(cls, addresses: tuple[str, ...]) -> tuple[()]:
            looking.set()
            assert current_thread().daemon  # an interpreter that ends waits for no such thread
            ending.wait(10.0)
            return ()

    monkeypatch.setattr(recorder.drivers, "kinds", lambda part: ("slow",))
    monkeypatch.setattr(recorder.drivers, "meter_class", lambda kind: Slow)
    outcomes: list[object] = []
    thread = Thread(target=lambda: outcomes.append(recorder.discovered(["a", "b"])))
    thread.start()
    assert looking.wait(5.0)
    ending.set()
    thread.join(5.0)
    assert outcomes == [{"": [], "a": [], "b": []}]


@pytest.mark.parametrize(
    ("values", "failed_ratio"), [([], 0.0), ([5.0, np.nan, 6.0, 7.0], 0.25), ([5.0, np.nan] * 5, 0.5)]
)
def test_the_share_of_reads_that_failed_is_reported_however_few_there_are(values, failed_ratio):
    channel = Channel("meter", "host", "all", "power", "W", "instantaneous", "wall")
    found = behaviour(Series(channel, np.arange(float(len(values))), np.zeros(len(values)), np.array(values)))
    assert (found.samples_count, found.failed_ratio) == (len(values), failed_ratio)
