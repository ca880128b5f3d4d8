"""What servers still did after a load: each by its own counter, and without the clients."""

import pytest

from perjoule.measures.points import points

SERVERS, CLIENTS = ("storage-1", "storage-2", "metadata-1"), ("client-1", "client-2")
RATES = {"network_received": 3.0, "disk_read": 5.0, "disk_written": 7.0}
KEYS = {"tail_s", "tail_energy_j", *(f"tail_{quantity}_bytes" for quantity in RATES)}


def counted(made, hosts=SERVERS):
    return [made.counter(host, quantity, rate) for host in hosts for quantity, rate in RATES.items()]


def test_servers_moved_what_their_counters_grew_by_in_the_tail(made):
    watts = [made.steady(host, 10.0, grade="simulated") for host in SERVERS]
    (point,) = points(made.record(scale=0.5, tail_s=4.0), [*watts, *counted(made), *counted(made, CLIENTS)])
    assert {key: point.metrics[key] for key in KEYS} == pytest.approx(
        {
            "tail_s": 0.5 * 4,
            "tail_energy_j": 0.5 * 4 * 30,
            **{f"tail_{quantity}_bytes": 3 * 4 * rate for quantity, rate in RATES.items()},
        }
    )


def test_what_is_not_known_of_all_servers_is_not_known_of_the_tail(made):
    (point,) = points(made.record(tail_s=4.0), [*counted(made, SERVERS[:2]), *counted(made, CLIENTS)])
    assert KEYS & point.metrics.keys() == {"tail_s"}
    (point,) = points(made.record(tail_s=0.0), counted(made))
    assert not KEYS & point.metrics.keys()
