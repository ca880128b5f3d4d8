"""Clients that load together: how much of the time, what they move meanwhile, what is refused where they
hardly do.
"""

from dataclasses import replace

import numpy as np
import pytest

from perjoule import catalogue
from perjoule.energy.efficiency import network_bytes_per_s
from perjoule.measures.overlap import served_bytes
from perjoule.measures.plausibility import doubts
from perjoule.measures.points import points
from perjoule.model import ClientResult
from perjoule.trial.reading import Reading
from perjoule.workloads.together.mix import _apart

COMMON = "common_throughput_bytes_per_s"


def goodput(made, host, *pieces):
    """What a client logged: (from, until, bytes per second)."""
    ends_s, rates = [p[1] for p in pieces], [p[2] for p in pieces]
    of = made.channel(host, quantity="goodput", semantics="window mean")
    return made.series(of, ends_s, rates, [p[1] - p[0] for p in pieces])


def test_bytes_of_the_common_window_are_those_that_logs_put_there(made):
    moved = made.results((10.0, 20.0), (10.0, 14.0))
    logs = [
        goodput(made, "client-1", (10, 12, 150), (12, 16, 0), (16, 20, 175)),
        goodput(made, "client-2", (10, 14, 250)),
    ]
    (point,) = points(made.record(moved=moved), logs)
    assert point.metrics[COMMON] == pytest.approx((2 * 150 + 4 * 250) / 4)


@pytest.mark.parametrize("rate", [120.0, 85.0])
def test_a_log_that_does_not_add_up_to_the_bytes_moved_gives_no_common_throughput(made, rate):
    moved = made.results((10.0, 20.0), (10.0, 20.0))
    logs = [goodput(made, "client-1", (10, 20, 100)), goodput(made, "client-2", (10, 20, rate))]
    assert COMMON not in points(made.record(moved=moved), logs)[0].metrics
    logs[1] = goodput(made, "client-2", (10, 20, 100))
    assert points(made.record(moved=moved), logs)[0].metrics[COMMON] == pytest.approx(200)


# the limits are the clients' networks, and the servers' peak
@pytest.mark.parametrize("clients_count", [2, 8])
def test_bytes_that_only_caches_can_have_taken_give_no_common_throughput(made, clients_count):
    cluster = catalogue.cluster("odroid-hc4")
    client = next(n for n in cluster.nodes if n.role == "client")
    nic = client.board.nic_bytes_per_s.value
    limit = min(clients_count * nic, catalogue.tpp_bytes_per_s(cluster)) / clients_count

    def common(ratio):
        """The first client ends after a second; in its fsync the others write nothing more."""
        one = int(limit * ratio)
        moved = made.results((10.0, 11.0), *[(10.0, 11.4)] * (clients_count - 1), moved_bytes=one)
        logs = [goodput(made, "client-1", (10, 11, one))]
        logs += [goodput(made, r.host, (10, 11, one), (11, 11.4, 0)) for r in moved[1:]]
        hosts = tuple(replace(made.record().hosts[-1], name=r.host, node=client.name) for r in moved)
        storage = [replace(made.record().hosts[0], name=f"storage-{n}") for n in range(4)]
        return points(
            replace(made.record(moved=moved, cluster="odroid-hc4"), hosts=(*hosts, *storage)), logs
        )[0].metrics

    local = replace(made.record(), data_hosts=("client-1",))
    # no network lies between
    assert network_bytes_per_s(replace(local, cluster="odroid-hc4"), ["client-1"]) is None
    assert common(1.0)[COMMON] == pytest.approx(clients_count * limit, rel=1e-6)
    assert COMMON not in common(1.1)


def test_a_client_that_ends_three_times_later_is_a_doubt(made):
    moved = (
        *made.results((10.0, 20.0), (10.0, 20.0)),
        replace(made.results((10.0, 40.0))[0], host="client-3"),
    )
    (doubt,) = doubts(Reading(made.record(moved=moved), []))
    assert doubt == "all clients ran together for only 33 % of the time: client-3 ended 20 s after client-1"
    assert points(made.record(moved=moved), [])[0].metrics["throughput_bytes_per_s"] == pytest.approx(100)


def test_a_late_client_is_explained_by_a_host_that_served_most_of_the_bytes(made):
    moved = made.results((10.0, 20.0), (10.0, 40.0), direction="read")
    sent = [
        made.counter("storage-1", "network_sent", 90, ended_s=45),
        made.counter("storage-2", "network_sent", 10, ended_s=45),
    ]
    (doubt,) = [one for one in doubts(Reading(made.record(moved=moved), sent)) if "together" in one]
    assert doubt.endswith(
        "client-2 ended 20 s after client-1 (storage-1 sent 90 % of the bytes, where an even share of 2 "
        "hosts is 50 %)"
    )
    alone = [sent[0], made.counter("storage-2", "network_sent", 0, ended_s=45)]
    assert any(
        "storage-1 sent 100 % of the bytes" in one for one in doubts(Reading(made.record(moved=moved), alone))
    )
    even = [made.counter(f"storage-{n}", "network_sent", 50, ended_s=45) for n in (1, 2)]
    assert any(
        one.endswith("client-2 ended 20 s after client-1")
        for one in doubts(Reading(made.record(moved=moved), even))
    )


@pytest.mark.parametrize(("share", "told"), [(0.745, False), (0.755, True)])
@pytest.mark.parametrize(
    ("direction", "quantity", "verb"),
    [("read", "network_sent", "sent"), ("write", "network_received", "received")],
)
def test_a_host_served_too_much_from_one_and_a_half_times_its_share_on(
    made, direction, quantity, verb, share, told
):
    moved = made.results((10.0, 20.0), (10.0, 40.0), direction=direction)
    served = {"storage-1": 1 - share, "storage-2": share, "metadata-1": 5.0}  # which holds no data
    series = [made.counter(host, quantity, 100 * rate, ended_s=45) for host, rate in served.items()]
    (doubt,) = [one for one in doubts(Reading(made.record(moved=moved), series)) if "together" in one]
    assert (f"(storage-2 {verb} {100 * share:.0f} % of the bytes" in doubt) == told
    for fewer in (series[1:], [made.counter(host, quantity, 0.0, ended_s=45) for host in served]):
        assert not any(
            "of the bytes" in one
            for one in doubts(Reading(made.record(moved=moved), fewer))
            if "together" in one
        )


def test_what_hosts_served_counts_from_the_first_start_to_the_last_end(made):
    """One served 1 B/s all the time, the other 20 B/s until the second client began: 30 B and 120 B."""
    t_s = np.arange(0, 45.5, 0.5)
    served = {"storage-1": t_s, "storage-2": 20 * np.clip(t_s, 10, 16)}
    series = [
        made.series(made.channel(host, "all", "network_received", "counter", "counter", "system"), t_s, moved)
        for host, moved in served.items()
    ]
    found = doubts(Reading(made.record(moved=made.results((10.0, 20.0), (16.0, 40.0))), series))
    assert any("(storage-2 received 80 % of the bytes" in one for one in found)


def test_a_late_client_that_stood_still_is_named(made):
    moved = made.results((10.0, 20.0), (10.0, 40.0))
    log = goodput(made, "client-2", (10, 20, 50), (20, 30, 0), (30, 40, 50))
    assert any(
        one.endswith("20 s after client-1 (it transferred nothing for 10 s)")
        for one in doubts(Reading(made.record(moved=moved), [log]))
    )


@pytest.mark.parametrize(("stalled_s", "told"), [(5.9, False), (6.1, True)])
def test_a_client_stood_still_from_a_fifth_of_its_time_on(made, stalled_s, told):
    moved = made.results((10.0, 20.0), (10.0, 40.0))
    log = goodput(made, "client-2", (10, 20, 50), (20, 20 + stalled_s, 0), (20 + stalled_s, 40, 50))
    (doubt,) = [one for one in doubts(Reading(made.record(moved=moved), [log])) if "together" in one]
    assert ("transferred nothing" in doubt) == told


@pytest.mark.parametrize("ended_s", [20.0, 22.0, 24.0])  # as on healthy file systems
def test_clients_that_end_a_little_apart_are_no_doubt(made, ended_s):
    assert doubts(Reading(made.record(moved=made.results((10.0, 20.0), (10.0, ended_s))), [])) == ()


def test_clients_that_hardly_overlapped_have_no_rate_together_but_their_energy(made):
    moved = made.results((10.0, 20.0), (19.5, 29.5))
    watts = [made.steady(host, 10.0) for host in ("storage-1", "storage-2", "metadata-1")]
    (point,) = points(made.record(moved=moved), watts)
    assert any("only 3 % of the time; no aggregate rate is given" in doubt for doubt in point.doubts)
    assert point.metrics["energy_j"] == pytest.approx(30 * 19.5)
    assert point.metrics["duration_s"] == pytest.approx(19.5)
    refused = ("throughput_bytes_per_s", "efficiency_bytes_per_j", "edp_js")
    assert not any(name.endswith(refused) for name in point.metrics)
    (together,) = points(made.record(), watts)
    assert all(any(name.endswith(one) for name in together.metrics) for one in refused)


def test_users_that_hardly_loaded_together_are_a_doubt_of_their_mix():
    def mix(*windows):
        return [ClientResult("client-1", "read", a, b, 100, 1, user=user) for user, a, b in windows]

    assert _apart(mix(("analysis", 0.0, 50.0), ("backup", 43.0, 100.0))) == [
        "several users ran at once for only 7 % of the time; for the rest, one user ran alone"
    ]
    assert _apart(mix(("analysis", 0.0, 60.0), ("backup", 20.0, 100.0))) == []
    assert _apart(mix(("analysis", 0.0, 60.0))) == []  # alone, as it is configured


def test_several_users_have_no_common_throughput_for_each_begins_and_ends_on_purpose(made):
    moved = made.results((10.0, 20.0), (10.0, 20.0))
    logs = [goodput(made, host, (10, 20, 100)) for host in ("client-1", "client-2")]
    assert points(made.record(moved=moved), logs)[0].metrics[COMMON] == pytest.approx(200)
    of_two = [replace(one, user=user) for one, user in zip(moved, ("analysis", "backup"), strict=True)]
    assert COMMON not in points(made.record(moved=of_two), logs)[0].metrics


def test_bytes_that_hosts_served_are_those_of_their_counters_while_clients_loaded(made):
    moved = made.results((10.0, 20.0), direction="read")
    both = [
        made.counter("storage-1", "network_sent", 90, ended_s=45),
        made.counter("storage-2", "network_sent", 10, ended_s=45),
    ]
    record = made.record(moved=moved)
    assert served_bytes(moved, Reading(record, both)) == {
        "storage-1": pytest.approx(900),
        "storage-2": pytest.approx(100),
    }
    assert served_bytes(moved, Reading(record, both[:1])) == {}
    written = made.results((10.0, 20.0), direction="write")
    assert served_bytes(written, Reading(made.record(moved=written), both)) == {}
