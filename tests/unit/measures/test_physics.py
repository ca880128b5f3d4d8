"""What an event of a detector takes: joules of the servers, without their switch and with it."""

from dataclasses import replace

import pytest

from perjoule.measures.points import points
from perjoule.model.metrics import EVENTS

SERVERS = ("storage-1", "storage-2", "metadata-1")
KEYS = {"events_per_s", "energy_per_event_j", "gross_energy_per_event_j"}


def counting(made, count):
    """Ten seconds of a load that read so many events."""
    record = made.record()
    return replace(record, outcome=replace(record.outcome, measured={EVENTS: count}))


def test_an_event_takes_the_joules_of_the_servers_and_with_the_switch_more(made):
    watts = [made.steady(host, 10.0) for host in SERVERS]
    switch = made.steady("", 5.0, component="switch")
    (point,) = points(counting(made, 50.0), [*watts, switch])
    assert {key: point.metrics[key] for key in KEYS} == pytest.approx(
        {"events_per_s": 5.0, "energy_per_event_j": 300 / 50, "gross_energy_per_event_j": 350 / 50}
    )
    (net,) = points(counting(made, 50.0), watts)
    assert KEYS & net.metrics.keys() == {"events_per_s", "energy_per_event_j"}
    (unmetered,) = points(counting(made, 50.0), [])
    assert KEYS & unmetered.metrics.keys() == {"events_per_s"}


def test_a_load_without_events_has_none_to_divide_by(made):
    for record in (counting(made, 0.0), made.record()):
        (point,) = points(record, [made.steady(host, 10.0) for host in SERVERS])
        assert not KEYS & point.metrics.keys()
