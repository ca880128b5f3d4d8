"""A candidate written out as a campaign that measures it: on virtual hosts at a scale, or on real ones."""

from collections.abc import Iterator
from math import ceil
from textwrap import fill, indent
from typing import Any

import tomlkit

from perjoule import campaign, catalogue
from perjoule.model.errors import CampaignError
from perjoule.model.units import BYTES, MIB, exact_text
from perjoule.planning.answer import Answer, Row
from perjoule.planning.measures import IDLE, PEAK, READ, THROUGHPUT, WRITE

SHOWN = ("192.0.2", "198.51.100", "203.0.113")  # of documentation, RFC 5737
METER = "snmp_pdu"  # whose example stands for the meters of the reader
TRANSFER_BYTES = 4 * MIB
LOAD_S = {
    "virtual": 20.0,
    "real": 300.0,
}  # how long a load should last at the expected rate; pages of servers' memory don't hold the latter
_WIDTH = 120


def written(found: Answer, row: Row, scale: float | None) -> str:
    """Write a candidate as a campaign.

    Args:
        found: the answer that it belongs to.
        row: the candidate.
        scale: of virtual hosts; None writes one for real hosts, whose addresses the reader fills in.

    Raises:
        CampaignError: no cluster of the catalogue has its server, or the campaign would be invalid.
    """
    kind = "real" if scale is None else "virtual"
    document: dict[str, Any] = {
        "name": f"{found.question.need.name} {row.id}",
        "description": f"Candidate {row.id} of the plan for {found.question.need.name}: {row.text}. {' '.join(_expected(row))}",
        "clients": [found.question.need.clients_count],
        "repetitions": 5,
        "testbed": _real(found, row) if scale is None else _virtual(found, row, scale),
        "filesystem": [_filesystem(found, row)],
        "workload": [_workload(found, row, LOAD_S[kind])],
    }
    differences = list(_differences(found, row, kind))
    head = [f"Candidate {row.id}, written by `perjoule plan`.", *(f"- {one}" for one in differences)]
    text = "".join(f"{fill(line, _WIDTH, initial_indent='# ', subsequent_indent='#   ')}\n" for line in head)
    text += f"\n{tomlkit.dumps(document)}"
    if scale is None:
        text += f"\n{indent(campaign.example_text('meter', METER), '# ')}\n"
    campaign.parse(text, source=f"candidate {row.id}")
    return text


def _expected(row: Row) -> Iterator[str]:
    read, write, idle, peak = (one.text(row.values[one].value) for one in (READ, WRITE, IDLE, PEAK))
    yield f"Expected are {read} reading and {write} writing; planned are {idle} idle"
    yield f"and {peak} at the rates of the need, with the switch."


def _virtual(found: Answer, row: Row, scale: float) -> dict[str, Any]:
    cluster = found.question.parts.server[row.machine.server].cluster
    if not cluster:
        there = [name for name, one in found.question.parts.server.items() if one.cluster]
        what = f"no cluster of the catalogue has the server {row.machine.server}, so virtual hosts can't emulate it"
        raise CampaignError(what, where="--scale", next=f"remove --scale for real hosts, or plan with {' or '.join(there)}")
    return {"kind": "virtual", "cluster": cluster, "scale": scale, "servers": row.servers_count, "disk": "xfs"}


def _real(found: Answer, row: Row) -> dict[str, Any]:
    roles = ["storage"] * row.servers_count + ["metadata", "management"][: row.hosts_count - row.servers_count]
    roles += ["client"] * found.question.need.clients_count
    if len(roles) > len(SHOWN) * 254:
        raise CampaignError(f"{len(roles)} hosts are too many to list", where="--write", next="plan with fewer clients")
    hosts: Any = tomlkit.array().multiline(True)
    for n, role in enumerate(roles):
        host: Any = tomlkit.inline_table()
        host.update({"name": f"{role}-{roles[: n + 1].count(role)}", "address": f"{SHOWN[n // 254]}.{n % 254 + 1}", "role": role})
        hosts.append(host)
    return {"kind": "cluster", "user": "root", "hosts": hosts}


def _filesystem(found: Answer, row: Row) -> dict[str, Any]:
    counts = {"servers": row.servers_count, "drives": row.machine.drives_count}
    laid_out = {option: counts[what] for option, what in found.question.parts.filesystem[row.choice.filesystem].counts.items()}
    return {"kind": row.choice.filesystem, **row.choice.options, **laid_out}


def _workload(found: Answer, row: Row, load_s: float) -> dict[str, Any]:
    need = found.question.need
    fastest = max(row.values[one].value for one in (READ, WRITE))
    size_bytes = ceil(fastest * load_s / need.clients_count / TRANSFER_BYTES) * TRANSFER_BYTES
    rates = {"write": need.write_bytes_per_s, "read": need.read_bytes_per_s}
    return {
        "kind": "fio",
        "operation": [direction for direction, rate in rates.items() if rate is not None],
        "transfer": exact_text(TRANSFER_BYTES, BYTES),
        "size": exact_text(size_bytes, BYTES),
    }


def _differences(found: Answer, row: Row, kind: str) -> Iterator[str]:
    """Say what the campaign's hosts have instead of the candidate's, and what the reader has to fill in."""
    if kind == "real":
        yield "Replace the addresses, which are of documentation, by your hosts'; first read docs/how-to/real-hosts.md."
        yield "For the watts, replace the [[meter]] table at the end by those of your meters, without the # before their lines."
        yield "docs/how-to/meters.md has each meter's; `perjoule meters test` on this file says how good they are."
        return
    machine = row.machine
    cluster = catalogue.cluster(found.question.parts.server[machine.server].cluster)
    storage = next(node for node in cluster.nodes if node.role == "storage")
    disks = ", ".join(disk.name for disk in storage.disks)
    have = f"The virtual hosts have the disks of {cluster.name} ({disks})"
    yield f"{have}; the candidate has {machine.drives_count} x {machine.drive}."
    own, its = found.question.parts.network[machine.network].goodput.value, storage.board.nic_bytes_per_s.value
    if abs(own / its - 1) > 0.05:
        yield f"Their network has {THROUGHPUT.text(its)}; the candidate's has {THROUGHPUT.text(own)}."
    others = f"Beside {row.servers_count} storage hosts they have the other servers of {cluster.name}"
    yield f"{others}; the candidate has {row.hosts_count - row.servers_count}."
    yield "Watts are modelled from the catalogue's, not from the plan's."
