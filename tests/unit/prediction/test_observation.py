"""A trial's record and numbers to a point for predictions, worked out by hand."""

from dataclasses import replace
from math import inf
from types import SimpleNamespace
from typing import cast

import pytest

from perjoule import catalogue
from perjoule.model import (
    Direction,
    Flow,
    Happened,
    HostFact,
    Pattern,
    Point,
    Redundancy,
    Spec,
    Traits,
    TrialEvent,
)
from perjoule.model.errors import CampaignError
from perjoule.model.metrics import metric_of
from perjoule.model.redundancy import Amplification
from perjoule.prediction import observations
from perjoule.results import calibration, ledger
from perjoule.store import Results
from readings import point_of

MIB = 1024**2
FLOW = Flow(client_sent_ratio=1.0, storage_received_ratio=1.0, disk_written_ratio=1.0)
HOSTS = (
    *(HostFact(f"storage-{n}", "storage", "A", cpu_capacity_cores=0.25) for n in (1, 2, 3, 4)),
    HostFact("metadata-1", "metadata", "C", cpu_capacity_cores=0.25),
    HostFact("management-1", "management", "B", cpu_capacity_cores=0.25),
    *(HostFact(f"client-{n}", "client", "G", cpu_capacity_cores=3.5) for n in (1, 2, 3)),
)


@pytest.fixture
def record(made):
    """Two of three clients wrote to four boards whose CPUs are half as fast, at a tenth of their speed."""
    moved = made.results((10.0, 20.0), (10.0, 20.0), moved_bytes=500 * MIB)
    hardware = catalogue.at_speed(
        catalogue.cluster("odroid-hc4"), cpu_ratio=0.5, network_ratio=1.0, disk_ratio=1.0
    )
    return replace(
        made.record(moved=moved, scale=0.1, cluster="odroid-hc4"),
        hosts=HOSTS,
        hardware=hardware,
        data_hosts=("storage-1", "storage-2", "storage-3", "storage-4"),
        redundancy=Redundancy(1),
        amplification=Amplification(FLOW, FLOW),
        traits=Traits(reality="emulated"),
    )


EVEN: dict[Direction, float] = {"write": 1.0}  # all data hosts moved as much


def _point(record, **metrics) -> Point:
    known = {
        "throughput_bytes_per_s": 200.0 * MIB,
        "mean_w": 45.0,
        "cpu_client_s_per_byte": 1e-9,
        "cpu_servers_s_per_byte": 2e-9,
    }
    return point_of(record.trial, "write", {**known, **metrics})


def test_a_point_has_the_hosts_that_loaded_and_held_data_and_their_hardware(record):
    (found,) = observations(record, (_point(record),), EVEN)
    there = found.case.fleet
    assert (there.servers_count, there.clients_count) == (4, 2)
    assert there.server_mips == 4911 / 2
    assert there.server_network_bytes_per_s == pytest.approx(111.34 * MIB)
    assert there.disk_write_bytes_per_s == pytest.approx(2 * 140.09 * MIB)
    assert there.client_network_bytes_per_s == pytest.approx(111.34 * MIB)
    assert there.client_mips == 70_000
    assert found.case.client_bytes == 500 * MIB
    assert found.case.flow == FLOW
    assert found.throughput_bytes_per_s == 200 * MIB
    assert found.mean_w == 45


def test_cpu_seconds_are_worth_the_boards_rating_at_the_scale(record):
    """A quarter of a core is a whole board of 2455.5 MIPS at a tenth of its speed: a CPU second is worth
    982.2 MIPS seconds.
    """
    (found,) = observations(record, (_point(record),), EVEN)
    assert found.server_mips_s_per_byte == pytest.approx(2e-9 * 4911 / 2 * 0.1 / 0.25)
    assert found.client_mips_s_per_byte == pytest.approx(1e-9 * 70_000 * 0.1 / 3.5)


def test_idle_watts_are_those_of_all_servers(record):
    (found,) = observations(record, (_point(record),), EVEN)
    assert found.plant.idle_w == pytest.approx(40.9, abs=0.01)  # what the paper metered


def test_memory_counts_where_hosts_have_that_of_their_boards(record):
    def memory(one):
        (found,) = observations(one, (_point(one),), EVEN)
        return found.case.fleet.server_memory_bytes

    assert memory(record) == inf
    assert memory(replace(record, traits=Traits(reality="real"))) == 4 * 1024**3
    testbed = replace(record.trial.testbed, options={"memory_cap": True})
    assert memory(replace(record, trial=replace(record.trial, testbed=testbed))) == 4 * 1024**3


@pytest.mark.parametrize(
    "missing",
    [
        {"cluster": "", "hardware": None},
        {"redundancy": None},
        {"amplification": None},
        {"outcome": None},
        {"data_hosts": ("client-1", "client-2")},
    ],
    ids=str,
)
def test_a_trial_that_lacks_something_teaches_nothing(record, missing):
    assert list(observations(replace(record, **missing), (_point(record),), EVEN)) == []


def test_a_trial_with_two_networks_whose_bytes_are_counted_together_teaches_nothing(record):
    two = replace(record, facts={**record.facts, "testbed": {"cluster_network": {"storage-1": "10.98.0.1"}}})
    assert list(observations(two, (_point(two),), EVEN)) == []


def test_a_trial_whose_gateways_are_not_beside_data_teaches_nothing(record):
    def of(*gateways: str):
        return replace(record, facts={**record.facts, "filesystem": {"gateways": list(gateways)}})

    beside, apart = of("storage-1", "storage-2"), of("storage-1", "metadata-1")
    assert len(list(observations(beside, (_point(beside),), EVEN))) == 1
    assert list(observations(apart, (_point(apart),), EVEN)) == []


def test_hosts_without_known_hardware_have_that_of_their_role_in_a_named_cluster(record):
    bare = replace(
        record, hardware=None, cluster="", hosts=tuple(replace(host, node="") for host in record.hosts)
    )
    assert list(observations(bare, (_point(bare),), EVEN)) == []
    boards = catalogue.cluster("odroid-hc4")
    (found,) = observations(calibration.on(bare, boards), (_point(bare),), EVEN)
    assert [found] == list(observations(replace(record, hardware=boards), (_point(record),), EVEN))
    assert calibration.on(record, catalogue.cluster("reference-1")) is record


def test_a_trial_without_cpu_counters_or_with_unequal_clients_teaches_nothing(record, made):
    point = _point(record)
    bare = replace(
        point, by_key={key: one for key, one in point.by_key.items() if key != "cpu_servers_s_per_byte"}
    )
    assert list(observations(record, (bare,), EVEN)) == []
    one, other = record.outcome.results
    unequal = replace(record, outcome=replace(record.outcome, results=(one, replace(other, moved_bytes=1))))
    assert list(observations(unequal, (point,), EVEN)) == []
    blank = tuple(replace(host, cpu_capacity_cores=None) for host in record.hosts)
    assert list(observations(replace(record, hosts=blank), (point,), EVEN)) == []


def _under(record, kind, options):
    """Return a record whose load is of this kind."""
    load = replace(record.trial.workload, kind=kind, options=options)
    return replace(record, trial=replace(record.trial, workload=load))


def test_calls_in_flight_are_those_that_the_load_says_or_has_by_default(record):
    def calls(kind, options):
        one = _under(record, kind, options)
        (found,) = observations(one, (_point(one),), EVEN)
        return found.case.in_flight_count

    assert [calls("fio", {}), calls("fio", {"in_flight": 4}), calls("rados", {}), calls("ior", {})] == [
        1,
        4,
        16,
        1,
    ]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("fio", {"operation": "randwrite", "transfer": "4 KiB"}),
        ("fio", {"operation": "rw"}),
        ("fio", {"rate": "10 MiB/s"}),
        ("fio", {"burst": "16 MiB", "pause": "2 s"}),
        ("fio", {"round": "2 s"}),
        ("fio", {"verify": "crc32c"}),
        ("ior", {"ranks": 4}),
        ("ior", {"shared_file": True}),
        ("rados", {"operation": "rand"}),
        ("hep", {}),
        ("mdtest", {}),
        ("fio", {"option_of_another_release": 1}),
        ("imported", {}),
        ("tool_of_another_release", {}),
    ],
    ids=str,
)
def test_a_load_that_does_not_stream_as_fast_as_it_can_teaches_nothing(record, kind, options):
    one = _under(record, kind, options)
    assert list(observations(one, (_point(one),), EVEN)) == []


def test_a_trial_in_which_something_was_done_to_the_file_system_teaches_nothing(record):
    failed = replace(record, events=(Happened(TrialEvent(2.0, "kill", "storage-1"), 12.0, 12.0, 12.1),))
    assert list(observations(failed, (_point(failed),), EVEN)) == []


def _profiles(monkeypatch, tmp_path, *records):
    """Fit a trial of one client and one of two for each record."""
    trials = [
        replace(
            one,
            trial=replace(one.trial, repetition=number, clients_count=count),
            outcome=_outcome(one, count),
        )
        for number, one in enumerate(records)
        for count in (1, 2)
    ]
    monkeypatch.setattr(
        calibration, "points_of", lambda _results, records: tuple(_point(one) for one in records)
    )
    monkeypatch.setattr(calibration, "_busiest", lambda _results, _record: EVEN)
    monkeypatch.setattr(
        calibration.store, "open_results", lambda _folder: SimpleNamespace(latest=lambda: trials)
    )
    return calibration.profiles([tmp_path])


def _outcome(record, clients_count):
    return replace(record.outcome, results=record.outcome.results[:clients_count])


def test_trials_of_one_redundancy_with_other_settings_are_not_mixed(record, monkeypatch, tmp_path):
    def of(**options):
        return replace(record, trial=replace(record.trial, filesystem=Spec("orangefs", options, "orangefs")))

    same = (of(), of(stripe="64 KiB", patience="2 min"))  # 64 KiB is the default
    assert len(_profiles(monkeypatch, tmp_path, *same)["orangefs"].profile.points) == 4
    with pytest.raises(
        CampaignError,
        match="orangefs: trials of the same redundancy with another stripe can't be mixed; calibr",
    ):
        _profiles(monkeypatch, tmp_path, of(), of(stripe="1 MiB"))
    more = replace(of(stripe="1 MiB"), redundancy=Redundancy(2))
    assert len(_profiles(monkeypatch, tmp_path, of(), more)["orangefs"].profile.points) == 4


def test_trials_of_other_calls_are_not_mixed_and_a_profile_keeps_theirs(record, monkeypatch, tmp_path):
    def of(transfer_bytes: int = 4 * MIB, *, direct: bool = False):
        return replace(
            record, traits=Traits("emulated", pattern=Pattern(transfer_bytes, "sequential", direct))
        )

    kind = record.trial.filesystem.kind
    assert _profiles(monkeypatch, tmp_path, of(direct=True))[kind].profile.pattern.direct
    with pytest.raises(CampaignError, match="trials of calls of 4 MiB and calls of 64 KiB can't be mixed"):
        _profiles(monkeypatch, tmp_path, of(), of(64 * 1024))
    with pytest.raises(
        CampaignError, match="trials of calls of 4 MiB and calls of 4 MiB by direct I/O can't be mixed"
    ):
        _profiles(monkeypatch, tmp_path, of(), of(direct=True))


def test_the_busiest_host_counts_and_a_trial_that_does_not_know_it_teaches_nothing(record):
    known: dict[Direction, float] = {"write": 1.25, "read": 2.0}
    (found,) = observations(record, (_point(record),), known)
    assert found.busiest_ratio == 1.25
    del known["write"]
    assert list(observations(record, (_point(record),), known)) == []


def test_a_trial_whose_clients_hardly_overlapped_teaches_nothing_and_stops_neither_calibration_nor_ledger(
    record, made, monkeypatch
):
    """Such a point has no throughput of all clients together."""
    one_after_the_other = made.results((10.0, 20.0), (19.9, 30.0), moved_bytes=500 * MIB)
    apart = replace(record, outcome=replace(record.outcome, results=one_after_the_other))
    whole = _point(apart)
    point = replace(
        whole, by_key={key: one for key, one in whole.by_key.items() if not metric_of(key).together}
    )
    assert "cpu_servers_s_per_byte" in point.metrics
    assert list(observations(apart, (point,), EVEN)) == []
    monkeypatch.setattr(calibration, "points_of", lambda _results, _records: (point,))
    monkeypatch.setattr(calibration, "_busiest", lambda _results, _record: EVEN)
    results = cast("Results", SimpleNamespace(latest=lambda: [apart]))
    assert calibration.observed(results) == (calibration.Observed(apart, (point,), ()),)
    assert ledger.joined([], [results]) == ()


def test_the_points_of_a_trial_are_read_once(record, monkeypatch, tmp_path):
    """A folder of many trials is read by `calibrate` and `ledger` in the time that its points take."""
    read = []
    monkeypatch.setattr(
        calibration, "points_of", lambda _results, records: read.extend(records) or (_point(record),)
    )
    monkeypatch.setattr(calibration, "_busiest", lambda _results, _record: EVEN)
    results = cast("Results", SimpleNamespace(latest=lambda: [record]))
    monkeypatch.setattr(calibration.store, "open_results", lambda _folder: results)
    ledger.joined([], [results])
    assert read == [record]
    ((kind, taught),) = calibration._taught(tmp_path, None)
    assert (kind, len(taught.points), len(taught.odds)) == (record.trial.filesystem.kind, 1, 1)
    assert read == [record, record]
