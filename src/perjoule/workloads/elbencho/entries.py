"""What elbencho's threads write or read: files below each client's mount, or objects in its bucket.

Keys of a bucket stay in the client's own file, which elbencho's SDK reads: no command, environment or report
has them. No request is sent again.
https://docs.aws.amazon.com/sdkref/latest/guide/settings-reference.html
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from perjoule.drivers.protocols import Bucket, Host, Mounted, OffersBuckets, able
from perjoule.machine import buckets
from perjoule.machine.scripts import BASH
from perjoule.model.errors import MovedTooLittle, WorkloadError
from perjoule.model.units import MIB
from perjoule.workloads._running import SHORT_S, synced

LAYOUT_TRANSFER_BYTES = 4 * MIB  # of files
LAYOUT_PART_BYTES = 16 * MIB  # of objects, which have at most 10,000 parts
S3_VERSION = (3, 1, 1)  # the first that heeds AWS_MAX_ATTEMPTS
S3_FIX = "use the static executable of elbencho's releases, or build 3.1-1 or newer with S3_SUPPORT=1"
_COUNT = """find "$1" -type f -printf '%s\\n' | uniq -c"""  # a line of count and size where all have one size
_VERSION = re.compile(r"^ \* Version: (\d+)\.(\d+)-(\d+)", re.MULTILINE)
_FEATURES = re.compile(r"^ \* Included optional build features: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Entries(ABC):
    """So many entries of one size for each client, below a name that says so."""

    mounted: Mounted
    name: str
    count: int
    size_bytes: int  # of one
    time_limit_s: float

    path_type: ClassVar[str]  # as elbencho reports it
    flush: ClassVar[Sequence[str]]  # options after which a write is in its servers' hands

    @abstractmethod
    def require(self, client: Host) -> None:
        """Require that a client's elbencho can load them. Raises WorkloadError."""

    @abstractmethod
    def empty(self, client: Host) -> None:
        """Remove a client's, whatever their number and size. Raises WorkloadError."""

    @abstractmethod
    def laid_out(self, client: Host) -> bool:
        """Return whether a client has them all, whole. Raises WorkloadError."""

    @abstractmethod
    def layout(self, *, filled: bool) -> list[str]:
        """Return the options that make them, or only what has to be there before a write; [] for nothing."""

    @abstractmethod
    def settle(self, clients: Sequence[Host], filled: Sequence[Host]) -> None:
        """Make sure that the servers have what was laid out. Raises WorkloadError."""

    @abstractmethod
    def place(self, client: Host) -> list[str]:
        """Return the words by which elbencho finds a client's."""

    @abstractmethod
    def environment(self, client: Host) -> dict[str, str]:
        """Return the variables by which elbencho may use a client's."""

    @abstractmethod
    def advice(self, output: str) -> str:
        """Return what to do about a failure, by what elbencho printed; "" if that is not known."""


class FileEntries(Entries):
    """Files in a folder of each client's."""

    path_type = "dir"
    flush = ("--sync",)

    def require(self, client: Host) -> None:
        """Any can."""

    def empty(self, client: Host) -> None:
        """Remove the folder and make it again."""
        room = self._room(client)
        client.run(["rm", "-rf", "--", room], timeout_s=self.time_limit_s)
        # not its parents: without the mount, the disk below would be filled
        client.run(["mkdir", "--", room, room / self.name], timeout_s=self.time_limit_s)

    def laid_out(self, client: Host) -> bool:
        """Count them."""
        argv = [*BASH, _COUNT, "perjoule-count", self._room(client) / self.name]
        sizes = client.run(argv, timeout_s=self.time_limit_s, check=False).stdout.split()
        return sizes == [str(self.count), str(self.size_bytes)]

    def layout(self, *, filled: bool) -> list[str]:
        """Make their folders in any case."""
        fill = ["--write", "--sync", "--block", str(LAYOUT_TRANSFER_BYTES)]
        return ["--mkdirs", *(fill if filled else [])]

    def settle(self, clients: Sequence[Host], filled: Sequence[Host]) -> None:
        """Have clients write back what they hold."""
        synced(clients, self.mounted, self.time_limit_s)

    def place(self, client: Host) -> list[str]:
        """By the path of the folder."""
        return [str(self._room(client) / self.name)]

    def environment(self, client: Host) -> dict[str, str]:
        """None."""
        return {}

    def advice(self, output: str) -> str:
        """None is known."""
        return ""

    def _room(self, client: Host) -> Path:
        return self.mounted.directories[client.name] / f"{client.name}.elbencho"


class ObjectEntries(Entries):
    """Objects in each client's bucket, or its part of one."""

    path_type = "bucket"
    flush = ()  # a put has ended once the store has acknowledged it

    def require(self, client: Host) -> None:
        """One that speaks S3 as it is asked to."""
        text = client.run(["elbencho", "--version"], timeout_s=SHORT_S).stdout
        if lack := s3_lack(text):
            raise WorkloadError(f"elbencho can't load buckets: {lack}", where=client.name, next=S3_FIX)

    def empty(self, client: Host) -> None:
        """Remove all that loads have put there."""
        self._ask(client, "remove", buckets.FOLDER)

    def laid_out(self, client: Host) -> bool:
        """Have the store list them."""
        return self.stored(client) == {"objects_count": self.count, "bytes": self.count * self.size_bytes}

    def layout(self, *, filled: bool) -> list[str]:
        """Put them; a write needs nothing."""
        return ["--write", "--block", str(LAYOUT_PART_BYTES)] if filled else []

    def settle(self, clients: Sequence[Host], filled: Sequence[Host]) -> None:
        """Have the store list what it acknowledged."""
        if short := [client.name for client in filled if not self.laid_out(client)]:
            problem = "the store does not list all objects that it acknowledged"
            raise MovedTooLittle(problem, where=", ".join(short))

    def place(self, client: Host) -> list[str]:
        """By endpoint, bucket and prefix."""
        bucket = self._bucket(client)
        words = ["--s3endpoints", bucket.endpoint, "--s3region", bucket.region]
        return [*words, "--s3objprefix", bucket.prefix + self._prefix, f"s3://{bucket.name}"]

    def environment(self, client: Host) -> dict[str, str]:
        """Name the file with a client's keys, and nothing of the user's own that would go before it."""
        return {
            "AWS_SHARED_CREDENTIALS_FILE": str(self._bucket(client).credentials),
            "AWS_PROFILE": "default",
            "AWS_CONFIG_FILE": "/dev/null",
            **dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"), ""),
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_RETRY_MODE": "standard",
            "AWS_MAX_ATTEMPTS": "1",
            "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
        }

    def advice(self, output: str) -> str:
        """As of any answer of a store."""
        return buckets.advice(output)

    def stored(self, client: Host) -> dict[str, Any]:
        """Return how many of a client's the store lists, and their bytes. Raises WorkloadError."""
        return self._ask(client, "stored", self._prefix)

    @property
    def _prefix(self) -> str:
        layout = f"{self.mounted.layout_name}/" if self.mounted.layout_name else ""
        return f"{buckets.FOLDER}{layout}{self.name}/"

    def _bucket(self, client: Host) -> Bucket:
        return able(self.mounted, OffersBuckets).bucket(client.name)

    def _ask(self, client: Host, operation: str, prefix: str) -> dict[str, Any]:
        return buckets.ask(client, self._bucket(client), operation, prefix, timeout_s=self.time_limit_s)


def s3_lack(text: str) -> str:
    """Return why an elbencho can't load buckets, by what its `--version` prints; "" if it can."""
    version, features = _VERSION.search(text), _FEATURES.search(text)
    if version is None or features is None:
        return "its --version names neither version nor features"
    included = features[1].split()
    if "s3" not in included:
        return "it is built without S3"
    if "s3crt" in included:
        return "it is built with s3crt, which sends failed requests again"
    if tuple(map(int, version.groups())) < S3_VERSION:
        return "versions before 3.1-1 send failed requests again"
    return ""
