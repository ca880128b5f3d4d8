"""What measures, and where its samples go."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, is_dataclass
from math import inf, nan
from typing import ClassVar

from perjoule.drivers.protocols.checks import Check
from perjoule.drivers.protocols.hosts import Hosts
from perjoule.model import Channel, Json, Series


class Sink(ABC):
    """A receiver of samples."""

    @abstractmethod
    def append(
        self,
        channel: Channel,
        t_s: float,
        value: float,
        duration_s: float = 0.0,
        asked_s: float = nan,
        arrived_s: float = nan,
    ) -> None:
        """Take one sample, with the fields of a Series; thread-safe, cheap, never blocks on the disk for
        long.
        """

    def extend(self, series: Series) -> None:
        """Take all samples of a series."""
        for t_s, duration_s, value, asked_s, arrived_s in series.rows().tolist():
            self.append(series.channel, t_s, value, duration_s, asked_s, arrived_s)


@dataclass(frozen=True)
class Outlet:
    """A part of a meter (a plug, a probe, a column, or all of it) and what it feeds, as its options say."""

    option: str  # which says what it feeds
    channel: str  # what the names of its channels begin with
    feeds: str  # the same for people
    part: str = ""  # its name in the option; "" for all of the meter
    quantity: str = ""  # of its only channel; "": it may have both
    clash: str = ""  # what two of a channel are, if not two meters of one name
    advice: str = ""  # what to do about that
    source: tuple[str, ...] = ()  # what is read, from the instrument to its part; () if not known
    devices: frozenset[str] = frozenset()  # that it feeds: "storage-1", "storage-1/disks", "switch"

    def counts_again(self, other: "Outlet") -> bool:
        """Return whether the watts of another one are among these too, and these are not of its devices."""
        inside = bool(self.source) and other.source[: len(self.source)] == self.source
        return inside and any(
            self.devices.isdisjoint({device, device.partition("/")[0]}) for device in other.devices
        )

    def mixes(self, other: "Outlet") -> bool:
        """Return whether both would fill one channel, with readings of two devices."""
        return self.channel == other.channel and (
            "" in (self.quantity, other.quantity) or self.quantity == other.quantity
        )


class Meter(ABC):
    """A meter that runs during a block."""

    sets_up: ClassVar[bool] = False  # whether reading it sets it up anew, which only a run may do
    announced: ClassVar[tuple[str, ...]] = ()  # the DNS-SD types by which such devices announce themselves

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find meters of this kind on this machine and at these addresses ("bmc-1", "10.0.0.7:8000"), within
        seconds.

        Each is the options of a complete [[meter]] table, "kind" included. What does not answer, or is
        refused, is not found.
        """
        return ()

    @classmethod
    def located(cls, place: str) -> Mapping[str, Json]:
        """Return the options that the place in a line like "shelly://10.0.0.7" stands for; by default its
        option `address`, with `port` apart if it has that.

        Raises ValueError: it can't be one.
        """
        options = {field.name for field in fields(cls)} if is_dataclass(cls) else set[str]()
        if not place:
            return {}
        if "address" not in options:
            raise ValueError(
                f'it has no address (write nothing between the colon and the options, not "{place}")'
            )
        host, colon, port = place.rpartition(":")
        if "port" in options and colon and port.isdigit() and not host.endswith(":"):
            return {"address": host, "port": int(port)}
        return {"address": place}

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        """Its options that name hosts or groups of them, as in {"covers": ("storage-1", "switch")}."""
        return {}

    def outlets(self, hosts: Hosts) -> Sequence[Outlet]:
        """Return what it feeds on these hosts; () if only its sensors say so, once they are read.

        Raises CampaignError: there is no host of such a name.
        """
        return ()

    @abstractmethod
    def record(self, hosts: Hosts, sink: Sink) -> AbstractContextManager[Sequence[str]]:
        """Stream samples to the sink during the block; yields the doubts, complete when it has ended: with
        ids, or plain text.
        """

    @abstractmethod
    def checks(self) -> tuple[Check, ...]:
        """Check what this machine needs for it, without asking the meter or another machine."""

    def answers(self) -> tuple[Check, ...]:
        """Ask it once, within seconds and without changing it, for a reading; () if only the hosts of a
        trial can be asked.
        """
        return ()

    @property
    def sampled_hz(self) -> float:
        """How often it samples each of its channels, on average; inf if that is not known."""
        return inf
