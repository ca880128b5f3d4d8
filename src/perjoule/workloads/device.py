"""fio on a raw block device, without a file system: https://fio.readthedocs.io

Like `fio` in everything else. Data for reads are written once per deployment. Right before each trial writes,
the device is checked again, by its number. A device that no kernel has mapped is an image, which fio's engine
`rbd` reaches by Ceph's library; `direct` then is without that library's cache.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

from pydantic import ValidationInfo, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Host, Mounted, Need, OffersImages, UnmappedImage, able
from perjoule.machine.untrusted import understood
from perjoule.model import OPTIONS, Outcome, is_to_run
from perjoule.model.errors import WorkloadError
from perjoule.model.units import bytes_text
from perjoule.workloads.fio import Fio

EXAMPLE = """
[[workload]]
kind = "device"
operation = ["write", "randwrite"]
transfer = ["32 KiB", "4 MiB"]
size = "20 GiB"
duration = "60 s"
direct = [true, false]
"""

SHORT_S = 20.0
CACHED_BYTES = 2 * 1024**3  # of writes in a client's memory, roughly: a fifth of 8 GiB and more


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Device(Fio):
    """Sequential or random, read, write or mixed I/O on each client's raw device; its options are those of
    `fio`.
    """

    needs: ClassVar[Need] = "devices"

    @model_validator(mode="after")
    def _loads_a_device(self, info: ValidationInfo) -> Self:
        # its files would be on the client's own disk
        if self.job is not None and is_to_run(info):
            raise ValueError("a job file loads files, which a device has not (remove job)")
        return self

    def loading_s(self, clients_count: int, bytes_per_s: float) -> float:
        """No longer than `duration`, and until devices hold what the page cache took meanwhile."""
        loading_s = super().loading_s(clients_count, bytes_per_s)
        if self.direct or "write" not in self.operation:
            return loading_s
        whole_s = self.moved_bytes(clients_count) / bytes_per_s
        return min(whole_s, loading_s + clients_count * CACHED_BYTES / bytes_per_s)

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Write the full size once before any read, then drop caches.

        Raises:
            TransientError: the path leads to another device by now; nothing was written.
            WorkloadError: the device is smaller than the size.
        """
        mounted.alive()
        size_bytes = self.client_bytes(len(clients))
        for client in clients:
            device, there_bytes = _size_bytes(client, mounted)
            if there_bytes < size_bytes:
                problem = (
                    f"{device} holds {bytes_text(there_bytes)}, less than the {bytes_text(size_bytes)} of "
                    "this load"
                )
                raise WorkloadError(
                    problem, where=client.name, next="lower the workload's size, or raise the filesystem's"
                )
        super().prepare(clients, mounted, folder)
        if "write" not in self.operation:
            for client in clients:
                if not self._laid_out(client, mounted, size_bytes):
                    client.put(str(size_bytes), _mark(client, mounted))

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Load from all clients together and read the reports; see `fio`."""
        mounted.alive()
        return super().run(clients, mounted, folder)

    def _target(self, client: Host, mounted: Mounted, engine: str) -> list[str]:
        image = _image(client, mounted)
        if image is None:
            return super()._target(client, mounted, engine)
        user = image.pool.user.removeprefix("client.")
        return ["ioengine=rbd", f"clientname={user}", f"pool={image.pool.name}", f"rbdname={image.name}"]

    def _environment(self, clients: Sequence[Host], mounted: Mounted) -> tuple[str, ...]:
        """Name configuration and key, for which fio has no options: they are at the same paths everywhere."""
        pools = {image.pool for client in clients if (image := _image(client, mounted))}
        names = {f"CEPH_CONF={pool.configuration}" for pool in pools}
        return (*names, *{f"CEPH_KEYRING={pool.keyring}" for pool in pools if pool.keyring})

    def _file(self, client: Host, mounted: Mounted) -> Path:
        return mounted.devices[client.name]

    def _remove(self, client: Host, mounted: Mounted) -> None:
        """Do nothing: a device has no files, and its data stay laid out, whatever overwrites them."""

    def _laid_out(self, client: Host, mounted: Mounted, size_bytes: int) -> bool:
        if self.verify:  # other loads wrote over the checksums
            return False
        mark = client.run(["cat", _mark(client, mounted)], timeout_s=SHORT_S, check=False)
        with understood(f"cat on {client.name}"):
            return mark.returncode == 0 and int(mark.stdout) >= size_bytes


def _image(client: Host, mounted: Mounted) -> UnmappedImage | None:
    """Return what a client loads if it has no block device. Raises WorkloadError: it has nothing."""
    return None if client.name in mounted.devices else able(mounted, OffersImages).image(client.name)


def _size_bytes(client: Host, mounted: Mounted) -> tuple[str, int]:
    """Return the name of what a client loads, and its size."""
    if image := _image(client, mounted):
        return image.name, image.size_bytes
    path = mounted.devices[client.name]
    size = client.run(["blockdev", "--getsize64", path], timeout_s=SHORT_S).stdout
    with understood(f"blockdev on {client.name}"):
        return str(path), int(size)


def _mark(client: Host, mounted: Mounted) -> Path:
    return mounted.directories[client.name] / "laid-out-bytes"
