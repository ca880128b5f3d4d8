"""What a virtual cluster's network is shaped to, by hand: a full TCP segment has 1448 bytes of payload in 1514."""

from ipaddress import ip_address, ip_network

import pytest

from perjoule.testbeds.virtual.network import (
    PREFIX,
    Cable,
    Link,
    address,
    burst_bytes,
    ethernet_bytes,
    plug_batch,
    segments,
    sent_batch,
    shape_batch,
    tbf_rate_bits_per_s,
    tbf_text,
)

GIGABIT = 116748451.84  # B/s of payload, 111.34 MiB/s


def test_a_bucket_counts_whole_frames():
    """1448 payload bytes a second are 1514 bytes."""
    assert tbf_rate_bits_per_s(1448.0) == 1514 * 8
    assert tbf_rate_bits_per_s(GIGABIT) == pytest.approx(977e6, rel=1e-3)
    assert tbf_text(GIGABIT).split() == [
        *f"tbf rate {round(GIGABIT * 8 * 1514 / 1448)}bit".split(),
        *f"burst {round(GIGABIT * 1514 / 1448 * 0.002)} latency 50ms".split(),
    ]


@pytest.mark.parametrize(
    ("rate_bits_per_s", "size_bytes"),
    [(1e6, 32768), (131.0e6, 32768), (132e6, 33000), (800e6, 200_000), (1048e6, 262_000), (1.1e9, 262_144)],
)
def test_a_bucket_holds_2_ms_from_half_a_packet_of_64_kib_to_four(rate_bits_per_s, size_bytes):
    assert burst_bytes(rate_bits_per_s) == size_bytes


def test_what_is_under_way_does_not_count_in_the_queue():
    """1,448,000 B/s for 20 ms: 20 packets; a packet and a bit more are two."""
    link = Link(0.02, 0.015)
    first, second = sent_batch(1_448_000.0, link).splitlines()
    assert first == "qdisc add dev eth0 root handle 1: netem limit 1020 delay 20000us loss 1.500000%"
    assert second == f"qdisc add dev eth0 parent 1:1 handle 10: {tbf_text(1_448_000.0)}"
    assert "limit 1002 delay 1010us loss 0.000000%" in sent_batch(
        1_448_000.0, Link(0.00101), "replace", "eth1"
    )
    assert sent_batch(1_448_000.0, Link(0.00101), "replace", "eth1").startswith(
        "qdisc replace dev eth1 root "
    )
    assert sent_batch(GIGABIT, Link()) == f"qdisc add dev eth0 root {tbf_text(GIGABIT)}"


def test_a_network_has_room_for_all_its_addresses_and_for_none_of_another():
    first, second = (ip_network(f"{address(1, number)}/{PREFIX}", strict=False) for number in (0, 1))
    assert not first.overlaps(second)
    assert {ip_address(address(index)) in first for index in (1, 128, 63_999)} == {True}


def test_a_link_adds_something_if_it_delays_or_loses():
    assert [Link(*one).bare for one in ((), (0.0, 0.0), (0.1,), (0.0, 0.1), (0.1, 0.1))] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_packets_that_may_be_lost_are_sent_one_by_one():
    assert segments(Link(0.1)) == "gso_max_segs 65535"
    assert segments(Link(0.0, 0.01)) == "gso_max_segs 1"
    cables = [Cable("a", 7, None), Cable("a", 7, GIGABIT, 1)]
    plain = plug_batch(cables).splitlines()
    assert plain == [
        "link add name br1 type bridge stp_state 0 forward_delay 0 mcast_snooping 0",
        "link set dev br1 up",
        "link add name a type veth peer name eth0 netns 7",
        "link set dev a master br0 up",
        "link add name a.1 type veth peer name eth1 netns 7",
        "link set dev a.1 master br1 up",
    ]
    lossy = plug_batch(cables, Link(0.0, 0.01)).splitlines()
    assert lossy[2] == "link add name a type veth peer name eth0 gso_max_segs 1 netns 7"
    assert shape_batch(cables) == f"qdisc add dev a.1 root {tbf_text(GIGABIT)}\n"


def test_addresses_of_two_networks_have_250_hosts_a_row():
    assert [address(n) for n in (1, 249, 250, 501)] == ["10.99.0.2", "10.99.0.250", "10.99.1.1", "10.99.2.2"]
    assert address(3, 1) == "10.98.0.4"
    assert (Cable("a", 7, None).number, Cable("a", 7, None).plug, Cable("a", 7, None, 2).plug) == (
        0,
        "a",
        "a.2",
    )


def test_bytes_are_those_of_all_networks_of_a_host():
    """Received bytes are the first of sixteen numbers, sent ones the ninth."""
    lines = [
        f" {name}: {' '.join(str(start + n) for n in range(16))}"
        for name, start in (("lo", 1), ("eth0", 100), ("eth1", 1000))
    ]
    assert ethernet_bytes("\n".join(lines)) == (100 + 1000, 108 + 1008)
    with pytest.raises(ValueError, match="no eth0"):
        ethernet_bytes(lines[0])
