"""BeeGFS's client, which is a module of the kernel: whether hosts can mount, and the mounts.

The module opens its sockets in the machine's first network namespace (`init_net` in StandardSocket.c, in 7 and 8 alike): clients
that share a kernel with hosts of other addresses could never reach the servers.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from perjoule.drivers.protocols import Host, Hosts
from perjoule.model.errors import WorkloadError

FIX = "install beegfs-client-dkms (7: beegfs-client) for the running kernel, then modprobe beegfs"
OWN_KERNEL = (
    "run clients on separate machines that have it: virtual clients share a kernel, whose client sees only its own network"
)
SHORT_S = 20.0  # for commands that ask the host alone


def folder(host: Host) -> Path:
    """Everything of BeeGFS on a host, but for data with a file system of their own beneath."""
    return host.directory / "beegfs"


def mountpoint(client: Host) -> Path:
    """Where a client mounts it."""
    return folder(client) / "mount"


def obstacle(hosts: Hosts) -> tuple[str, str]:
    """What keeps clients from mounting, and what mends it; nothing when nothing does."""
    kernels = {host.name: host.read(Path("/proc/sys/kernel/random/boot_id")) for host in hosts.all}
    shared = any(kernels[a.name] == kernels[b.name] and a.address != b.address for a in hosts.clients for b in hosts.all)
    for client in hosts.clients:
        if not _has_module(client):
            return f"the kernel of {client.name} has no module beegfs", OWN_KERNEL if shared else FIX
    return ("its clients share a kernel with other hosts, but not an address", OWN_KERNEL) if shared else ("", "")


def _has_module(host: Host) -> bool:
    """Whether the kernel of a host has the module, or would load it for a mount."""
    if b"\tbeegfs\n" in host.read(Path("/proc/filesystems")):
        return True
    with suppress(WorkloadError):  # a host without modprobe loads nothing
        return host.run(["modprobe", "--dry-run", "--quiet", "beegfs"], timeout_s=SHORT_S, check=False).returncode == 0
    return False


def mount(client: Host, configuration: Callable[[Path], str], secret: str, *, timeout_s: float) -> None:
    """Mount on a client and write a first file. Raises WorkloadError.

    Written from what beegfs-client.conf says of itself, in client_module/build/dist/etc of https://github.com/ThinkParQ/beegfs;
    nobody has run it yet.

    Args:
        client: the host.
        configuration: writes beegfs-client.conf for where the secret is.
        secret: what the servers want to be shown.
        timeout_s: for each step.
    """
    room, place = folder(client), mountpoint(client)
    client.run(["install", "-d", "-m", "755", room, place], timeout_s=SHORT_S)
    client.put(secret, room / "client.auth", mode=0o600)
    client.put(configuration(room / "client.auth"), room / "client.conf")
    argv = ["mount", "-t", "beegfs", "beegfs_nodev", place, "-o", f"cfgFile={room / 'client.conf'}"]
    client.run(argv, timeout_s=timeout_s)
    probe = place / f".{client.name}-probe"
    client.run(["dd", f"of={probe}", "conv=fsync", "status=none"], text="perjoule", timeout_s=timeout_s)
    client.run(["rm", probe], timeout_s=timeout_s)


def unmount(client: Host) -> None:
    """Unmount, lazily: works with dead servers too; never fails."""
    with suppress(WorkloadError):
        client.run(["umount", "--lazy", mountpoint(client)], timeout_s=SHORT_S, check=False)
