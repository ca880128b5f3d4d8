"""CPU seconds, context switches, network bytes, disk bytes and disk seconds of every host:
https://docs.kernel.org/filesystems/proc.html

Counters are cumulative, as in the kernel: activity during a gap is in the next sample. Counters that a host
lacks are not recorded.

If all hosts share a machine, it also records the CPU seconds of that machine, of perjoule itself and, at both
ends, of kernel threads.
"""

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Counters, Hosts, Meter, Outlet, Sink
from perjoule.meters._counting import counting
from perjoule.model import OPTIONS, Channel, Quantity
from perjoule.model.doubts import Doubt
from perjoule.model.units import Hertz

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
    "switches_count": "switches",
}


def channel(host: str, counter: str) -> Channel:
    """Return the channel of one counter of a host, by the counter's name in `protocols.Counters`."""
    unit = "s" if counter.endswith("_s") else "1" if counter.endswith("_count") else "B"
    return Channel("system", host, "all", QUANTITIES[counter], unit, "counter", "counter")


def machine_channel(component: Literal["machine", "perjoule", "kernel"], covers: tuple[str, ...]) -> Channel:
    """Return the channel of CPU time that belongs to no host; `covers` are hosts that are the whole
    machine.
    """
    return Channel("system", "", component, "cpu", "s", "counter", "counter", covers)


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class System(Meter):
    """The standard counters of every host: CPU, context switches, network, disk."""

    rate_hz: Hertz = 5.0
    """How often they are read, on average; reads are jittered so that they can't lock to a timer."""

    def outlets(self, hosts: Hosts) -> Sequence[Outlet]:
        """Return all hosts."""
        return (
            Outlet("kind", "system:", "all hosts", clash="meter system is there twice", advice="remove one"),
        )

    @contextmanager
    def record(self, hosts: Hosts, sink: Sink) -> Generator[list[Doubt]]:
        """Stream the counters of servers and clients, and of the machine that they share."""
        machine = hosts.machine
        covers = machine.covers if machine else ()
        channels = {
            host.name: {counter: channel(host.name, counter) for counter in QUANTITIES} for host in hosts.all
        }

        def take(readings: Mapping[str, Counters]) -> None:
            for host, counters in readings.items():
                for counter, counter_channel in channels[host].items():
                    value: float | None = getattr(counters, counter)
                    if value is not None:
                        sink.append(counter_channel, counters.t_s, float(value))
            if machine:
                sink.append(of_machine, time.monotonic(), machine.cpu_s())
                sink.append(of_perjoule, time.monotonic(), machine.own_cpu_s())

        def look() -> None:  # seldom: it asks every process
            if machine:
                sink.append(machine_channel("kernel", covers), time.monotonic(), machine.kernel_cpu_s())

        of_machine, of_perjoule = machine_channel("machine", covers), machine_channel("perjoule", covers)
        look()
        with counting("system", self.rate_hz, hosts.all, take, switches=True) as doubts:
            yield doubts
        look()

    @property
    def sampled_hz(self) -> float:
        """How often it is read."""
        return self.rate_hz

    def checks(self) -> tuple[Check, ...]:
        """Check nothing: the hosts read their own counters."""
        return ()
