"""BeeGFS's client, a kernel module: whether hosts can mount.

The module opens its sockets in the machine's first network namespace (`init_net` in StandardSocket.c, in 7
and 8 alike): clients that share a kernel with hosts of other addresses could never reach the servers.
"""

from pathlib import Path

from perjoule.drivers.protocols import Hosts
from perjoule.machine.mounts import can_mount

FIX = "install beegfs-client-dkms (7: beegfs-client) for the running kernel, then modprobe beegfs"
NO_VIRTUAL_CLIENT = (
    "virtual hosts can't mount BeeGFS: its client is a module of the kernel that they share, and sees only "
    "this machine's network"
)
OWN_KERNEL = (
    "run clients on separate machines that have it: virtual clients share a kernel, whose client sees only "
    "its own network"
)


def obstacle(hosts: Hosts) -> tuple[str, str]:
    """Return what keeps clients from mounting, and its fix; both empty if nothing does."""
    kernels = {host.name: host.read(Path("/proc/sys/kernel/random/boot_id")) for host in hosts.all}
    shared = any(
        kernels[a.name] == kernels[b.name] and a.address != b.address
        for a in hosts.clients
        for b in hosts.all
    )
    for client in hosts.clients:
        if not can_mount(client, "beegfs"):
            return f"the kernel of {client.name} has no module beegfs", OWN_KERNEL if shared else FIX
    return (
        ("its clients share a kernel with other hosts, but not an address", OWN_KERNEL)
        if shared
        else ("", "")
    )
