"""The hosts of a lab as a campaign names them, and their hardware in the catalogue."""

import contextlib
import ipaddress
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, WithJsonSchema
from pydantic.dataclasses import dataclass

from perjoule import catalogue
from perjoule.catalogue import Cluster as Hardware
from perjoule.catalogue import Node
from perjoule.model import OPTIONS
from perjoule.model.errors import CampaignError
from perjoule.testbeds.cluster.inventory import inventory, tables

# Documentation addresses (RFC 5737): an example's hosts are never contacted.
_NOBODYS = tuple(map(ipaddress.ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")))

Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Destination = Annotated[str, Field(pattern=r"^[A-Za-z0-9:][A-Za-z0-9_.:%-]*$")]
_Patterned = WithJsonSchema({"type": "string", "pattern": r"^[A-Za-z0-9:\[][A-Za-z0-9_.:%,\[\]-]*$"})  # what `unfold` takes


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Machine:
    """One host of a lab."""

    name: Annotated[Word, WithJsonSchema({"type": "string", "pattern": r"^[@A-Za-z0-9\[][A-Za-z0-9_.,\[\]-]*$"})]
    """Its name in results, a pattern such as "n[001-064]", or "@" and a group of the inventory ("@all": all of its hosts)."""
    address: Annotated[Destination, _Patterned] = ""
    """Its IP address in the network that file systems should use; by default ansible_host in the inventory."""
    role: Literal["storage", "metadata", "management", "client"]
    """Its role: storage, metadata, management or client."""
    node: str = ""
    """Its hardware in the catalogue, such as "odroid-hc4/A"."""
    ssh: Annotated[Destination | Literal[""], _Patterned] = ""
    """Its name for OpenSSH, if not its address."""
    user: Word | Literal[""] = ""
    """User to log in as on this host."""
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """The port of its SSH server."""
    login: bool = True
    """Whether perjoule logs in to it; false for a server of a mounted file system, which only power meters know."""
    count: Annotated[int, Field(ge=1)] | None = None
    """How many hosts of the name to take, of those that no table above has; by default all of them."""


def one_table_each(hosts: object, info: ValidationInfo) -> object:
    """Make one table of each host, as `tables` does, before they are validated."""
    file = info.data.get("inventory")
    return tables(hosts, inventory(file.text) if file else None)


def is_nobodys(address: str) -> bool:
    """Return whether it is a documentation address, which belongs to nobody."""
    with contextlib.suppress(ValueError):
        return any(ipaddress.ip_address(address) in network for network in _NOBODYS)
    return False


def node_of(machine: Machine) -> tuple[Hardware, Node] | None:
    """Return a host's node. Raises CampaignError: it is not in the catalogue."""
    if not machine.node:
        return None
    name, _, wanted = machine.node.partition("/")
    if name not in catalogue.names():
        advice = f"known: {', '.join(catalogue.names())}"
        raise CampaignError(f'the catalogue has no cluster "{name}"', where=f"node of {machine.name}", next=advice)
    hardware = catalogue.cluster(name)
    if found := next((node for node in hardware.nodes if node.name == wanted), None):
        return hardware, found
    advice = f"known: {', '.join(f'{name}/{node.name}' for node in hardware.nodes)}"
    raise CampaignError(f'{name} has no node "{wanted}"', where=f"node of {machine.name}", next=advice)


def hardware_of(nodes: Sequence[tuple[Hardware, Node] | None]) -> Hardware | None:
    """Return the catalogue's cluster to which all hosts belong, if there is one."""
    names = {node[0].name if node else "" for node in nodes}
    return nodes[0][0] if len(names) == 1 and nodes[0] else None
