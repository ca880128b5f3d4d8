"""CPU seconds, network bytes, disk bytes and disk seconds of every host: https://docs.kernel.org/filesystems/proc.html

Cumulative, as the kernel keeps them: what happened in a gap is in the next sample. What a host can't tell is not recorded.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from pydantic.dataclasses import dataclass

from perjoule.meters._counting import counting
from perjoule.model import OPTIONS, Channel, Quantity
from perjoule.protocols import Check, Counters, Hosts, Meter, Sink
from perjoule.units import Hertz

EXAMPLE = """
[[meter]]
kind = "system"
rate = "5 Hz"
"""

QUANTITIES: dict[str, Quantity] = {
    "cpu_s": "cpu",
    "network_received_bytes": "network_received",
    "network_sent_bytes": "network_sent",
    "disk_read_bytes": "disk_read",
    "disk_written_bytes": "disk_written",
    "disk_busy_s": "disk_busy",
}


def channel(host: str, counter: str) -> Channel:
    """The channel of one counter of a host, by the counter's name in `protocols.Counters`."""
    return Channel("system", host, "all", QUANTITIES[counter], "s" if counter.endswith("_s") else "B", "counter", "counter")


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class System(Meter):
    """The counters that every host keeps anyway: CPU, network, disk."""

    rate_hz: Hertz = 5.0
    """How often they are read, on average; the moments are jittered so that they can't lock to a timer."""

    @contextmanager
    def record(self, hosts: Hosts, sink: Sink) -> Generator[list[str]]:
        """Stream the counters of servers and clients."""
        channels = {host.name: {counter: channel(host.name, counter) for counter in QUANTITIES} for host in hosts.all}

        def take(readings: Mapping[str, Counters]) -> None:
            for host, counters in readings.items():
                for counter, where in channels[host].items():
                    value: float | None = getattr(counters, counter)
                    if value is not None:
                        sink.append(where, counters.t_s, float(value))

        with counting("system", self.rate_hz, hosts.all, take) as doubts:
            yield doubts

    def checks(self) -> tuple[Check, ...]:
        """Nothing is needed: the hosts read their own counters."""
        return ()
