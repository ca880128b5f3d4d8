"""A candidate written out as a campaign that measures it: on virtual hosts at a scale, or on real ones."""

from collections.abc import Iterator
from math import ceil
from textwrap import fill, indent
from typing import Any

import tomlkit

from perjoule import campaign, catalogue
from perjoule.model.errors import CampaignError
from perjoule.model.hardware import Node
from perjoule.model.units import BYTES, MIB, exact_text
from perjoule.planning.answer import Answer, Row
from perjoule.planning.measures import IDLE, PEAK, READ, THROUGHPUT, WRITE
from perjoule.planning.parts import emulated, of_server, stand_in

SHOWN = ("192.0.2", "198.51.100", "203.0.113")  # of documentation, RFC 5737
METER = "snmp_pdu"  # whose example stands for the meters of the reader
TRANSFER_BYTES = 4 * MIB
LOAD_S = {
    "virtual": 20.0,
    "real": 300.0,
}  # how long a load should last at the expected rate; pages of servers' memory don't hold the latter
SAME_RATIO = 0.01  # speeds that are as near as this are the same
# of a virtual host's disk by default, and its size over an equal share of the data
DISK_GIB_COUNT, FREE_RATIO = 8, 2.0
MOST_RATIO = 100.0  # of a virtual host's speed over the catalogue's
_WIDTH = 120


def written(answer: Answer, row: Row, scale: float | None) -> str:
    """Write a candidate as a campaign.

    Args:
        answer: the answer that it belongs to.
        row: the candidate.
        scale: of virtual hosts; None writes one for real hosts, whose addresses the reader fills in.

    Raises:
        CampaignError: no cluster of the catalogue has its server, or the campaign would be invalid.
    """
    kind = "real" if scale is None else "virtual"
    document: dict[str, Any] = {
        "name": f"{answer.question.need.name} {row.id}",
        "description": f"Candidate {row.id} of the plan for {answer.question.need.name}: {row.text}. {' '.join(_expected(row))}",
        "clients": [answer.question.need.clients_count],
        "repetitions": 5,
        "testbed": _real(answer, row)
        if scale is None
        else _virtual(answer, row, scale, _storage(answer, row)),
        "filesystem": [_filesystem(answer, row)],
        "workload": [_workload(answer, row, LOAD_S[kind])],
    }
    differences = list(_differences(answer, row, kind))
    head = [
        f"Candidate {row.id}, written by `perjoule plan`.",
        *(f"- {difference}" for difference in differences),
    ]
    text = "".join(f"{fill(line, _WIDTH, initial_indent='# ', subsequent_indent='#   ')}\n" for line in head)
    text += f"\n{tomlkit.dumps(document)}"
    if scale is None:
        text += f"\n{indent(campaign.example_text('meter', METER), '# ')}\n"
    campaign.parse(text, source=f"candidate {row.id}")
    return text


def _expected(row: Row) -> Iterator[str]:
    read, write, idle, peak = (
        measure.text(row.values[measure].value) for measure in (READ, WRITE, IDLE, PEAK)
    )
    yield f"Expected are {read} reading and {write} writing; planned are {idle} idle"
    yield f"and {peak} at the rates of the need, with the switch."


def _cluster(answer: Answer, row: Row) -> str:
    """Name the cluster that emulates a candidate; "" for none."""
    return stand_in(row.machine.server, answer.question.parts.server[row.machine.server])


def _storage(answer: Answer, row: Row) -> Node:
    """Return the storage host of the cluster that emulates a candidate.

    Raises CampaignError: its server names none.
    """
    server = row.machine.server
    if not (cluster := _cluster(answer, row)):
        fault = (
            f"no cluster of the catalogue stands for the server {server}, so virtual hosts can't emulate it"
        )
        cluster_choices = " or ".join(emulated())
        advice = f'add cluster = "CLUSTER" to [server.{server}] ({cluster_choices}), or remove --scale for real hosts'
        raise CampaignError(fault, where="--scale", next=advice)
    return next(node for node in catalogue.cluster(cluster).nodes if node.role == "storage")


def _virtual(answer: Answer, row: Row, scale: float, storage: Node) -> dict[str, Any]:
    hosts = {
        "kind": "virtual",
        "cluster": _cluster(answer, row),
        "scale": scale,
        "servers": row.servers_count,
        "disk": "xfs",
    }
    made_bytes = _size_bytes(answer, row, LOAD_S["virtual"]) * answer.question.need.clients_count
    each_bytes = made_bytes * row.choice.amplification.write.disk_written_ratio / row.servers_count
    gib_count = ceil(FREE_RATIO * each_bytes / BYTES["GiB"])
    disk = {"disk_size": f"{gib_count} GiB"} if gib_count > DISK_GIB_COUNT else {}
    return {**hosts, **disk, **_speeds(answer, row, storage)}


def _speeds(answer: Answer, row: Row, storage: Node) -> dict[str, float]:
    """Return the options with which the servers of a cluster are as fast as the candidate's."""
    parts, machine = answer.question.parts, row.machine
    server, drive, board = parts.server[machine.server], parts.drive[machine.drive], storage.board
    pairs = {
        "server_cpu": (server.mips.value, board.mips.value),
        "server_network": (parts.network[machine.network].goodput.value, board.nic_bytes_per_s.value),
        "server_disk": (
            _disks(answer, row, drive.write.value),
            sum(disk.write_bytes_per_s.value for disk in storage.disks),
        ),
    }
    ratios = {option: float(f"{planned / its:.4g}") for option, (planned, its) in pairs.items()}
    far = {option: ratio for option, ratio in ratios.items() if abs(ratio - 1) > SAME_RATIO}
    for option, ratio in far.items():
        if ratio > MOST_RATIO:
            fault = (
                f"{option} = {ratio:g}: the cluster that stands for the server {machine.server} is too slow"
            )
            raise CampaignError(
                fault,
                where="--scale",
                next=f"name a faster one in [server.{machine.server}], or remove --scale",
            )
    return far


def _disks(answer: Answer, row: Row, each_bytes_per_s: float) -> float:
    """Return the rate of all disks of a server, behind its port."""
    port = of_server(answer.question.parts.server[row.machine.server])["port"]
    return min(row.machine.drives_count * each_bytes_per_s, port.value)


def _real(answer: Answer, row: Row) -> dict[str, Any]:
    roles = ["storage"] * row.servers_count + ["metadata", "management"][
        : row.hosts_count - row.servers_count
    ]
    roles += ["client"] * answer.question.need.clients_count
    if len(roles) > len(SHOWN) * 254:
        raise CampaignError(
            f"{len(roles)} hosts are too many to list", where="--write", next="plan with fewer clients"
        )
    hosts: Any = tomlkit.array().multiline(True)
    for n, role in enumerate(roles):
        host: Any = tomlkit.inline_table()
        host.update(
            {
                "name": f"{role}-{roles[: n + 1].count(role)}",
                "address": f"{SHOWN[n // 254]}.{n % 254 + 1}",
                "role": role,
            }
        )
        hosts.append(host)
    return {"kind": "cluster", "user": "root", "hosts": hosts}


def _filesystem(answer: Answer, row: Row) -> dict[str, Any]:
    counts = {"servers": row.servers_count, "drives": row.machine.drives_count}
    laid_out = {
        option: counts[counted]
        for option, counted in answer.question.parts.filesystem[row.choice.filesystem].counts.items()
    }
    return {"kind": row.choice.filesystem, **row.choice.options, **laid_out}


def _workload(answer: Answer, row: Row, load_s: float) -> dict[str, Any]:
    need = answer.question.need
    rates = {"write": need.write_bytes_per_s, "read": need.read_bytes_per_s}
    return {
        "kind": "fio",
        "operation": [direction for direction, rate in rates.items() if rate is not None],
        "transfer": exact_text(TRANSFER_BYTES, BYTES),
        "size": exact_text(_size_bytes(answer, row, load_s), BYTES),
    }


def _size_bytes(answer: Answer, row: Row, load_s: float) -> int:
    """Return what each client moves: whole transfers, for as long as a load should last at the higher
    rate.
    """
    fastest = max(row.values[measure].value for measure in (READ, WRITE))
    return ceil(fastest * load_s / answer.question.need.clients_count / TRANSFER_BYTES) * TRANSFER_BYTES


def _differences(answer: Answer, row: Row, kind: str) -> Iterator[str]:
    """Say what the campaign's hosts have instead of the candidate's, and what the reader has to fill in."""
    machine = row.machine
    disks = f"{machine.drives_count} x {machine.drive}"
    if kind == "real":
        yield (
            "Replace the addresses, which are of documentation, by your hosts'; first read "
            "`perjoule docs real-hosts`."
        )
        yield (
            "Storage hosts keep the data below /var/tmp/perjoule: set `work` in [testbed] to a folder on "
            f"the {disks} of each."
        )
        yield (
            "For the watts, replace the [[meter]] table at the end by those of your meters, without the # "
            "before their lines."
        )
        yield (
            "`perjoule docs meters` has each meter's; `perjoule meters test` on this file says how good they "
            "are."
        )
        return
    storage, need = _storage(answer, row), answer.question.need
    drive, cluster = answer.question.parts.drive[machine.drive], catalogue.cluster(_cluster(answer, row))
    disk_names = ", ".join(disk.name for disk in storage.disks)
    hosts = f"The virtual hosts are those of {cluster.name} ({storage.board.name} with {disk_names})"
    speed = f"{machine.server} with {disks}: CPUs by their ratings, disks by their rates of writing"
    yield f"{hosts} at the speed of the candidate's {speed}."
    speeds = _speeds(answer, row, storage)
    reads = sum(disk.read_bytes_per_s.value for disk in storage.disks) * speeds.get("server_disk", 1.0)
    if abs(reads / (candidate_reads := _disks(answer, row, drive.read.value)) - 1) > 0.05:
        yield f"Their disks read {THROUGHPUT.text(reads)}; the candidate's read {THROUGHPUT.text(candidate_reads)}."
    other_boards = {node.board.name for node in cluster.nodes if node.role == "storage"} - {
        storage.board.name
    }
    if other_boards and row.servers_count > storage.count:
        yield (
            f"Storage hosts after the first {storage.count} are other boards of {cluster.name}: "
            f"{', '.join(sorted(other_boards))}."
        )
    client = next(node.board.nic_bytes_per_s.value for node in cluster.nodes if node.role == "client")
    if abs(client / need.client_network_bytes_per_s - 1) > 0.05:
        theirs = THROUGHPUT.text(need.client_network_bytes_per_s)
        yield (
            f"Their clients have a network of {THROUGHPUT.text(client)}; the need's, whose rates are "
            f"expected, have {theirs}."
        )
    beside = f"Beside {row.servers_count} storage hosts they have the other servers of {cluster.name}"
    yield f"{beside}; the candidate has {row.hosts_count - row.servers_count}."
    yield "Watts are modelled from the catalogue's, not from the plan's."
