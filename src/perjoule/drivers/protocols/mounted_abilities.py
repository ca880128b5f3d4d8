"""What a mounted file system may be able to do besides what `Mounted` requires, each asked as `abilities`
says.
"""

from abc import abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import ClassVar

from perjoule.drivers.protocols.abilities import Ability
from perjoule.drivers.protocols.filesystem import Bucket, UnmappedImage
from perjoule.drivers.protocols.host import Host
from perjoule.model import Aged, Amplification, ClusterState, Json


class CachesOnServers(Ability):
    """A file system whose servers' kernels cache what they store, where those are not the clients' own."""

    lack = "this file system has no servers of ours whose kernels cache"

    @property
    @abstractmethod
    def caching(self) -> tuple[Host, ...]:
        """Its servers; () if their kernels are the clients', or they are not ours."""


class Unmounts(Ability):
    """A file system that perjoule may unmount for a while."""

    lack = "this file system is not perjoule's to unmount"
    advice = "remove mounted = false from the workload"

    @abstractmethod
    def unmounted(self) -> AbstractContextManager[None]:
        """Unmount it on all clients while the block runs. Raises WorkloadError if a file is still open."""


class WorksInBackground(Ability):
    """A file system whose own status says what it does in the background."""

    lack = "this file system says nothing of its background work"

    @abstractmethod
    def busy(self) -> str:
        """Return the file system's background work, by its own status: "scrub of 2 placement groups"; "" if
        it is idle.

        Cheap enough to call after each trial. Raises WorkloadError if it can't be determined.
        """


class Ages(Ability):
    """A file system that can be filled, overwritten and emptied before it is measured."""

    lack = "this file system can't be aged"
    advice = "remove aged from the file system"

    @abstractmethod
    def age(self, target: Aged) -> Mapping[str, Json]:
        """Fill it, overwrite and delete, and return what was done, for the record.

        Raises WorkloadError: not so far.
        """


class TellsHealth(Ability):
    """A file system that says when it has healed: events can happen to its servers."""

    lack = "this file system does not say whether it is healthy"

    @abstractmethod
    def absent(self) -> str:
        """Return the servers that the file system has lost, by its own status; "" if it has them all.

        Raises WorkloadError.
        """

    @abstractmethod
    def degraded(self) -> str:
        """Return what is missing until redundancy is complete, on the servers that it has; "" if it is.

        Raises WorkloadError.
        """


class Killable(Ability):
    """A file system whose daemons perjoule has started."""

    lack = "this file system has no daemons that perjoule started"
    hit: bool = False  # events have happened to its servers: what it lacks since then is not a failure

    @abstractmethod
    def kill(self, host: Host) -> None:
        """End its daemons on a server by SIGKILL; they count as ended on purpose.

        Raises WorkloadError: there are none.
        """

    @abstractmethod
    def revive(self, host: Host) -> None:
        """Start what `kill` ended on a server, on its data. Raises WorkloadError."""


class LosesDisks(Ability):
    """A file system whose data on a server perjoule may erase, and that serves there again without them."""

    lack = "this file system has no data that perjoule may erase"

    @abstractmethod
    def erase(self, host: Host) -> None:
        """Erase the data of a server whose daemons were killed. Raises WorkloadError."""

    @abstractmethod
    def replace(self, host: Host) -> None:
        """Have a server whose data were erased serve again, without data, and begin to rebuild them.

        Raises WorkloadError.
        """


class TellsHeld(Ability):
    """A file system of which it is known what it stores on a server."""

    lack = "this file system does not say how much it stores on a server"

    @abstractmethod
    def held_bytes(self, host: Host) -> int:
        """Return how much of users' data, as copies or parts, is on a server. Raises WorkloadError."""


class Growable(Ability):
    """A file system that further hosts can join."""

    lack = "no host can join this file system"

    @abstractmethod
    def add(self, host: Host) -> None:
        """Have a further storage host serve, and begin to spread the data. Raises WorkloadError."""


class OffersBuckets(Ability):
    """A store that speaks S3, with a bucket or a part of one for each client."""

    lack = "this file system has no buckets"

    @abstractmethod
    def bucket(self, client: str) -> Bucket:
        """Return what a client, or another user, by its name, may use."""

    @abstractmethod
    def shared(self, client: str) -> Bucket:
        """Return the first client's, as this one may use it: for data of a job that all clients read."""


class PassesOn(Ability):
    """A store whose gateways pass on to other hosts a part of what clients move, and know which."""

    @abstractmethod
    def amplification(self, moved_bytes: Mapping[str, int]) -> Amplification | None:
        """Return which bytes move per byte of these, by client, as the data are placed; None: not known."""


class OffersImages(Ability):
    """A store whose clients reach block devices by its own library; `devices` has none of them."""

    lack = "this file system has no block devices"

    @abstractmethod
    def image(self, client: str) -> UnmappedImage:
        """Return what a client, by its name, may overwrite."""


class MakesPools(Ability):
    """An object store whose clients' pools can be deleted and made again."""

    lack = "the pools of this store can't be made again"

    @abstractmethod
    def make_pool(self, client: str) -> None:
        """Make a client's pool, unless it exists, and wait until it is healthy. Raises WorkloadError."""

    @abstractmethod
    def delete_pool(self, client: str) -> None:
        """Delete a client's pool with all its objects, if it exists. Raises WorkloadError."""


class Scrubs(Ability):
    """A file system that compares all data with their checksums by a command."""

    lack = "this file system has no scrub that a command begins"

    @abstractmethod
    def scrub(self) -> None:
        """Begin to read all data and compare them with their checksums, by its own command.

        Raises WorkloadError.
        """

    @abstractmethod
    def unscrubbed(self) -> str:
        """Return what the last `scrub` has not checked yet; "" if nothing, or there was none.

        Raises WorkloadError.
        """


class TakesSnapshots(Ability):
    """A file system that takes snapshots by a command."""

    lack = "this file system takes no snapshots"

    @abstractmethod
    def snapshot(self, name: str) -> None:
        """Take a snapshot of all that is in it, by its own command. Raises WorkloadError."""


class TellsState(Ability):
    """A file system of a cluster that others run, which says in which state it is."""

    lack = "nothing says in which state this cluster is"
    while_degraded: bool  # whether trials may begin although it lacks something
    late_s: float  # by which its counts of clients' bytes lag behind

    @abstractmethod
    def state(self) -> ClusterState:
        """Ask it. Raises WorkloadError: it does not answer, or not as its tools do."""


class NamesCluster(Ability):
    """A file system whose cluster can be asked before it is mounted, as it is others'."""

    @abstractmethod
    def cluster(self, client: Host) -> TellsState | None:
        """Return what asks it by a client's tools; None: the campaign names none."""


class OfOthers(Ability):
    """A file system that perjoule did not bring up."""

    lack = "this file system is perjoule's own"
    # what mounts it, if that is a cluster of which nothing is asked: "fuse.ceph-fuse"; "": it is none
    unwatched: str = ""
    # what could not be removed at the end, and what to do about it, a sentence each
    unremoved: tuple[str, ...] = ()


class ComputesBesides(Ability):
    """A file system whose slowest server computes much for each trial beside the load: seconds of a processor that
    7-zip rates 1 MIPS, roughly.
    """

    trial_mips_s: ClassVar[float]  # to drop caches, and to say how it is
    file_mips_s: ClassVar[float] = 0.0  # to find the hosts of a file that is read
    pool_made_mips_s: ClassVar[float] = 0.0  # to make a client's pool, and delete it
    pool_deleted_mips_s: ClassVar[float] = 0.0
    object_mips_s: ClassVar[float] = (
        0.0  # of all storage hosts, to put an object into a bucket, or to remove it
    )
