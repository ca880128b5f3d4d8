"""How a file system stores user data, and the bytes that move because of it."""

from dataclasses import dataclass, replace
from typing import Literal

WHOLE_FILE = float(2**63)  # bytes of a unit that lies on one group of hosts as a whole: larger than any file
# Among the facts of a file system behind gateways: by client, the shares of its bytes that take a hop from
# its gateway to another host, {"write_ratio": 0.75, "read_ratio": 0.75}.
HOPS = "hop_ratios"


@dataclass(frozen=True)
class Flow:
    """Bytes moved per user byte, in one direction; "storage" is all hosts with data, together."""

    client_sent_ratio: float = 0.0
    client_received_ratio: float = 0.0
    storage_received_ratio: float = 0.0
    storage_sent_ratio: float = 0.0
    disk_written_ratio: float = 0.0
    disk_read_ratio: float = 0.0


@dataclass(frozen=True)
class Amplification:
    """The amplification due to redundancy alone, by who encodes and who forwards: no headers, metadata,
    journals, caches.
    """

    write: Flow
    read: Flow

    def on_mirrors(self, copies_count: int) -> "Amplification":
        """The same if each server mirrors what it writes on this many disks of its own; reads use any one
        of them.
        """
        return replace(
            self, write=replace(self.write, disk_written_ratio=self.write.disk_written_ratio * copies_count)
        )


@dataclass(frozen=True)
class Redundancy:
    """The redundancy of a file system: whole copies on different hosts, or the parts of an erasure code on
    as many.
    """

    copies_count: int = 1  # whole copies; 1 with a code
    data_count: int = 0  # data parts: any this many parts restore the data; 0 without a code
    parity_count: int = 0  # further parts
    # Where all copies or parts are when a client's fsync has returned, with every host up; "" where that is
    # not known.
    acknowledged: Literal["in memory", "on disk", ""] = ""
    beneath_count: int = 1  # disks of one host that hold the same (a mirror beneath)

    @property
    def tolerated_count(self) -> int:
        """The number of storage hosts that may fail before data are lost."""
        return self.parity_count if self.data_count else self.copies_count - 1

    @property
    def usable_ratio(self) -> float:
        """The share of the disks' capacity that user data can fill, by redundancy alone."""
        once = (
            self.data_count / (self.data_count + self.parity_count)
            if self.data_count
            else 1 / self.copies_count
        )
        return once / self.beneath_count

    @property
    def text(self) -> str:
        """A short form for tables: "1 copy", "4+1", "2 copies, mirrored disks"."""
        copies = f"{self.copies_count} cop{'y' if self.copies_count == 1 else 'ies'}"
        code = f"{self.data_count}+{self.parity_count}" if self.data_count else copies
        return code + (", mirrored disks" if self.beneath_count > 1 else "")

    @property
    def sentence(self) -> str:
        """The long form: what is kept, where it is when a write is acknowledged, and how many hosts may
        fail.
        """
        tolerated = self.tolerated_count
        hosts = f"{tolerated or 'no'} storage host{'' if tolerated == 1 else 's'} may fail"
        when = f"acknowledged {self.acknowledged}" if self.acknowledged else ""
        return ", ".join(filter(None, (self.text, when, hosts)))
