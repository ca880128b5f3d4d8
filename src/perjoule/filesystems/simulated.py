"""A file system that moves nothing, at a known speed: folders on the clients' own disks, for the simulated
workload.
"""

import time
from collections.abc import Generator, Mapping, Set
from contextlib import contextmanager
from math import log2
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import (
    REBUILD,
    Check,
    FileSystem,
    Growable,
    Host,
    Hosts,
    Killable,
    LosesDisks,
    Mounted,
    Scrubs,
    TakesSnapshots,
    TellsHealth,
    TellsHeld,
    Tunable,
    Unmounts,
    WorksInBackground,
)
from perjoule.filesystems._on_clients import OnClients
from perjoule.model import OPTIONS, Aged, Json, Redundancy
from perjoule.model.errors import CampaignError, DaemonEnded
from perjoule.model.units import MIB, Bytes, BytesPerSecond, Ratio, SecondsOrZero

CLAIMED_BYTES = 1024 * MIB  # of space on each host with data
CLAIMED_S = 0.5  # in which it claims to age, so that meters see something

EXAMPLE = """
[[filesystem]]
kind = "simulated"
label = "fast"
throughput = "100 MiB/s"
noise = "2 %"
"""


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class SimulatedFileSystem(FileSystem):
    """A file system of known speed, the same in both directions and for any number of clients."""

    reality: ClassVar = "simulated"
    needs_root: ClassVar = False
    heals: ClassVar[bool] = True

    throughput_bytes_per_s: BytesPerSecond = 100 * MIB
    """Throughput of each client."""

    serial_ratio: Ratio | None = None
    """If set, the throughput is that of one storage host, and more hosts speed it up by Amdahl's law with
    this serial share;
    otherwise their number makes no difference."""

    copies_count: Annotated[int, Field(ge=0)] = 1
    """Number of copies of each byte that it claims to keep; 0: it claims nothing."""

    code: Annotated[str, Field(pattern=r"^([1-9][0-9]?\+[1-9][0-9]?)?$")] = ""
    """Erasure code that it claims to keep instead of copies: "4+1"."""

    least_servers_count: Annotated[int, Field(ge=0)] = 0
    """How many storage hosts its layout needs; on fewer it is impossible."""

    noise_ratio: Ratio = 0.0
    """Standard deviation of the throughput, as a share of it."""

    seed: str = ""
    """Seed of the noise; the same seed gives the same noise in each deployment."""

    threads_count: Annotated[int, Field(ge=1, le=64), Tunable((1, 2, 4, 8, 16), scale=True)] = 4
    """Threads that it claims to have; 8 are best."""

    read_ahead_bytes: Annotated[Bytes, Tunable(("128 KiB", "512 KiB", "2 MiB"), scale=True)] = 128 * 1024
    """Read-ahead that it claims to have, which makes no difference."""

    journal: Annotated[
        Literal["safe", "fast"], Tunable(("safe", "fast"), less_durable={"fast": "the last writes"})
    ] = "safe"
    """Whether it claims to write its journal at once; "fast" gains `gain` and gives up durability."""

    gain_ratio: Annotated[Ratio, Field(le=0.3)] = 0.0
    """Throughput gained with 8 threads instead of 4, and lost with each further halving or doubling."""

    aged: Aged | None = None
    """What it claims to have been through, as in {full = "90 %"}."""

    full_loss_ratio: Ratio = 0.0
    """Throughput that it loses by being 100 % full, and in proportion below."""

    rebuild_s: SecondsOrZero = 0.0
    """For how long it claims to rebuild after a server is back or has joined, and uses CPU time of a
    simulated host, or to scrub
    when an event begins that."""

    scrub_s: SecondsOrZero = 0.0
    """For how long it claims to scrub after it was deployed."""

    held_bytes: Bytes = 64 * MIB
    """What each server claims to hold of users' data."""

    failure: Literal["none", "layout", "daemon", "death"] = "none"
    """What fails on purpose: nothing, an impossible layout, a daemon at the start, a daemon during the
    first trial.
    """

    def require_fit(self, hosts: Hosts) -> None:
        """Possible unless configured otherwise."""
        if self.failure == "layout":
            raise CampaignError(
                "the layout is impossible on these hosts, as configured",
                where="simulated",
                next='set failure = "none"',
            )
        if self.least_servers_count > (there_count := len(hosts.by_role("storage"))):
            problem = (
                f"this layout needs {self.least_servers_count} storage hosts, but there are {there_count}"
            )
            raise CampaignError(
                problem, where="simulated", next=f"set least_servers to at most {there_count}"
            )

    def redundancy(self, hosts: Hosts) -> Redundancy | None:
        """The configured redundancy."""
        if self.code:
            data_count, parity_count = map(int, self.code.split("+"))
            return Redundancy(1, data_count, parity_count)
        return Redundancy(self.copies_count) if self.copies_count else None

    @contextmanager
    def mount(self, hosts: Hosts) -> Generator[Mounted]:
        """Make a folder per client.

        Raises:
            CampaignError: the layout is configured to be impossible.
            TransientError: a daemon is configured to fail.
        """
        self.require_fit(hosts)
        if self.failure == "daemon":
            problem = 'a simulated daemon did not start, as configured; it last said: "goodbye"'
            failure = DaemonEnded(problem, where=hosts.metadata.name)
            failure.logs = {f"{hosts.metadata.name}-simulated.log": "goodbye\n"}
            raise failure
        directories = {client.name: client.directory / "mounted" for client in hosts.clients}
        for directory in directories.values():
            directory.mkdir(parents=True)
        facts: dict[str, Json] = {
            "version": "simulated",
            "throughput_bytes_per_s": self.throughput_bytes_per_s
            * self._speedup(len(hosts.by_role("storage")))
            * self._tuned(),
            "noise_ratio": self.noise_ratio,
            "seed": self.seed,
        }
        lost = (
            'a simulated daemon died, as configured; it last said: "goodbye"'
            if self.failure == "death"
            else ""
        )
        mounted = _OnServers(hosts, directories, facts, lambda client: lost)
        mounted.scrubbed_s = time.monotonic() + self.scrub_s
        mounted.rebuild_s, mounted.each_bytes = self.rebuild_s, self.held_bytes
        mounted.data_hosts = tuple(host.name for host in hosts.by_role("storage") or hosts.clients)
        yield mounted

    def _speedup(self, servers_count: int) -> float:
        if self.serial_ratio is None or not servers_count:
            return 1.0
        return servers_count / (1 + self.serial_ratio * (servers_count - 1))

    def _tuned(self) -> float:
        steps = 1 - abs(log2(self.threads_count / 8)) + (self.journal == "fast")
        lost_ratio = self.full_loss_ratio * (self.aged.full_ratio if self.aged else 0.0)
        return (1 + self.gain_ratio * steps) * (1 - lost_ratio)

    def made_bytes(self, hosts: Hosts) -> int:
        """Return that nothing is made: it only claims to be full."""
        return 0

    def checks(self) -> tuple[Check, ...]:
        """Check nothing: there are no requirements."""
        return (Check("simulated file system", True, "needs nothing"),)


class _OnServers(
    OnClients,
    Growable,
    Killable,
    LosesDisks,
    Scrubs,
    TakesSnapshots,
    TellsHealth,
    TellsHeld,
    Unmounts,
    WorksInBackground,
):
    rebuild_s = 0.0
    each_bytes = 0
    scrubbed_s = 0.0  # when
    _rebuilt_s = 0.0  # when
    _checked_s = 0.0  # when
    _gone: Set[str] = frozenset()

    def kill(self, host: Host) -> None:
        self._gone = {*self._gone, host.name}

    def revive(self, host: Host) -> None:
        if host.name in self._gone:
            self._gone = self._gone - {host.name}
            self._rebuild(host)

    def scrub(self) -> None:
        self._checked_s = time.monotonic() + self.rebuild_s

    def unscrubbed(self) -> str:
        return "scrubbing, as commanded" if time.monotonic() < self._checked_s else ""

    def snapshot(self, name: str) -> None:
        pass  # there are no data

    def held_bytes(self, host: Host) -> int:
        return self.each_bytes

    def erase(self, host: Host) -> None:
        pass  # there are no data

    replace = revive

    def add(self, host: Host) -> None:
        self.data_hosts = (*self.data_hosts, host.name)
        self._rebuild(host)

    def _rebuild(self, host: Host) -> None:
        self._rebuilt_s = time.monotonic() + self.rebuild_s
        host.put(f"{self.rebuild_s:g}", host.directory / REBUILD)

    def absent(self) -> str:
        return f"no server on {', '.join(sorted(self._gone))}" if self._gone else ""

    def age(self, target: Aged) -> Mapping[str, Json]:
        time.sleep(CLAIMED_S)
        usable_bytes = CLAIMED_BYTES * len(self.data_hosts)
        used_bytes = round(target.full_ratio * usable_bytes)
        again_bytes = target.overwrites_count * used_bytes // 3
        return {
            "full_before_ratio": 0.0,
            "full_ratio": used_bytes / usable_bytes,
            "usable_bytes": usable_bytes,
            "overwrites_count": target.overwrites_count,
            "seed": target.seed,
            "files_count": used_bytes // MIB,
            "written_bytes": used_bytes + again_bytes,
            "deleted_count": again_bytes // MIB,
            "deleted_bytes": again_bytes,
            "overwritten_bytes": again_bytes // 4,
        }

    def degraded(self) -> str:
        return self.busy()

    def busy(self) -> str:
        if time.monotonic() < self._rebuilt_s:
            return "rebuilding, as configured"
        return "scrubbing, as configured" if time.monotonic() < self.scrubbed_s else ""

    @contextmanager
    def unmounted(self) -> Generator[None]:
        yield

    def locate(self, path: Path) -> tuple[str, ...]:
        return self.data_hosts
