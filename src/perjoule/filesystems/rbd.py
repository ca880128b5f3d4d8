"""RBD: block devices on RADOS objects, mapped by the clients' kernels. https://docs.ceph.com/en/pacific/rbd/

The same monitor, manager and object storage daemons (OSDs) as beneath `rados`, with one pool for all images.
Each client has an image of its own and maps it to a block device without a file system (/dev/rbd0). It is for
loads that use devices (`kind = "device"`).
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Access, Check, Host, Hosts
from perjoule.filesystems._ceph import layout as ceph
from perjoule.filesystems._ceph import parse as answers
from perjoule.filesystems._ceph.cluster import CephCluster
from perjoule.filesystems._daemons import last_words
from perjoule.filesystems._deployment import SHORT_S
from perjoule.filesystems._settings import Setting
from perjoule.machine import mapped
from perjoule.machine.each import each
from perjoule.machine.mounts import kernel_check, require_mountable
from perjoule.model import OPTIONS, Json
from perjoule.model.errors import CampaignError, MachineError, MountFailed, WorkloadError
from perjoule.model.units import Bytes, Seconds

EXAMPLE = """\
[[filesystem]]
kind = "rbd"
placement_groups = 32
copies = 2
size = "4 GiB"
"""

POOL = "rbd"
NO_CLIENT = "the kernel has no RADOS block devices"
FIX = "modprobe rbd, or use hosts whose kernel has CONFIG_BLK_DEV_RBD"
FEATURES = Setting("image features", "layering", "comparability")  # what every kernel can map
# a load fails on a full pool, instead of waiting forever
FULL = Setting("abort_on_full", "set", "observation")
SECTOR_BYTES = 512
STEP_S = 30  # for each of the kernel's own steps of map and unmap, as when the servers are gone at the end
NAMEABLE = re.compile(r"[\w./+-]+", re.ASCII)  # what the kernel's command takes as part of an image's name


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Rbd(ceph.Ceph):
    """A Ceph cluster on the hosts of a testbed, with a block device for each client."""

    runs: ClassVar = {
        **ceph.Ceph.runs,
        "management": {**ceph.Ceph.runs["management"], "rbd": "ceph-common"},
        "client": {"rbd": "ceph-common"},
    }
    offers: ClassVar[Access] = "devices"
    unable: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("add", "scrub"), "no mapped image was seen through it"),
        "snapshot": "perjoule takes none of images",
    }

    size_bytes: Annotated[Bytes, Field(ge=SECTOR_BYTES, multiple_of=SECTOR_BYTES)] = 4 * 1024**3
    """Size of each client's image, which takes space only where it was written."""
    request_timeout_s: Annotated[Seconds, Field(ge=1)] = 120.0
    """Time limit of each request of a client's kernel to an OSD, at scale 1; slower testbeds get more. One
    that takes longer is an I/O error and ends the trial; without a limit, it would wait for dead OSDs
    forever. OSDs that are cut off are given up
    after 60 s."""

    def checks(self) -> tuple[Check, ...]:
        """Check also for the client."""
        kernel = kernel_check("RADOS block devices", "rbd", NO_CLIENT, FIX)
        return (*super().checks(), kernel)

    def deployment(self, hosts: Hosts) -> "_Rbd":
        """With an image for each client."""
        return _Rbd(self, hosts)

    def layout(self, hosts: Hosts) -> ceph.CephLayout:
        """Place all daemons. Raises CampaignError if these hosts can't carry the configured layout."""
        if self.erasure:
            problem = f'erasure = "{self.erasure}" is not possible: images have copies'
            raise CampaignError(problem, where="rbd", next="set copies instead, or use cephfs or rados")
        osds = self.osds(self.data_hosts(hosts), metadata_count=self.osds_per_host_count)
        pool = ceph.CephPool(POOL, "", "host", self.redundancy(hosts), application="rbd")
        return ceph.CephLayout(self, self.monitors(hosts), osds, (pool,))


class _Rbd(CephCluster):
    """A Ceph cluster with an image mapped by every client."""

    options: Rbd

    def __init__(self, options: Rbd, hosts: Hosts) -> None:
        super().__init__(options, hosts)
        # For what a load must remember of the device.
        self.directories = {client.name: self.folder(client) / "device" for client in hosts.clients}
        self.devices = self._mapped = dict[str, Path]()

    def require_clients(self) -> None:
        require_mountable(self.hosts.clients, "rbd", NO_CLIENT, FIX)
        for client in self.hosts.clients:
            if not NAMEABLE.fullmatch(str(client.directory)):
                problem = f"an image can't be named after the folder {client.directory}"
                fix = "have the testbed use a work folder of letters, digits and . _ + -"
                raise MachineError(problem, where=client.name, next=fix)

    def serve(self) -> None:
        """Bring it up until it is healthy, and make the images."""
        super().serve()
        host = self.hosts.management

        def make(client: Host) -> None:
            like = ["--size", f"{self.options.size_bytes}B", "--image-feature", FEATURES.value]
            host.run(
                [*self._rbd(host, "admin"), "create", *like, self._spec(client)], timeout_s=self.patience_s
            )

        each(self.hosts.clients, make)

    @property
    def settings(self) -> tuple[Setting, ...]:
        return (*super().settings, FEATURES, FULL)

    def attach(self, client: Host, place: Path) -> None:
        """Map its image; the kernel chooses the device."""
        # Events of udev do not reach a network namespace, those of the kernel do. The monitor speaks msgr2
        # only.
        limit_s = max(1, round(self.options.request_timeout_s / self.hosts.scale))
        options = f"noudev,ms_mode=crc,mount_timeout={STEP_S},{FULL.name},osd_request_timeout={limit_s}"
        argv = [*self._rbd(client), "device", "map", "--options", options, self._spec(client)]
        completed = client.run(argv, timeout_s=self.patience_s, check=False)
        if completed.returncode != 0:
            self.daemons.alive()
            raise MountFailed(f"rbd device map failed: {last_words(completed.stderr, 3)}", where=client.name)
        self._mapped[client.name] = Path(completed.stdout.strip())

    def unattached(self, client: Host) -> str:
        path, image = self.devices[client.name], ""
        if re.fullmatch(r"/dev/rbd\d+", str(path)):
            with suppress(WorkloadError):
                image = (
                    client.read(mapped.DEVICES / path.name.removeprefix("rbd") / "name")
                    .decode(errors="replace")
                    .strip()
                )
        return (
            ""
            if image == mapped.image_name(client.directory)
            else f"{path} is no longer mapped to the client's image"
        )

    def write_first(self, client: Host) -> None:
        """Have a client write a sector, all zeros as it was."""
        argv = [
            "dd",
            "if=/dev/zero",
            f"of={self.devices[client.name]}",
            f"bs={SECTOR_BYTES}",
            "count=1",
            "conv=fsync,notrunc",
        ]
        client.run([*argv, "status=none"], timeout_s=self.patience_s)

    def detach(self, client: Host) -> None:
        """Unmap it, once who looks at new devices has closed it. Raises WorkloadError if it is still open."""
        argv = [*self._rbd(client), "device", "unmap", "--options", "noudev", self._spec(client)]
        self.daemons.retry(
            f"the end of {self.devices[client.name]}", lambda: client.run(argv, timeout_s=self.patience_s)
        )
        del self._attached[client.name], self._mapped[client.name]

    def abandon(self, client: Host) -> None:
        with suppress(WorkloadError):  # a host that is gone has nothing left
            client.run(mapped.unmapping(client.directory), timeout_s=SHORT_S, check=False)

    def report(self) -> dict[str, Json]:
        images: dict[str, Json] = {
            name: {"path": str(path), **self._image(name).facts} for name, path in self.devices.items()
        }
        return {**super().report(), "images": images}

    def locate(self, path: Path) -> tuple[str, ...]:
        """Return the hosts that hold a device's data: of its objects' copies, first objects first."""
        client = next(name for name, device in self.devices.items() if device == path)
        return self.holders(POOL, self._image(client).objects)

    def _image(self, name: str) -> answers.Image:
        client = self.host(name)
        argv = [*self._rbd(client), "info", "--format", "json", self._spec(client)]
        return answers.image(client.run(argv, timeout_s=self.patience_s).stdout)

    def _rbd(self, host: Host, user: str = "") -> list[str | Path]:
        return ["rbd", "-c", self.folder(host) / "ceph.conf", "-n", f"client.{user or host.name}"]

    def _spec(self, client: Host) -> str:
        return f"{POOL}/{mapped.image_name(client.directory)}"
