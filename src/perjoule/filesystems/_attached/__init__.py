"""Clusters that others run, in production or not: asked what they are and how they are, and never changed.

https://docs.ceph.com, https://docs.gluster.org, https://moosefs.com, https://lustre.org, https://doc.beegfs.io
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from perjoule.drivers.protocols import Host, Hosts, OfOthers, TellsState
from perjoule.filesystems._attached.beegfs import BeegfsTable
from perjoule.filesystems._attached.ceph import CephTable
from perjoule.filesystems._attached.glusterfs import GlusterTable
from perjoule.filesystems._attached.lustre import LustreTable
from perjoule.filesystems._attached.moosefs import MooseTable
from perjoule.filesystems._attached.table import ClusterTable
from perjoule.filesystems._on_clients import OnClients
from perjoule.machine.each import each
from perjoule.machine.mounts import SHORT_S
from perjoule.machine.untrusted import json_from
from perjoule.model import ClusterState, Json
from perjoule.model.errors import NotRemoved, UnexpectedOutput, WorkloadError
from perjoule.model.units import MIB

MOST_STATE_BYTES = 4 * MIB  # of a state, of which each record has two: 10,000 OSDs have a fifth

__all__ = [
    "Attached",
    "BeegfsTable",
    "CephTable",
    "ClusterTable",
    "GlusterTable",
    "LustreTable",
    "MooseTable",
    "NamedCluster",
    "remove_at_end",
]


class NamedCluster(TellsState):
    """A cluster that a host's tools ask for its state, of a folder on it; `loading` are the addresses of hosts that
    load.
    """

    def __init__(self, host: Host, folder: Path, table: ClusterTable, loading: Sequence[str] = ()) -> None:
        self._host, self._folder, self._table, self._loading = host, folder, table, loading
        self.while_degraded, self.late_s = table.while_degraded, table.late_s

    def state(self) -> ClusterState:
        state = self._table.state(self._host, self._folder, self._loading)
        try:
            json_from(json.dumps(asdict(state)), MOST_STATE_BYTES)  # as a record keeps it, to be read again
        except ValueError as error:
            problem = f"what the cluster says of itself can't be kept: {error}"
            raise UnexpectedOutput(problem, where=self._host.name) from None
        return state


class Attached(OnClients, TellsState):
    """Folders in a file system whose cluster tells its state by the first client's tools."""

    def __init__(
        self,
        hosts: Hosts,
        directories: Mapping[str, Path],
        facts: Mapping[str, Json],
        lost: Callable[[Host], str],
        table: ClusterTable,
    ) -> None:
        super().__init__(hosts, directories, facts, lost)
        first_client = hosts.clients[0]
        loading = [address for addresses in each(hosts.clients, _addresses) for address in addresses]
        self._cluster = NamedCluster(first_client, directories[first_client.name], table, loading)
        self.while_degraded, self.late_s = table.while_degraded, table.late_s
        first = self.state()
        self.facts = {**facts, "version": first.version}

    def state(self) -> ClusterState:
        """Ask it by its tools, of the folder that the first client has."""
        return self._cluster.state()


def remove_at_end(mounted: OfOthers | None, removals: Mapping[str, Callable[[], object]]) -> None:
    """Remove what a run wrote, each by its name; `mounted`, which there is if anything was, says after its end what
    could not be removed.
    """

    def left(removal: tuple[str, Callable[[], object]]) -> str:
        name, remove = removal
        try:
            remove()
        except WorkloadError as error:
            advice = "the next run on this machine that uses it tries again"
            return str(
                NotRemoved(f"{name} could not be removed: {error.what}", where=error.where, next=advice)
            )
        return ""

    sentences = each(removals.items(), left)
    if mounted:
        mounted.unremoved = tuple(filter(None, sentences))


def _addresses(host: Host) -> list[str]:
    return [host.address, *host.run(["hostname", "-I"], timeout_s=SHORT_S).stdout.split()]
