"""BeeGFS's client, a kernel module: whether hosts can mount.

The module opens its sockets in the machine's first network namespace (`init_net` in StandardSocket.c, in 7 and 8 alike): clients
that share a kernel with hosts of other addresses could never reach the servers.
"""

from contextlib import suppress
from pathlib import Path

from perjoule.drivers.protocols import Host, Hosts
from perjoule.filesystems._deployment import SHORT_S
from perjoule.model.errors import WorkloadError

FIX = "install beegfs-client-dkms (7: beegfs-client) for the running kernel, then modprobe beegfs"
OWN_KERNEL = (
    "run clients on separate machines that have it: virtual clients share a kernel, whose client sees only its own network"
)


def obstacle(hosts: Hosts) -> tuple[str, str]:
    """Return what keeps clients from mounting, and its fix; None if nothing does."""
    kernels = {host.name: host.read(Path("/proc/sys/kernel/random/boot_id")) for host in hosts.all}
    shared = any(kernels[a.name] == kernels[b.name] and a.address != b.address for a in hosts.clients for b in hosts.all)
    for client in hosts.clients:
        if not _has_module(client):
            return f"the kernel of {client.name} has no module beegfs", OWN_KERNEL if shared else FIX
    return ("its clients share a kernel with other hosts, but not an address", OWN_KERNEL) if shared else ("", "")


def _has_module(host: Host) -> bool:
    """Return whether the kernel of a host has the module, or would load it for a mount."""
    if b"\tbeegfs\n" in host.read(Path("/proc/filesystems")):
        return True
    with suppress(WorkloadError):  # a host without modprobe loads nothing
        return host.run(["modprobe", "--dry-run", "--quiet", "beegfs"], timeout_s=SHORT_S, check=False).returncode == 0
    return False
