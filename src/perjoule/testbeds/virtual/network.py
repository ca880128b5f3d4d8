"""The network of a virtual cluster as text for `ip -batch` and `tc -batch`: a cable per host, a rate in
both directions.
"""

import math
import re
from dataclasses import dataclass
from typing import Literal

# A full TCP segment with timestamps on a 1500-byte link: 1448 bytes of payload in 1514 bytes, which is what
# tbf counts.
_PAYLOAD_BYTES = 1448
_FRAME_RATIO = 1514 / _PAYLOAD_BYTES
_QUEUE_COUNT = 1000  # netem's own limit of packets, besides those that are under way
_LATENCY_S = 0.05  # how long a packet may queue before it is dropped, as in a switch
_BURST_LIMITS_BYTES = (32 * 1024, 256 * 1024)


def tbf_rate_bits_per_s(goodput_bytes_per_s: float) -> int:
    """Return the rate of a token bucket that passes this much TCP payload: 111.34 MiB/s gives 977 Mbit/s."""
    return round(goodput_bytes_per_s * 8 * _FRAME_RATIO)


def burst_bytes(rate_bits_per_s: float) -> int:
    """Return the bucket size: 2 ms of the rate, at least half a segmentation-offload packet and at most
    four of them.
    """
    low, high = _BURST_LIMITS_BYTES
    return round(min(max(rate_bits_per_s / 8 * 0.002, low), high))


def tbf_text(goodput_bytes_per_s: float) -> str:
    """Return a token bucket as arguments of `tc qdisc add`."""
    rate = tbf_rate_bits_per_s(goodput_bytes_per_s)
    return f"tbf rate {rate}bit burst {burst_bytes(rate)} latency {_LATENCY_S * 1000:g}ms"


@dataclass(frozen=True)
class Link:
    """What the way from one host to another adds, by netem:
    https://man7.org/linux/man-pages/man8/tc-netem.8.html

    Both are of one direction, and are added where a host sends.
    """

    delay_s: float = 0.0
    loss_ratio: float = 0.0

    @property
    def bare(self) -> bool:
        """Whether it adds nothing."""
        return not (self.delay_s or self.loss_ratio)


def sent_batch(
    goodput_bytes_per_s: float, link: Link, do: Literal["add", "replace"] = "add", device: str = "eth0"
) -> str:
    """Return the `tc -batch` input that shapes what a host sends: the way, and in it the rate.

    With "replace", another shape gives way to it, and stays if it is refused.
    """
    if link.bare:
        return f"qdisc {do} dev {device} root {tbf_text(goodput_bytes_per_s)}"
    under_way_count = math.ceil(goodput_bytes_per_s * link.delay_s / _PAYLOAD_BYTES)  # packets
    shape = (
        f"limit {_QUEUE_COUNT + under_way_count} delay {link.delay_s * 1e6:.0f}us loss {link.loss_ratio:.6%}"
    )
    return (
        f"qdisc {do} dev {device} root handle 1: netem {shape}\n"
        f"qdisc {do} dev {device} parent 1:1 handle 10: {tbf_text(goodput_bytes_per_s)}"
    )


DIRECT = Link()
_SEGMENTS_COUNT = 65535  # of one packet with segmentation offload: Linux's own limit


@dataclass(frozen=True)
class Cable:
    """A host's connection to a switch; the plug on the switch's side bears the host's name."""

    host: str
    pid: int  # of the host's holder
    goodput_bytes_per_s: float | None  # None: not shaped
    number: int = 0  # of the network, and of the host's device in it

    @property
    def plug(self) -> str:
        """Its name in the switch's namespace."""
        return f"{self.host}.{self.number}" if self.number else self.host


def address(index: int, number: int = 0) -> str:
    """Return the address of the n-th host, from 1, in the network of a number.

    The networks exist only inside namespaces, so clusters can share addresses.
    """
    return f"10.{99 - number}.{index // 250}.{index % 250 + 1}"


_ETHERNET = re.compile(r"\seth\d:\s*(\d+)(?:\s+\d+){7}\s+(\d+)")
PREFIX = 16
BRIDGE = "stp_state 0 forward_delay 0 mcast_snooping 0"  # it forwards at once


def segments(link: Link) -> str:
    """Return how many segments a host may send as one packet: one if packets are lost, or all of them
    would be lost at once.
    """
    return f"gso_max_segs {1 if link.loss_ratio else _SEGMENTS_COUNT}"


def plug_batch(cables: list[Cable], link: Link = DIRECT) -> str:
    """Return the `ip -batch` input that plugs every cable in, in the switch's namespace, where the bridge of
    the first network is.

    Where packets are lost, hosts send them one by one: otherwise segmentation offload would lose up to 64 KiB
    at once.
    """
    lines: list[str] = []
    for number in sorted({cable.number for cable in cables} - {0}):
        lines += [f"link add name br{number} type bridge {BRIDGE}", f"link set dev br{number} up"]
    alone = f" {segments(link)}" if link.loss_ratio else ""
    for cable in cables:
        lines += [
            f"link add name {cable.plug} type veth peer name eth{cable.number}{alone} netns {cable.pid}",
            f"link set dev {cable.plug} master br{cable.number} up",
        ]
    return "\n".join(lines) + "\n"


def shape_batch(cables: list[Cable]) -> str:
    """Return the `tc -batch` input that limits what each host receives, in the switch's namespace."""
    return "".join(
        f"qdisc add dev {c.plug} root {tbf_text(c.goodput_bytes_per_s)}\n"
        for c in cables
        if c.goodput_bytes_per_s
    )


def ethernet_bytes(net_dev: str) -> tuple[int, int]:
    """Read received and sent bytes of all of a host's networks from the text of /proc/PID/net/dev.

    Raises:
        ValueError: it has no network.
    """
    bytes_of = [tuple(map(int, numbers)) for numbers in _ETHERNET.findall(net_dev)]
    if not bytes_of:
        raise ValueError("no eth0")
    return sum(received for received, _ in bytes_of), sum(sent for _, sent in bytes_of)
