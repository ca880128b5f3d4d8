"""The hosts of a lab as a campaign names them, and their hardware in the catalogue."""

import contextlib
import ipaddress
import re
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema
from pydantic.dataclasses import dataclass

from perjoule import catalogue
from perjoule.catalogue import Cluster as Hardware
from perjoule.catalogue import Node
from perjoule.model import OPTIONS, is_to_run
from perjoule.model.errors import CampaignError
from perjoule.testbeds.cluster.inventory import inventory, tables

# Documentation addresses (RFC 5737): an example's hosts are never contacted.
_NOBODYS = tuple(map(ipaddress.ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")))

Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Destination = Annotated[str, Field(pattern=r"^[A-Za-z0-9:][A-Za-z0-9_.:%-]*$")]
_FOUR_NUMBERS = re.compile(r"\d+(\.\d+){3}")
# what `unfold` takes
_Patterned = WithJsonSchema({"type": "string", "pattern": r"^[A-Za-z0-9:\[][A-Za-z0-9_.:%,\[\]-]*$"})


def _is_address(address: str) -> str:
    if _FOUR_NUMBERS.fullmatch(address):  # else it is a name, or an address of IPv6
        try:
            ipaddress.IPv4Address(address)
        except ValueError:
            raise ValueError(
                f'"{address}" is not an IPv4 address (write four numbers from 0 to 255, without leading '
                "zeros)"
            ) from None
    return address


def _is_node(written: str) -> str:
    try:
        _node(written)
    except CampaignError as error:
        raise ValueError(f"{error.what} ({error.next})") from None
    return written


NodeName = Annotated[str, AfterValidator(_is_node)]


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class LabHost:
    """One host of a lab."""

    name: Annotated[
        Word, WithJsonSchema({"type": "string", "pattern": r"^[@A-Za-z0-9\[][A-Za-z0-9_.,\[\]-]*$"})
    ]
    """Its name in results, a pattern such as "n[001-064]", or "@" and a group of the inventory ("@all":
    all of its hosts).
    """
    address: Annotated[Destination, AfterValidator(_is_address), _Patterned] = ""
    """Its IP address in the network that file systems should use; by default ansible_host in the inventory,
    or what OpenSSH's
    configuration has for its name."""
    cluster_address: Annotated[Destination | Literal[""], AfterValidator(_is_address), _Patterned] = ""
    """A server's IP address in a network of servers alone, over which Ceph's OSDs copy; hosts with role
    storage and metadata all have one, or none has."""
    role: Literal["storage", "metadata", "management", "client"]
    """Its role: storage, metadata, management or client."""
    node: NodeName = ""
    """Its hardware in the catalogue, such as "odroid-hc4/A"."""
    ssh: Annotated[Destination | Literal[""], _Patterned] = ""
    """Its name for OpenSSH, if not its address or its name."""
    user: Word | Literal[""] = ""
    """User to log in as on this host."""
    identity: str = ""
    """File with the private key for this host."""
    jump: Annotated[
        str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9_.@:-]*(,[A-Za-z0-9][A-Za-z0-9_.@:-]*)*)?$")
    ] = ""
    """The hosts that lead there, as in ssh -J: "gate" or "user@gate:2222"; OpenSSH's own configuration
    decides by default.
    """
    sudo: bool | None = None
    """Whether to run everything on this host with sudo; that of the testbed by default."""
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """The port of its SSH server."""
    login: bool = True
    """Whether perjoule logs in to it; false for a server of a mounted file system, which only power meters
    know.
    """
    count: Annotated[int, Field(ge=1)] | None = None
    """How many hosts of the name to take, of those that no table above has; by default all of them."""


def one_table_each(hosts: object, info: ValidationInfo) -> object:
    """Make one table of each host, as `tables` does, before they are validated."""
    file = info.data.get("inventory")
    return tables(hosts, inventory(file.text) if file else None, to_run=is_to_run(info))


def in_one_network(machines: tuple[LabHost, ...]) -> tuple[LabHost, ...]:
    """Return the hosts, of which those with data have a network of their own together or not at all.

    Raises:
        ValueError: a client is in it, or some hosts with data are and others aren't, which OSDs in it could not
            reach.
    """
    within = [machine for machine in machines if machine.cluster_address]
    for machine in within:
        if machine.role == "client":
            raise ValueError(f"{machine.name} is a client, and cluster_address is of servers alone")
    beside = [m for m in machines if m.role in ("storage", "metadata") and m.login and m not in within]
    if within and beside:
        raise ValueError(
            f"{beside[0].name} has no cluster_address, but {within[0].name} has (all hosts with role storage "
            "or metadata have one, or none has)"
        )
    return machines


LabHosts = Annotated[
    tuple[LabHost, ...],
    BeforeValidator(one_table_each),
    AfterValidator(in_one_network),
    Field(min_length=1),
]


def is_nobodys(address: str) -> bool:
    """Return whether it is a documentation address, which belongs to nobody."""
    with contextlib.suppress(ValueError):
        return any(ipaddress.ip_address(address) in network for network in _NOBODYS)
    return False


def node_of(machine: LabHost) -> tuple[Hardware, Node] | None:
    """Return a host's node, if one is named."""
    return _node(machine.node)


def _node(written: str) -> tuple[Hardware, Node] | None:
    """Find "odroid-hc4/A". Raises CampaignError: it is not in the catalogue."""
    if not written:
        return None
    name, _, node_name = written.partition("/")
    hardware = catalogue.cluster(name)
    if node := next((node for node in hardware.nodes if node.name == node_name), None):
        return hardware, node
    names = [f"{name}/{node.name}" for node in hardware.nodes]
    near = next((candidate for candidate in names if candidate.lower() == written.lower()), "")
    advice = f'did you mean "{near}"?' if near else f"known: {', '.join(names)}"
    raise CampaignError(f'{name} has no node "{node_name}"', next=advice)


def hardware_of(nodes: Sequence[tuple[Hardware, Node] | None]) -> Hardware | None:
    """Return the catalogue's cluster to which all hosts belong, if there is one."""
    names = {node[0].name if node else "" for node in nodes}
    return nodes[0][0] if len(names) == 1 and nodes[0] else None
