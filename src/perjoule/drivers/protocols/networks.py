"""A second network of servers, over which they copy."""

from perjoule.drivers.protocols.host import Host


class HasClusterNetwork:
    """A host that may be in a second network, of servers alone."""

    cluster_address: str = ""


def cluster_address(host: Host) -> str:
    """Return a host's address in the network of servers alone; "" if it is in none."""
    return host.cluster_address if isinstance(host, HasClusterNetwork) else ""
