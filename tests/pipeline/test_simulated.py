"""The whole pipeline on the product's own fakes: what comes out is known beforehand, to the last digits."""

import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast

import pytest

from commanded import export
from oracle.check import apart, checked, recomputed
from perjoule import campaign
from perjoule.catalogue import cluster
from perjoule.drivers.protocols import Check, Host, Hosts, Mounted, OfOthers, able
from perjoule.execution import readiness, runner, trial
from perjoule.execution.notices import Notice
from perjoule.filesystems import simulated
from perjoule.measures.points import points
from perjoule.model import Campaign, Outcome, Pattern, Point, Record
from perjoule.model.doubts import IN_FLIGHT
from perjoule.model.errors import CampaignError, MachineError, RequirementsMissing
from perjoule.model.units import MIB
from perjoule.store import Results, create, open_results
from perjoule.workloads.simulated import SimulatedLoad

CAMPAIGN = """
name = "simulated"
seed = 1
clients = {clients}
repetitions = {repetitions}
settle = "60 ms"
[testbed]
kind = "simulated"
{testbed}
[[filesystem]]
kind = "simulated"
throughput = "40 MiB/s"
{filesystem}
[[workload]]
kind = "simulated"
{size}
{workload}
[[meter]]
{meter}
"""
CONSTANT = """
kind = "simulated"
waveform = "constant"
high = "50 W"
rate = "100 Hz"
"""
SYSTEM = 'kind = "system"'


def asked(*, clients: str = "1", repetitions: int = 1, meter: str = CONSTANT, **options: str) -> Campaign:
    parts = {part: options.get(part, "") for part in ("testbed", "filesystem", "workload")}
    parts["size"] = "" if "size =" in parts["workload"] else 'size = "4 MiB"'
    return campaign.parse(CAMPAIGN.format(clients=clients, repetitions=repetitions, meter=meter, **parts))


def measured(folder: Path, wanted: Campaign) -> Results:
    results = create(folder / "results", wanted.text, wanted.name)
    runner.run(wanted, results, lambda notice: None)
    return open_results(folder / "results")


def judged(results: Results) -> list[tuple[Record, Point]]:
    return [
        (record, point) for record in results.records() for point in points(record, results.series(record))
    ]


def test_throughput_and_time_are_known_exactly(tmp_path: Path) -> None:
    pairs = judged(measured(tmp_path, asked(clients="[1, 3]", workload='operation = ["write", "read"]')))
    assert sorted((p.trial.clients_count, p.direction) for _, p in pairs) == [
        (1, "read"),
        (1, "write"),
        (3, "read"),
        (3, "write"),
    ]
    for record, point in pairs:
        assert record.status == "valid"
        # whose headline ends with the hosts' sync, by the clock
        burst = "burst_" if point.direction == "write" else ""
        assert point.metrics[f"{burst}duration_s"] == pytest.approx(0.1)
        assert point.metrics[f"{burst}throughput_bytes_per_s"] == pytest.approx(
            point.trial.clients_count * 40 * MIB
        )
        assert point.metrics["common_throughput_bytes_per_s"] == pytest.approx(
            point.trial.clients_count * 40 * MIB
        )


def test_energy_is_known_exactly(tmp_path: Path) -> None:
    ((_, point),) = judged(measured(tmp_path, asked(workload='operation = "read"')))
    assert point.metrics["energy_j"] == pytest.approx(50 * 0.1)
    assert point.metrics["mean_w"] == pytest.approx(50)
    assert point.metrics["efficiency_bytes_per_j"] == pytest.approx(4 * MIB / 5)
    assert point.metrics["edp_js"] == pytest.approx(5 * 0.1)


def test_emulated_time_stretches_everything_that_takes_time(tmp_path: Path) -> None:
    ((record, point),) = judged(
        measured(tmp_path, asked(testbed="scale = 0.5", workload='operation = "read"'))
    )
    assert record.scale == 0.5
    assert point.metrics["duration_s"] == pytest.approx(0.05)
    assert point.metrics["throughput_bytes_per_s"] == pytest.approx(80 * MIB)
    assert point.metrics["energy_j"] == pytest.approx(50 * 0.05)
    assert point.metrics["mean_w"] == pytest.approx(50)


def test_a_record_keeps_where_the_data_lay(tmp_path: Path) -> None:
    (record,) = measured(tmp_path, asked()).records()
    assert record.data_hosts == tuple(host.name for host in record.hosts if host.role == "storage")
    assert record.data_hosts


def test_counters_are_known_exactly(tmp_path: Path) -> None:
    options = 'cpu = "25 %"\nnetwork = "10 MiB/s"\ndisk = "5 MiB/s"'
    ((record, point),) = judged(
        measured(tmp_path, asked(testbed=options, meter=f'{SYSTEM}\nrate = "100 Hz"'))
    )
    assert record.outcome is not None
    cores_counts = [
        node.board.cores_count for node in cluster(record.cluster).nodes if node.role == "storage"
    ]
    storage_count = sum(host.role == "storage" for host in record.hosts)
    # bytes are taken from the baseline (here shorter than 0.4 s) up to the end of the tail, for late copies
    counted_s = record.phases[-1].ended_s - next(
        phase.began_s for phase in record.phases if phase.name == "baseline"
    )
    per_byte = storage_count * counted_s / (4 * MIB)
    work_s = 0.25 * cores_counts[0] * storage_count * point.metrics["duration_s"]
    assert point.metrics["cpu_storage_s_per_byte"] == pytest.approx(work_s / (4 * MIB), rel=1e-4)
    expected = {
        "network_received_storage_ratio": 10 * MIB,
        "network_sent_storage_ratio": 10 * MIB,
        "disk_read_storage_ratio": 5 * MIB,
        "disk_written_storage_ratio": 5 * MIB,
    }
    for metric, rate in expected.items():
        assert point.metrics[metric] == pytest.approx(rate * per_byte, rel=1e-4)
    assert point.metrics["disk_busy_storage_ratio"] == pytest.approx(0.5)


def test_cpu_time_by_byte_is_without_that_of_programs_that_start_and_report(tmp_path: Path) -> None:
    """Each client's take 0.75 s of CPU time in all beside the load, which takes a tenth of that."""
    options = 'size = "120 MiB"\noperation = "read"\nprograms = "750 ms"'
    campaign = asked(testbed='cpu = "1 %"', workload=options, meter=f'{SYSTEM}\nrate = "50 Hz"')
    results = measured(tmp_path, campaign)
    ((record, point),) = judged(results)
    cores_count = next(
        node.board.cores_count for node in cluster(record.cluster).nodes if node.role == "client"
    )
    true_s_per_byte = 0.01 * cores_count * point.metrics["duration_s"] / (120 * MIB)
    error_s_per_byte = abs(point.metrics["cpu_client_s_per_byte"] - true_s_per_byte)
    assert error_s_per_byte <= point.metrics["cpu_client_uncertainty_s_per_byte"] <= 0.25 * true_s_per_byte
    assert apart(recomputed(checked(results.folder, export))).values.tolist() == []


@pytest.mark.parametrize("access", ["random", "sequential", ""])
def test_hosts_hear_before_each_load_whether_their_disks_seek(
    access: Literal["random", "sequential", ""], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[tuple[str, object]] = []
    monkeypatch.setattr(trial, "Seeks", Host)
    monkeypatch.setattr(
        Host, "seek", lambda host, *, at_random: heard.append((host.name, at_random)), raising=False
    )
    monkeypatch.setattr(SimulatedLoad, "pattern", Pattern(access=access))
    load = SimulatedLoad.run

    def run(self: SimulatedLoad, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        heard.append(("the load", None))
        return load(self, clients, mounted, folder)

    monkeypatch.setattr(SimulatedLoad, "run", run)
    (record,) = measured(tmp_path, asked()).records()
    assert heard == [*((host.name, access == "random") for host in record.hosts), ("the load", None)]


def test_a_write_ends_when_the_hosts_have_written_back(tmp_path: Path) -> None:
    wanted = asked(testbed='write_back = "200 ms"\ndisk = "5 MiB/s"', meter=SYSTEM + "\n[[meter]]" + CONSTANT)
    ((record, point),) = judged(measured(tmp_path, wanted))
    assert record.outcome is not None
    phases = {phase.name: phase for phase in record.phases}
    assert list(phases) == ["prepare", "baseline", "measure", "write-back", "tail"]
    assert phases["measure"].ended_s <= phases["write-back"].began_s
    assert phases["write-back"].began_s + 0.2 <= phases["write-back"].ended_s <= phases["tail"].began_s
    took_s = phases["write-back"].ended_s - record.outcome.began_s
    assert point.metrics["duration_s"] == pytest.approx(took_s)
    assert point.metrics["throughput_bytes_per_s"] == pytest.approx(4 * MIB / took_s)
    assert (point.metrics["energy_j"], point.metrics["burst_energy_j"]) == pytest.approx(
        (50 * took_s, 50 * 0.1)
    )
    # the disks write at one rate from there on
    counted_s = phases["baseline"].ended_s - phases["baseline"].began_s
    before_s = record.outcome.began_s - phases["baseline"].began_s
    assert counted_s <= before_s
    assert point.metrics["durable_ratio"] == pytest.approx((before_s + 0.1) / (before_s + took_s), rel=1e-3)


def test_what_was_written_is_read_back_after_the_write_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float] = []

    def read_back(self: SimulatedLoad, *where: object) -> Outcome:
        seen.append(time.monotonic())
        return replace(self.outcome(cast("Path", where[-1])), note="read back")

    monkeypatch.setattr(SimulatedLoad, "read_back", read_back)
    ((record, _),) = judged(measured(tmp_path, asked(testbed='write_back = "50 ms"')))
    phases = {phase.name: phase for phase in record.phases}
    assert phases["write-back"].ended_s <= seen[0] <= phases["tail"].began_s
    assert record.outcome is not None
    assert record.outcome.note == "read back"


def test_hosts_that_can_t_write_back_are_a_doubt_and_the_headline_is_the_burst(tmp_path: Path) -> None:
    ((record, point),) = judged(measured(tmp_path, asked(testbed='failure = "sync"')))
    assert "write-back" not in {phase.name for phase in record.phases}
    assert point.metrics["duration_s"] == pytest.approx(0.1)
    assert any(
        "data were not written back: storage-1: sync failed, as configured" in doubt for doubt in point.doubts
    )
    assert IN_FLIGHT.durable_unknown() in point.doubts


def test_noise_is_the_same_each_time(tmp_path: Path) -> None:
    def durations_s(folder: Path) -> list[float]:
        folder.mkdir()
        pairs = judged(measured(folder, asked(repetitions=3, filesystem='noise = "10 %"')))
        return [point.metrics["burst_duration_s"] for _, point in pairs]

    first, second = durations_s(tmp_path / "first"), durations_s(tmp_path / "second")
    assert first == pytest.approx(second)
    assert len({round(duration_s, 6) for duration_s in first}) == 3


def test_a_failed_trial_is_kept_with_its_reason_and_the_campaign_continues(tmp_path: Path) -> None:
    records = measured(tmp_path, asked(repetitions=3, workload="fail_at = 2")).records()
    assert [record.status for record in records] == ["valid", "failed", "valid"]
    assert [record.reason_id for record in records] == ["", "workload", ""]
    assert records[1].reason == "client-1: the simulated load fails in its run 2, as configured"
    assert len({record.trial.id for record in records}) == 3


def test_after_a_transient_failure_the_campaign_continues_with_a_fresh_deployment(tmp_path: Path) -> None:
    records = measured(
        tmp_path, asked(repetitions=4, workload='fail_at = 2\nfailure = "transient"')
    ).records()
    assert [record.reason_id for record in records] == ["", "transient", "", "transient"]


def test_a_doubt_stays_with_the_trial(tmp_path: Path) -> None:
    pairs = judged(measured(tmp_path, asked(repetitions=2, workload='fail_at = 1\nfailure = "doubt"')))
    assert ["a doubt, as configured" in point.doubts for _, point in pairs] == [True, False]


def test_a_file_system_that_does_not_come_up_fails_its_trials(tmp_path: Path) -> None:
    records = measured(tmp_path, asked(repetitions=2, filesystem='failure = "daemon"')).records()
    assert [record.status for record in records] == ["failed", "failed"]
    assert {record.reason_id for record in records} == {"transient.daemon_ended"}
    logs = sorted(tmp_path.rglob("logs/metadata-1-simulated.log"))
    assert [log.read_text() for log in logs] == ["goodbye\n"] * 2, (
        "a failed trial keeps the logs of the daemons that failed it"
    )


def test_a_daemon_that_dies_during_a_trial_fails_that_trial(tmp_path: Path) -> None:
    records = measured(tmp_path, asked(repetitions=2, filesystem='failure = "death"')).records()
    assert [record.status for record in records] == ["failed", "failed"]


def test_an_impossible_layout_stops_the_campaign(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="impossible on these hosts"):
        measured(tmp_path, asked(filesystem='failure = "layout"'))


def test_hosts_that_can_t_be_held_stop_the_campaign(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="fails, as configured"):
        measured(tmp_path, asked(testbed='failure = "hold"'))


def test_a_campaign_that_was_interrupted_continues_where_it_stopped(tmp_path: Path) -> None:
    wanted = asked(repetitions=3)
    results = create(tmp_path / "results", wanted.text, wanted.name)

    def interrupt(notice: Notice) -> None:
        if notice.kind == "kept":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run(wanted, results, interrupt)
    assert len(results.records()) == 1
    runner.run(wanted, results, lambda notice: None)
    assert sorted(record.trial.repetition for record in results.records()) == [1, 2, 3]


@pytest.mark.parametrize("interrupted", [False, True])
def test_what_could_not_be_removed_at_the_end_is_told(
    interrupted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = simulated.SimulatedFileSystem.mount

    @contextmanager
    def mount(filesystem: simulated.SimulatedFileSystem, hosts: Hosts) -> Generator[Mounted]:
        with whole(filesystem, hosts) as mounted:
            mounted.__class__ = type("InLab", (type(mounted), OfOthers), {})
            try:
                yield mounted
            finally:
                able(mounted, OfOthers).unremoved = ("lab: all of it stays",)

    def observe(notice: Notice) -> None:
        told.append(notice.text)
        if interrupted and notice.kind == "kept":
            raise KeyboardInterrupt

    told: list[str] = []
    monkeypatch.setattr(simulated.SimulatedFileSystem, "mount", mount)
    wanted = asked(repetitions=2)
    results = create(tmp_path / "results", wanted.text, wanted.name)
    with pytest.raises(KeyboardInterrupt) if interrupted else nullcontext():
        runner.run(wanted, results, observe)
    assert told.count("lab: all of it stays") == 1


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = tmp_path / "hosts"
    hosts.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(hosts))
    measured(tmp_path, asked(repetitions=2, workload="fail_at = 1"))
    assert list(hosts.iterdir()) == []


def test_a_file_system_that_this_machine_lacks_something_for_fails_and_the_others_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[bool] = []

    def checks(filesystem: simulated.SimulatedFileSystem) -> tuple[Check, ...]:
        fast = filesystem.throughput_bytes_per_s > 50 * MIB
        checked.append(fast)
        return (Check("mount.nfs", not fast, "not found", "apt install nfs-common"),)

    monkeypatch.setattr(simulated.SimulatedFileSystem, "checks", checks)
    second = '[[filesystem]]\nkind = "simulated"\nlabel = "fast"\nthroughput = "{} MiB/s"'
    wanted = asked(filesystem='label = "slow"\n' + second.format(80))
    assert [(label, str(error)) for (_, label), error in readiness.unable(wanted).items()] == [
        ("fast", "mount.nfs: not found; apt install nfs-common")
    ]
    results = create(tmp_path / "results", wanted.text, wanted.name)
    checked.clear()
    with pytest.raises(RequirementsMissing):
        runner.run(wanted, results, lambda notice: None)
    assert checked.count(True) == 1
    assert {r.trial.filesystem.label: (r.status, r.reason_id) for r in results.records()} == {
        "slow": ("valid", ""),
        "fast": ("failed", "machine.requirements_missing"),
    }
    assert not all(check.ok for check in readiness.checks(wanted))
    readiness.require(readiness.checks(wanted, readiness.unable(wanted)))

    alone = asked(filesystem='label = "fast"').text.replace("40 MiB/s", "80 MiB/s")
    # with nothing to measure, nothing is begun
    with pytest.raises(RequirementsMissing):
        runner.run(campaign.parse(alone), create(tmp_path / "alone", alone, "alone"), lambda notice: None)
