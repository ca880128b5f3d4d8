from dataclasses import replace
from math import inf
from typing import Literal

import numpy as np
import pytest

from perjoule.filesystems import _flows
from perjoule.measures.amplification import bounds, compare, deviation_ratio, unexplained
from perjoule.measures.points import points
from perjoule.model import HOPS, Flow, Pattern, Redundancy

MEASURED = {  # MooseFS, goal 2, two clients writing 48 MiB each: what a real trial gave
    "network_sent_client_ratio": 1.045,
    "network_received_client_ratio": 0.004,
    "network_received_servers_ratio": 2.095,
    "network_sent_servers_ratio": 1.054,
    "disk_written_servers_ratio": 2.003,
    "disk_read_servers_ratio": 0.002,
}


def copied(count, *, by_client):
    return _flows.explained(Redundancy(count), by_client=by_client)


def coded(data_count, parity_count, *, by_client):
    return _flows.explained(Redundancy(data_count=data_count, parity_count=parity_count), by_client=by_client)


def explained(made, amplification, **words):
    return replace(made.record(**words), amplification=amplification)


def test_a_field_of_a_flow_that_was_measured_otherwise_is_named_with_its_bytes(made):
    flow = copied(2, by_client=False).write
    derived = compare(explained(made, copied(2, by_client=False)), "write", MEASURED).metrics
    assert unexplained(flow, {**MEASURED, **derived}) == {}
    # without a derived number beside it
    assert unexplained(flow, MEASURED | {"disk_written_servers_ratio": 1.5}) == {}
    odd = {"disk_written_servers_ratio": 1.5, "network_sent_client_ratio": 1.2}
    assert unexplained(flow, {**MEASURED, **derived, **odd}) == {
        "disk_written_ratio": 1.5,
        "client_sent_ratio": 1.2,
    }


def test_what_redundancy_and_headers_explain_is_not_doubted(made):
    found = compare(explained(made, copied(2, by_client=False)), "write", MEASURED)
    assert found.doubts == ()
    assert found.metrics == {
        "derived_network_sent_client_ratio": 1,
        "derived_network_received_client_ratio": 0,
        "derived_network_received_servers_ratio": 2,
        "derived_network_sent_servers_ratio": 1,
        "derived_disk_written_servers_ratio": 2,
        "derived_disk_read_servers_ratio": 0,
    }


@pytest.mark.parametrize(
    ("metric", "value", "doubt"),
    [
        (
            "network_sent_client_ratio",
            1.12,
            "write: clients sent more than the 1 byte per user byte that redundancy explains, "
            "likely many small requests, metadata, background copies or retransmissions",
        ),
        (
            "disk_written_servers_ratio",
            0.0,
            "write: the servers' disks wrote less than the 2 bytes per user byte that redundancy explains, "
            "likely some data is not yet written back",
        ),
        (
            "disk_written_servers_ratio",
            2.4,
            "write: the servers' disks wrote more than the 2 bytes per user byte that redundancy explains, "
            "likely a journal, metadata, or whole blocks for parts",
        ),
        (
            "disk_read_servers_ratio",
            0.5,
            "write: the servers' disks read more than the 0 bytes per user byte that redundancy explains, "
            "likely blocks read to write parts of them",
        ),
    ],
)
def test_what_they_do_not_explain_is_named_with_its_likely_cause(made, metric, value, doubt):
    assert compare(
        explained(made, copied(2, by_client=False)), "write", MEASURED | {metric: value}
    ).doubts == (doubt,)


def test_reads_that_a_cache_served_are_named_by_whose_it_was(made):
    moved = made.results((10.0, 20.0), (10.0, 20.0), direction="read")
    asked = explained(made, copied(2, by_client=False), moved=moved)
    found = compare(asked, "read", {"network_received_client_ratio": 0.6, "disk_read_servers_ratio": 0.2})
    assert ["the clients' page cache" in doubt for doubt in found.doubts] == [True, False]
    assert ["the servers' page cache" in doubt for doubt in found.doubts] == [False, True]


def test_disks_have_three_percent_and_journals_and_networks_their_headers_too():
    flow = Flow(client_sent_ratio=1.0, storage_received_ratio=1.0, disk_written_ratio=2.0)
    assert bounds(flow, "disk_written_ratio") == pytest.approx((1.94, 2 + 3 * 0.02 * 2))
    assert bounds(flow, "disk_read_ratio") == pytest.approx((-0.03, 0.03))
    assert bounds(flow, "storage_received_ratio") == pytest.approx((0.97, 1 + 66 / 1448 + 0.03))
    assert bounds(flow, "storage_sent_ratio") == pytest.approx((-0.03, 66 / 2896 + 0.03))  # acknowledgements


GATED = {"client-1": 0.25, "client-2": 0.75, "client-3": 1.0}  # shares of their bytes that take a hop


def behind_gateways(
    made,
    *,
    objects_count=90.0,
    access: Literal["sequential", "random"] = "sequential",
    hops=GATED,
    direction="write",
):
    """Three clients that moved 600, 200 and 100 bytes, behind gateways of which two are beside data."""
    moved = made.results(*[(10.0, 20.0)] * 3, direction=direction)
    moved = tuple(replace(r, moved_bytes=size) for r, size in zip(moved, (600, 200, 100), strict=True))
    whole = explained(made, copied(2, by_client=False), moved=moved)
    facts = {"filesystem": {HOPS: {name: {f"{direction}_ratio": p} for name, p in hops.items()}}}
    outcome = replace(whole.outcome, measured={"objects_count": objects_count} if objects_count else {})
    return replace(
        whole, facts=facts, outcome=outcome, traits=replace(whole.traits, pattern=Pattern(access=access))
    )


@pytest.mark.parametrize("direction", ["write", "read"])
def test_chance_scatters_what_takes_a_hop_as_much_as_a_simulation(made, direction):
    """Of 90 equal objects, each on its gateway's own host or not: the share that hops, in 4000 loads."""
    rng = np.random.default_rng(47)
    loads = [rng.random((4000, count)) < p for count, p in zip((60, 20, 10), GATED.values(), strict=True)]
    shares = np.hstack(loads).mean(axis=1)
    record = behind_gateways(made, direction=direction)
    assert deviation_ratio(record) == pytest.approx(shares.std(), rel=0.05)


def test_without_gateways_beside_data_nothing_is_chance_and_of_uncounted_objects_anything_may_be(made):
    assert deviation_ratio(made.record()) == deviation_ratio(made.record(status="failed")) == 0
    assert deviation_ratio(behind_gateways(made, hops={"client-1": 1.0, "client-2": 0.0})) == 0
    assert deviation_ratio(behind_gateways(made, hops=dict.fromkeys(GATED, 1.0), objects_count=0)) == 0
    assert deviation_ratio(behind_gateways(made, objects_count=0)) == inf
    assert deviation_ratio(behind_gateways(made, access="random")) == inf


@pytest.mark.parametrize(
    ("words", "doubted"),
    [
        ({}, []),  # 3 deviations are 0.13
        ({"objects_count": 9000.0}, ["servers received more", "servers sent more"]),
        ({"objects_count": 0}, []),
    ],
)
def test_chance_widens_what_servers_may_move_and_nothing_else(made, words, doubted):
    measured = {
        **{"network_received_servers_ratio": 2.25, "network_sent_servers_ratio": 1.2},
        **{"network_sent_client_ratio": 1.2, "disk_written_servers_ratio": 2.25},
    }
    record = behind_gateways(made, **words)
    found = compare(record, "write", measured)
    assert ("derived_network_sent_servers_ratio" in found.metrics) == (deviation_ratio(record) < inf)
    always = ["clients sent more", "the servers' disks wrote more"]
    subjects = sorted(doubt.partition(" than")[0].removeprefix("write: ") for doubt in found.doubts)
    assert subjects == sorted([*always, *doubted])
    odd = unexplained(record.amplification.write, {**measured, **found.metrics}, deviation_ratio(record))
    assert len(odd) == 2 + len(doubted)
    beside = bounds(record.amplification.write, "storage_sent_ratio", 0.1)
    assert beside == pytest.approx((0.97 - 0.3, 1.03 + 0.3 + 66 / 1448 + 2 * 66 / 2896))


def test_without_a_derivation_and_in_mixed_trials_nothing_is_compared(made):
    assert compare(made.record(), "write", MEASURED).metrics == {}
    mixed = made.results((10.0, 20.0)) + made.results((10.0, 20.0), direction="read")
    found = compare(explained(made, copied(1, by_client=True), moved=mixed), "write", MEASURED)
    assert (dict(found.metrics), found.doubts) == ({}, ())


def test_a_trials_numbers_have_the_derived_ones_beside_them(made):
    series = [made.counter(h, "disk_written", 100.0) for h in ("storage-1", "storage-2", "metadata-1")]
    (point,) = points(explained(made, copied(1, by_client=False)), series)
    assert point.metrics["disk_written_servers_ratio"] == pytest.approx(3 * 100 * 10.4 / 2000)
    assert point.metrics["derived_disk_written_servers_ratio"] == 1
    assert any("the servers' disks wrote more than the 1 byte" in doubt for doubt in point.doubts)


@pytest.mark.parametrize(
    ("amplification", "sent", "received", "passed_on", "written"),
    [
        (copied(1, by_client=False), 1, 1, 0, 1),
        (copied(3, by_client=False), 1, 3, 2, 3),
        (copied(3, by_client=True), 3, 3, 0, 3),
        (coded(4, 1, by_client=True), 1.25, 1.25, 0, 1.25),
        (coded(4, 2, by_client=False), 1, 1 + 5 / 4, 5 / 4, 1.5),
    ],
)
def test_who_codes_and_who_forwards_says_which_bytes_move(amplification, sent, received, passed_on, written):
    flow = amplification.write
    assert (flow.client_sent_ratio, flow.storage_received_ratio) == (sent, received)
    assert (flow.storage_sent_ratio, flow.disk_written_ratio) == (passed_on, written)
    # what is sent arrives
    assert flow.storage_received_ratio == flow.client_sent_ratio + flow.storage_sent_ratio
    read = amplification.read
    assert read.storage_sent_ratio == read.client_received_ratio + read.storage_received_ratio


def test_the_tail_has_its_length_and_bytes(made):
    late = [
        made.series(
            made.channel(h, "all", "disk_written", "counter", "counter"), [9, 20, 24, 30], [0, 0, 600, 600]
        )
        for h in ("storage-1", "storage-2", "metadata-1")
    ]
    (point,) = points(made.record(tail_s=5.0), late)
    assert point.metrics["tail_disk_written_bytes"] == pytest.approx(1800)
    assert point.metrics["tail_s"] == pytest.approx(5)


def test_the_tail_has_its_energy(made):
    watts = [made.steady(host, 10.0) for host in ("storage-1", "storage-2", "metadata-1")]
    (point,) = points(made.record(tail_s=5.0, scale=1.0), watts)
    assert point.metrics["tail_energy_j"] == pytest.approx(3 * 10 * 5)
