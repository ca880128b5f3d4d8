"""An existing bucket of a store that speaks S3: Ceph's gateway, Garage, MinIO, a provider's.
https://docs.aws.amazon.com/AmazonS3/latest/API/

Nothing is deployed or tuned here. Each client has names of its own below a new prefix, and only what is below
it is removed at the end. If a run was killed, the next one on this machine that uses the bucket removes what
it left. What the store caches is not dropped, and a doubt says so.
"""

import re
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import (
    Access,
    Bucket,
    Check,
    FileSystem,
    Host,
    Hosts,
    Mounted,
    NamesCluster,
    OffersBuckets,
    OfOthers,
    TellsState,
)
from perjoule.filesystems._attached import CephTable, NamedCluster, remove_at_end
from perjoule.machine import buckets
from perjoule.model import OPTIONS, ClusterState
from perjoule.model.errors import MachineError, MountLost, NoAnswer, WorkloadError

EXAMPLE = """\
[[filesystem]]
kind = "bucket"
endpoint = "http://127.0.0.1:8333"
bucket = "lab"
credentials = "/var/tmp/lab-s3-credentials"
"""
OURS = "perjoule-"
OWNER = "owner"  # the object below a prefix that says which process made it
BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,62}")
NAME = re.compile(rf"{OURS}[0-9a-f]{{10}}/{OWNER}")
SHORT_S, LONG_S = 60.0, 600.0


def _endpoint(text: str) -> str:
    parts = urlsplit(text)
    if parts.username or parts.password:
        raise ValueError("it has a login (write the keys into the file of credentials)")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
        raise ValueError(f'"{text}" is no endpoint (write "http://HOST:PORT")')
    return text.rstrip("/")


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError(f'"{path}" is relative (write an absolute path)')
    return path


def _bucket(name: str) -> str:
    if not BUCKET.fullmatch(name):
        raise ValueError(f'"{name}" is no name of a bucket')
    return name


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class ExistingBucket(FileSystem, NamesCluster):
    """A part of a bucket that every client can reach."""

    offers: ClassVar[Access] = "buckets"
    needs_root: ClassVar = False

    endpoint: Annotated[str, AfterValidator(_endpoint)]
    """The address of the store, as clients reach it."""
    bucket: Annotated[str, AfterValidator(_bucket)]
    """A bucket that exists."""
    credentials: Annotated[Path, AfterValidator(_absolute)]
    """A file with the keys on every client, absolute, in the form of AWS's tools ([default]); nobody but its
    owner may read it. Keys are neither printed nor stored."""
    region: str = "us-east-1"
    """The region that signatures name."""
    ceph: CephTable | None = None
    """The Ceph behind it, which tells version, health and others' load; its `pool` is that of buckets' data,
    as "default.rgw.buckets.data".
    """

    @model_validator(mode="after")
    def _names_pool(self) -> Self:
        if self.ceph:
            self.ceph.require_pool("default.rgw.buckets.data")
        return self

    def folder(self, hosts: Path | None) -> None:
        """No files here."""

    def checks(self) -> tuple[Check, ...]:
        """Check for what clients speak S3 with."""
        return (*buckets.checks(), *(self.ceph.checks() if self.ceph else ()))

    def cluster(self, client: Host) -> TellsState | None:
        """That of the table."""
        return NamedCluster(client, Path(), self.ceph) if self.ceph else None

    @contextmanager
    def mount(self, hosts: Hosts) -> Generator[Mounted]:
        """Take a new prefix, after removing those of processes that are gone; remove it at the end."""
        first = hosts.clients[0]
        bucket = Bucket(self.bucket, self.endpoint, self.region, self.credentials)
        prefix = f"{OURS}{secrets.token_hex(5)}/"

        def ask(operation: str, prefix: str, timeout_s: float = SHORT_S, **more: str) -> dict[str, str]:
            return buckets.ask(first, bucket, operation, prefix, timeout_s=timeout_s, **more)

        try:
            marks = ask("texts", OURS, ending=f"/{OWNER}")
            versions = ask("versions", "")
        except WorkloadError as error:
            raise MachineError(error.what, where=error.where, next=error.next) from None
        if versions["kept"]:
            problem = "it keeps versions: what is removed at the end would stay, and take space"
            raise MachineError(problem, where=self.bucket, next="name a bucket without versioning")
        for name, text in marks.items():
            if NAME.fullmatch(name) and buckets.is_gone(text):
                ask("remove", name.removesuffix(OWNER), LONG_S)
        mounted: _Part | None = None
        try:
            ask("write", f"{prefix}{OWNER}", text=buckets.mark())
            mounted = _OfCeph(self, hosts, prefix, self.ceph) if self.ceph else _Part(self, hosts, prefix)
            yield mounted
        finally:
            name = f"{prefix} in bucket {self.bucket}"
            remove_at_end(mounted, {name: lambda: ask("remove", prefix, LONG_S)})


class _Part(Mounted, OffersBuckets, OfOthers):
    """What is below a prefix of the bucket."""

    def __init__(self, options: ExistingBucket, hosts: Hosts, prefix: str) -> None:
        self._first, self._prefix = hosts.clients[0], prefix
        self._whole = Bucket(options.bucket, options.endpoint, options.region, options.credentials)
        self.directories = {}
        self._buckets = {
            user.name: Bucket(
                options.bucket,
                options.endpoint,
                options.region,
                options.credentials,
                f"{prefix}{user.name}/",
            )
            for user in hosts.users
        }
        self.facts = {"endpoint": options.endpoint, "bucket": options.bucket, "region": options.region}
        self.logs, self.data_hosts = (), ()
        self.undropped = "the store behind the endpoint"

    def bucket(self, client: str) -> Bucket:
        """What is below a client's name."""
        return self._buckets[client]

    def shared(self, client: str) -> Bucket:
        """What is below the first client's: all have the same keys."""
        return self._buckets[self._first.name]

    def locate(self, path: Path) -> tuple[str, ...]:
        """Return nothing: where the store keeps it is unknown."""
        return ()

    def drop_caches(self) -> None:
        """Do nothing: the store's are out of reach, and clients have none."""

    def alive(self) -> None:
        """Check that the store answers and still has our mark. Raises TransientError."""
        mark = f"{self._prefix}{OWNER}"
        try:
            count = buckets.ask(self._first, self._whole, "stored", mark, timeout_s=SHORT_S)["objects_count"]
        except WorkloadError as error:
            raise NoAnswer(error.what, where=error.where, next=error.next) from None
        if count != 1:
            raise MountLost(f"{mark} is gone from the bucket", where=self._whole.name)


class _OfCeph(_Part, TellsState):
    """The same of a Ceph that tells its state."""

    def __init__(self, options: ExistingBucket, hosts: Hosts, prefix: str, table: CephTable) -> None:
        super().__init__(options, hosts, prefix)
        self._cluster = NamedCluster(hosts.clients[0], Path(), table)
        self.while_degraded, self.late_s = table.while_degraded, table.late_s
        self.facts = {**self.facts, "version": self.state().version}

    def state(self) -> ClusterState:
        """Ask it by the first client's tools."""
        return self._cluster.state()
