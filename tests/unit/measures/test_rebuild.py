"""Trials in which a disk fails, with a truth that is known."""

from dataclasses import replace

import numpy as np
import pytest

from perjoule.measures.points import points
from perjoule.measures.rebuild import explained
from perjoule.model import REBUILT, Happened, Health, Phase, Redundancy, TrialEvent

SERVERS = ("storage-1", "storage-2", "metadata-1")
LOST_BYTES, METADATA_BYTES = 1000, 300
TWO_COPIES = Redundancy(2)
BEGAN_S, FAILED_S, HEALTHY_S, DONE_S = 10.0, 12.0, 17.5, 24.0
FAIL = Happened(TrialEvent(2.0, "fail", "storage-2"), 11.99, FAILED_S, 12.02, LOST_BYTES)
BACK = Happened(TrialEvent(3.0, "back", "storage-2"), 12.99, 13.0, 13.01)
ANSWERS = tuple(Health(12.1 + n, 12.5 + n, "" if n > 4 else "rebuilding") for n in range(10))


def trial(made, *, events=(FAIL, BACK), health=ANSWERS, scale=1.0, direction="idle", redundancy=TWO_COPIES):
    results = tuple(
        replace(one, moved_bytes=0 if direction == "idle" else 100) for one in made.results((BEGAN_S, 20.0))
    )
    results = tuple(replace(one, direction=direction) for one in results)
    found = made.record(moved=results, scale=scale)
    phases = (*found.phases, Phase(REBUILT, 23.5, DONE_S))
    data = ("storage-1", "storage-2")
    return replace(found, events=events, health=health, redundancy=redundancy, phases=phases, data_hosts=data)


def counter(made, host, quantity, idle_per_s, rebuilt_bytes):
    """It rises steadily, and by the rebuild's bytes between 14 s and 16 s."""
    t_s = np.arange(0.0, 40.0, 0.1)
    value = idle_per_s * t_s + rebuilt_bytes * np.clip((t_s - 14.0) / 2.0, 0.0, 1.0)
    return made.series(made.channel(host, "all", quantity, "counter", "counter", "system"), t_s, value)


def everything(made, *, received=500, read=500, written=510, watts=10.0):
    found = [made.steady(host, watts, grade="simulated") for host in SERVERS]
    for host in SERVERS:
        # which is not of the data
        own = (received, read, written) if host != "metadata-1" else (METADATA_BYTES,) * 3
        found += [
            counter(made, host, "network_received", 7.0, own[0]),
            counter(made, host, "network_sent", 7.0, own[0]),
            counter(made, host, "disk_read", 3.0, own[1]),
            counter(made, host, "disk_written", 5.0, own[2]),
        ]
    return found


def test_what_moves_beyond_the_time_before_is_the_rebuilds_and_is_held_against_redundancy(made):
    (point,) = points(trial(made), everything(made))
    found = point.metrics
    assert found["rebuild_lost_bytes"] == LOST_BYTES
    assert found["rebuild_s"] == pytest.approx(HEALTHY_S - FAILED_S)
    assert found["rebuild_network_ratio"] == pytest.approx(1.0)
    assert found["rebuild_disk_read_ratio"] == pytest.approx(1.0)
    assert found["rebuild_disk_written_ratio"] == pytest.approx(1.02)
    assert found["rebuild_network_received_storage_bytes"] == pytest.approx(
        1000 + 2 * 7 * (DONE_S - FAILED_S)
    )
    assert found["rebuild_network_received_metadata_bytes"] == pytest.approx(
        METADATA_BYTES + 7 * (DONE_S - FAILED_S)
    )
    assert found["rebuild_energy_per_byte_j"] == pytest.approx(30 * (HEALTHY_S - FAILED_S) / LOST_BYTES)
    assert found["rebuild_added_per_byte_j"] == pytest.approx(0.0, abs=1e-9)
    assert {found[f"derived_rebuild_{way}_ratio"] for way in ("network", "disk_read", "disk_written")} == {
        1.0
    }
    assert not any("rebuild" in doubt for doubt in point.doubts)


def test_what_moves_in_a_rebuild_is_each_by_its_own_counter(made):
    """Until its end by every host of a role, and beyond the time before by those of the data."""
    rates = {"network_received": 3.0, "network_sent": 5.0, "disk_read": 7.0, "disk_written": 11.0}
    counted = [
        counter(made, host, quantity, rate, 100 * rate)
        for host in SERVERS
        for quantity, rate in rates.items()
    ]
    found = points(trial(made), counted)[0].metrics
    moved = {f"rebuild_{quantity}_storage_bytes": rate for quantity, rate in rates.items()}
    assert {key: found[key] for key in moved} == pytest.approx(
        {key: 2 * rate * (100 + DONE_S - FAILED_S) for key, rate in moved.items()}
    )
    ratios = {"network": 3.0, "disk_read": 7.0, "disk_written": 11.0}
    assert {way: found[f"rebuild_{way}_ratio"] for way in ratios} == pytest.approx(
        {way: 2 * 100 * rate / LOST_BYTES for way, rate in ratios.items()}
    )


def test_a_code_reads_and_sends_k_bytes_for_one_and_a_mirror_beneath_writes_it_twice():
    assert explained(Redundancy(data_count=4, parity_count=1)) == {
        "network_received": 4.0,
        "disk_read": 4.0,
        "disk_written": 1.0,
    }
    assert explained(Redundancy(3, beneath_count=2)) == {
        "network_received": 1.0,
        "disk_read": 1.0,
        "disk_written": 2.0,
    }


@pytest.mark.parametrize(
    ("moved", "said"),
    [
        ({"received": 560}, "rebuild: more bytes crossed the network than the 1 for each lost byte"),
        ({"read": 0}, "rebuild: fewer bytes were read from disks than the 1 for each lost byte"),
        ({"written": 440}, "rebuild: fewer bytes were written to disks than the 1 for each lost byte"),
    ],
)
def test_what_redundancy_does_not_explain_within_a_tenth_is_a_doubt(made, moved, said):
    (point,) = points(trial(made), everything(made, **moved))
    assert [doubt for doubt in point.doubts if doubt.startswith("rebuild")] == [
        f"{said} that redundancy explains, by more than 10 %"
    ]


@pytest.mark.parametrize(
    ("read", "said"), [(890, ["fewer"]), (910, []), (1000, []), (1090, []), (1110, ["more"])]
)
def test_a_tenth_is_that_of_what_a_code_reads_for_each_lost_byte(made, read, said):
    code = Redundancy(data_count=2, parity_count=1)
    (point,) = points(trial(made, redundancy=code), everything(made, received=1000, read=read, written=500))
    assert [doubt for doubt in point.doubts if doubt.startswith("rebuild")] == [
        f"rebuild: {word} bytes were read from disks than the 2 for each lost byte that redundancy explains, by "
        "more than 10 %"
        for word in said
    ]


def test_seconds_and_joules_are_emulated_and_bytes_are_not(made):
    (point,) = points(trial(made, scale=0.5), everything(made))
    assert point.metrics["rebuild_s"] == pytest.approx((HEALTHY_S - FAILED_S) / 2)
    assert point.metrics["rebuild_energy_per_byte_j"] == pytest.approx(
        30 * (HEALTHY_S - FAILED_S) / 2 / LOST_BYTES
    )
    assert point.metrics["rebuild_network_ratio"] == pytest.approx(1.0)


def test_under_a_load_bytes_are_added_up_and_nothing_is_divided_by_those_lost(made):
    (point,) = points(trial(made, direction="read"), everything(made))
    assert point.metrics["rebuild_network_received_storage_bytes"] > 0
    assert not [
        key for key in point.metrics if key.startswith("rebuild") and key.endswith(("ratio", "per_byte_j"))
    ]


def test_a_rebuild_that_does_not_end_has_no_numbers_but_what_was_lost(made):
    (point,) = points(trial(made, health=ANSWERS[:-1]), everything(made))
    assert [key for key in point.metrics if "rebuild" in key] == ["rebuild_lost_bytes"]


def test_a_disk_that_held_nothing_and_one_that_fails_too_early_are_not_divided_by(made):
    for events, why in (
        ((replace(FAIL, lost_bytes=0), BACK), "the disk held nothing"),
        ((replace(FAIL, began_s=10.9), BACK), "less than a second was measured before it"),
    ):
        (point,) = points(trial(made, events=events), everything(made))
        assert f"the rebuild is not compared with the redundancy: {why}" in point.doubts
        assert "rebuild_network_ratio" not in point.metrics


@pytest.mark.parametrize(("before_s", "compared"), [(0.98, False), (1.02, True)])
def test_a_second_before_the_failure_tells_what_moves_without_it(made, before_s, compared):
    early = replace(FAIL, began_s=BEGAN_S + before_s)
    (point,) = points(trial(made, events=(early, BACK)), everything(made))
    assert ("rebuild_network_ratio" in point.metrics) == compared


def test_a_server_that_was_only_killed_has_no_rebuild(made):
    killed = replace(FAIL, event=replace(FAIL.event, kind="kill"), lost_bytes=None)
    (point,) = points(trial(made, events=(killed, BACK)), everything(made))
    assert not any("rebuild" in key for key in point.metrics)


@pytest.mark.parametrize(("kind", "at_s"), [("add", 1.0), ("kill", 0.5), ("scrub", 4.0), ("lossy", 3.0)])
def test_bytes_of_a_rebuild_are_not_told_from_those_of_another_event(made, kind, at_s):
    """What other events move or hold up, before or after the failure, is neither quiet nor the rebuild."""
    other = Happened(
        TrialEvent(at_s, kind, "storage-1"), BEGAN_S + at_s, BEGAN_S + at_s, BEGAN_S + at_s + 0.01
    )
    events = tuple(sorted((FAIL, BACK, other), key=lambda one: one.began_s))
    (point,) = points(trial(made, events=events), everything(made))
    assert [key for key in point.metrics if "rebuild" in key] == ["rebuild_lost_bytes"]
    said = [doubt for doubt in point.doubts if doubt.startswith("the rebuild")]
    assert said == [
        f"the rebuild has no numbers of its own: another event ({kind}) was in the trial, which may move "
        "bytes too"
    ]


def test_two_disks_that_fail_and_come_back_are_one_rebuild(made):
    second = replace(FAIL, event=replace(FAIL.event, at_s=2.5, host="storage-1"), began_s=12.5)
    (point,) = points(trial(made, events=(FAIL, second, BACK)), everything(made))
    assert point.metrics["rebuild_network_ratio"] == pytest.approx(1000 / (2 * LOST_BYTES))
