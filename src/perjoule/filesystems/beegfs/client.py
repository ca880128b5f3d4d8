"""BeeGFS's client, a kernel module: whether hosts can mount.

The module opens its sockets in the machine's first network namespace (`init_net` in StandardSocket.c, in 7
and 8 alike): clients in another one, that share a kernel with hosts of other addresses, could never reach the
servers.
"""

from pathlib import Path

from perjoule.drivers.protocols import Host, Hosts
from perjoule.machine.mounts import SHORT_S, can_mount

FIX = "install beegfs-client-dkms (7: beegfs-client) for the running kernel, then modprobe beegfs"
NO_VIRTUAL_CLIENT = (
    "virtual hosts can't mount BeeGFS: its client is a module of the kernel that they share, and sees only "
    "this machine's network"
)
OWN_KERNEL = (
    "run clients on separate machines that have it: virtual clients share a kernel, whose client sees only "
    "its own network"
)
# Only the first network namespace has it (`net_core_table` of net/core/sysctl_net_core.c), and who reads it
# finds what his own has.
FIRST_NETWORK = Path("/proc/sys/net/core/netdev_max_backlog")


def obstacle(hosts: Hosts) -> tuple[str, str]:
    """Return what keeps clients from mounting, and its fix; both empty if nothing does."""
    kernels = {host.name: host.read(Path("/proc/sys/kernel/random/boot_id")) for host in hosts.all}

    def is_apart(client: Host) -> bool:
        alike = [host for host in hosts.all if kernels[host.name] == kernels[client.name]]
        return any(host.address != client.address for host in alike) and not _in_first_network(client)

    shared = any(map(is_apart, hosts.clients))
    for client in hosts.clients:
        if not can_mount(client, "beegfs"):
            return f"the kernel of {client.name} has no module beegfs", OWN_KERNEL if shared else FIX
    return (
        ("its clients share a kernel with other hosts, but not an address", OWN_KERNEL)
        if shared
        else ("", "")
    )


def _in_first_network(host: Host) -> bool:
    return host.run(["test", "-e", FIRST_NETWORK], timeout_s=SHORT_S, check=False).returncode == 0
