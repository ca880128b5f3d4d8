"""The hosts of a trial that loaded, held data or served, and their hardware: the basis of peak, bounds,
energy, overhead.
"""

from collections.abc import Mapping

from perjoule.model import Record
from perjoule.model.errors import CampaignError
from perjoule.model.hardware import Cluster


def hardware(record: Record) -> Cluster | None:
    """Return the hardware that a record's hosts were or stood for; if the record lacks it, the catalogue's
    current one.
    """
    if record.hardware is not None or not record.cluster:
        return record.hardware
    from perjoule import catalogue

    try:
        return catalogue.cluster(record.cluster)
    except CampaignError:  # results of a perjoule whose catalogue had more
        return None


def cores_count(record: Record) -> int | None:
    """Return the number of CPUs of the machine that ran perjoule; None if the record lacks it."""
    count = record.environment.get("cores_count")
    return count if isinstance(count, int) else None


def loading(record: Record) -> frozenset[str]:
    """Name the hosts on which the load ran."""
    return frozenset(r.host for r in record.outcome.results) if record.outcome else frozenset()


def served_outside(record: Record) -> bool:
    """Whether the load's data lay on servers outside the testbed: a folder on a network mount, and only
    clients.

    An imported trial has no testbed, and its one host is often both, so only naming servers separates them
    there.
    """
    return not record.data_hosts and not record.imported and all(h.role == "client" for h in record.hosts)


def data_hosts(record: Record) -> frozenset[str]:
    """Name the hosts that held the load's data, as the file system declared them; empty if none of the
    record's hosts did.

    A client holds only its own data, so one that did not load is left out. For records without a declaration,
    and file systems that don't know, they are the storage hosts; in an imported trial without servers, the
    clients that loaded.
    """
    if served_outside(record):
        return frozenset()
    clients = {h.name for h in record.hosts if h.role == "client"}
    declared = frozenset(record.data_hosts) or frozenset(h.name for h in record.hosts if h.role == "storage")
    return (declared or frozenset(clients)) - (clients - loading(record))


def held_by_clients(record: Record) -> bool:
    """Whether clients held the data themselves, so that the energy inside the boundary is theirs."""
    holders = data_hosts(record)
    return bool(holders) and holders <= {h.name for h in record.hosts if h.role == "client"}


def server_names(record: Record) -> frozenset[str]:
    """Name the hosts inside the boundary of energy.

    If any server held data, all of the testbed's, including idle ones, because a paper's meter covers them;
    if clients held their own data, those of them that loaded. An imported trial without servers has all its
    hosts; none if the servers are outside.
    """
    servers = frozenset(h.name for h in record.hosts if h.role != "client")
    if record.imported and not record.data_hosts:
        return servers or frozenset(h.name for h in record.hosts)
    return serving(servers, data_hosts(record) if record.data_hosts else None)


def serving(servers: frozenset[str], holders: frozenset[str] | None) -> frozenset[str]:
    """Name the hosts inside the boundary of energy of a trial that was run, by its servers and, if known,
    its data hosts.
    """
    if holders is None:
        return servers
    return holders | servers if holders & servers else holders


def cluster_names(record: Record) -> frozenset[str]:
    """Name the hosts that a meter of the whole cluster covers (the component "total"): all servers, whoever
    holds the data.

    On a testbed without servers, those inside the boundary; all hosts if the servers are outside.
    """
    servers = frozenset(h.name for h in record.hosts if h.role != "client") or server_names(record)
    return servers or frozenset(h.name for h in record.hosts)


def roles(record: Record) -> Mapping[str, frozenset[str]]:
    """Name the hosts of each role, and of all roles except clients as "servers".

    Clients are those that loaded. Servers next to clients that hold their own data have no part in the trial.
    """
    loaded = loading(record)
    part = server_names(record) | loaded
    by_role: dict[str, set[str]] = {}
    for host in record.hosts:
        if host.name in part and (host.role != "client" or host.name in loaded):
            for role in (host.role, *(("servers",) if host.role != "client" else ())):
                by_role.setdefault(role, set()).add(host.name)
    return {role: frozenset(names) for role, names in by_role.items()}


def loaded_servers(record: Record) -> frozenset[str]:
    """Name the servers on which the load itself ran: their reads of their own data cross no network."""
    return roles(record).get("servers", frozenset()) & loading(record)
