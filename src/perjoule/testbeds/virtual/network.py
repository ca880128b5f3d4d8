"""The network of a virtual cluster as text for `ip -batch` and `tc -batch`: a cable per host, a rate in both directions."""

from dataclasses import dataclass

# A full TCP segment with timestamps on a 1500-byte link: 1448 bytes of payload in 1514 bytes, which is what tbf counts.
_FRAME_RATIO = 1514 / 1448
_LATENCY_S = 0.05  # how long a packet may queue before it is dropped, as in a switch
_BURST_LIMITS_BYTES = (32 * 1024, 256 * 1024)


def tbf_rate_bits_per_s(goodput_bytes_per_s: float) -> int:
    """Return the rate of a token bucket that passes this much TCP payload: 111.34 MiB/s gives 977 Mbit/s."""
    return round(goodput_bytes_per_s * 8 * _FRAME_RATIO)


def burst_bytes(rate_bits_per_s: float) -> int:
    """Return the bucket size: 2 ms of the rate, at least half a segmentation-offload packet and at most four of them."""
    low, high = _BURST_LIMITS_BYTES
    return round(min(max(rate_bits_per_s / 8 * 0.002, low), high))


def tbf_words(goodput_bytes_per_s: float) -> list[str]:
    """Return the arguments after `tc qdisc add dev X root`."""
    rate = tbf_rate_bits_per_s(goodput_bytes_per_s)
    return ["tbf", "rate", f"{rate}bit", "burst", f"{burst_bytes(rate)}", "latency", f"{_LATENCY_S * 1000:g}ms"]


@dataclass(frozen=True)
class Cable:
    """A host's connection to the switch; the plug on the switch's side bears the host's name."""

    host: str
    pid: int  # of the host's holder
    goodput_bytes_per_s: float | None  # None: not shaped


def address(index: int) -> str:
    """Return the address of the n-th host, from 1. The network exists only inside namespaces, so clusters can share addresses."""
    return f"10.99.{index // 250}.{index % 250 + 1}"


PREFIX = 16


def plug_batch(cables: list[Cable]) -> str:
    """Return the `ip -batch` input that plugs every cable in, in the switch's namespace."""
    lines: list[str] = []
    for cable in cables:
        lines += [
            f"link add name {cable.host} type veth peer name eth0 netns {cable.pid}",
            f"link set dev {cable.host} master br0 up",
        ]
    return "\n".join(lines) + "\n"


def shape_batch(cables: list[Cable]) -> str:
    """Return the `tc -batch` input that limits what each host receives, in the switch's namespace."""
    return "".join(
        f"qdisc add dev {c.host} root {' '.join(tbf_words(c.goodput_bytes_per_s))}\n" for c in cables if c.goodput_bytes_per_s
    )


def eth0_bytes(net_dev: str) -> tuple[int, int]:
    """Read received and sent bytes of eth0 from the text of /proc/PID/net/dev.

    Raises:
        ValueError: there is no eth0.
    """
    _, found, numbers = net_dev.partition(" eth0:")
    if not found:
        raise ValueError("no eth0")
    words = numbers.split(maxsplit=9)
    return int(words[0]), int(words[8])
