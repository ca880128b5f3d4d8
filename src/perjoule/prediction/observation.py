"""One measured point as prediction needs it: what the hosts could do, the load, and the result."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf

from pydantic import ValidationError

from perjoule import drivers
from perjoule.energy.hosts import data_hosts, hardware, loading
from perjoule.model import Direction, Flow, Point, Record, Redundancy, value_at
from perjoule.model.hardware import Cluster, Node
from perjoule.model.metrics import POWER, RATES
from perjoule.prediction.bounds import Fleet
from perjoule.prediction.power import Plant, plant
from perjoule.trial.reading import Reading

WAYS: tuple[Direction, ...] = ("write", "read")


@dataclass(frozen=True)
class Case:
    """A load on hosts: all that throughput depends on, but the file system."""

    direction: Direction
    redundancy: Redundancy
    flow: Flow  # of the direction
    fleet: Fleet
    client_bytes: float  # that each client moves
    # calls of each client; points of an earlier version have one, and don't say it
    in_flight_count: float = 1.0


@dataclass(frozen=True)
class Observation:
    """A direction of one valid trial; rates and watts in emulated time."""

    source: str  # id of the trial
    case: Case
    plant: Plant
    client_mips_s_per_byte: float  # CPU work of a user byte, all clients together
    server_mips_s_per_byte: float  # the same of all servers
    throughput_bytes_per_s: float  # until disks hold what was written
    mean_w: float | None  # of the servers, without the switch
    # bytes that the busiest data host sent (read) or received (write), over the mean
    busiest_ratio: float = 1.0


def observations(
    record: Record, points: tuple[Point, ...], busiest: Mapping[Direction, float]
) -> Iterator[Observation]:
    """Return what a trial says of its file system; nothing if the hardware, the layout or a counter is
    unknown.

    `busiest` are the bytes of the busiest data host over the mean, by direction.

    Only trials count in which the data were on servers, every client moved as much as the others, in order
    and as fast as it could, clients overlapped, and nothing was done to the file system meanwhile.
    """
    cluster, calls_count = hardware(record), _calls_count(record)
    redundancy, amplification, outcome = record.redundancy, record.amplification, record.outcome
    if cluster is None or redundancy is None or amplification is None or outcome is None:
        return
    # two networks, of which the bytes are counted together, have no bound of one
    if calls_count is None or record.events or value_at(record.facts, "testbed", "cluster_network"):
        return
    if _apart(record):
        return
    hosts = fleet(cluster, _held(record, cluster), clients_count=len(loading(record)), memory=_capped(record))
    for point in points:
        sizes = {r.moved_bytes for r in outcome.results if r.direction == point.direction}
        works = _works_mips_s_per_byte(record, cluster, point)
        rate = point.metrics.get(RATES[0])
        if point.direction not in WAYS or len(sizes) != 1 or point.direction not in busiest:
            continue
        if works is None or hosts is None or rate is None:
            continue
        flow = amplification.write if point.direction == "write" else amplification.read
        yield Observation(
            source=record.trial.id,
            case=Case(point.direction, redundancy, flow, hosts, float(sizes.pop()), float(calls_count)),
            plant=plant(cluster, _counts(record)),
            client_mips_s_per_byte=works[0],
            server_mips_s_per_byte=works[1],
            throughput_bytes_per_s=rate,
            mean_w=point.metrics.get(POWER),
            busiest_ratio=busiest[point.direction],
        )


def fleet(cluster: Cluster, held: Mapping[str, int], *, clients_count: int, memory: bool) -> Fleet | None:
    """Return what data hosts and clients can do, the slowest of each role for all: shares of the work are
    equal.

    Args:
        cluster: the hardware.
        held: data hosts by the name of their node.
        clients_count: clients that load.
        memory: whether servers have the memory of their boards, and not as much as any load needs.
    """
    servers = [node for node in cluster.nodes if node.name in held and node.role != "client"]
    client = next((node for node in cluster.nodes if node.role == "client"), None)
    if client is None or sum(node.count > 0 for node in servers) < len(held) or not servers:
        return None
    return Fleet(
        servers_count=float(sum(held.values())),
        server_network_bytes_per_s=min(node.board.nic_bytes_per_s.value for node in servers),
        server_mips=min(node.board.mips.value for node in servers),
        disk_read_bytes_per_s=min(
            sum(disk.read_bytes_per_s.value for disk in node.disks) for node in servers
        ),
        disk_write_bytes_per_s=min(
            sum(disk.write_bytes_per_s.value for disk in node.disks) for node in servers
        ),
        clients_count=float(clients_count),
        client_network_bytes_per_s=client.board.nic_bytes_per_s.value,
        client_mips=client.board.mips.value,
        server_memory_bytes=min(
            b.value if memory and (b := node.board.memory_bytes) else inf for node in servers
        ),
    )


def _capped(record: Record) -> bool:
    """Whether hosts have the memory of their boards: real ones, and virtual ones if it is capped."""
    testbed = record.trial.testbed.options
    return record.traits.reality == "real" or testbed.get("memory_cap") is True


def _calls_count(record: Record) -> int | None:
    """Return how many calls a client has in flight, as its load says; None if it is one of which a
    prediction can't learn.
    """
    used = record.trial.workload
    if used.kind not in drivers.kinds("workloads"):
        return None
    try:
        return drivers.workload(used).streaming_calls_count
    except ValidationError:  # options of another release, or of a program whose output was imported
        return None


def _apart(record: Record) -> bool:
    """Return whether all bytes pass hosts without data: stations of their own, which the law lacks."""
    gateways = value_at(record.facts, "filesystem", "gateways")
    return isinstance(gateways, list) and not data_hosts(record).issuperset(map(str, gateways))


def _counts(record: Record) -> Mapping[str, int]:
    """Count the hosts of each node that are not clients."""
    nodes = [host.node for host in record.hosts if host.role != "client"]
    return {node: nodes.count(node) for node in nodes}


def _held(record: Record, cluster: Cluster) -> Mapping[str, int]:
    holders = data_hosts(record)
    nodes = [host.node for host in record.hosts if host.name in holders]
    known = {node.name for node in cluster.nodes}
    return {node: nodes.count(node) for node in nodes} if set(nodes) <= known else {"": 0}


def _works_mips_s_per_byte(record: Record, cluster: Cluster, point: Point) -> tuple[float, float] | None:
    """Return the CPU work of clients and of servers for a user byte; None where a counter or a capacity is
    unknown.

    A host's second of CPU time is worth its board's rating x scale / capacity in cores.
    """
    nodes: Mapping[str, Node] = {node.name: node for node in cluster.nodes}
    found, emulated = list[float](), Reading(record).dilation.emulated
    for role in ("client", "servers"):
        hosts = [
            host
            for host in record.hosts
            if (host.role == "client") == (role == "client") and host.node in nodes
        ]
        boards = [(nodes[host.node].board, host.cpu_capacity_cores) for host in hosts]
        rates = {emulated(board.mips.value) / cores for board, cores in boards if cores}
        spent = point.metrics.get(f"cpu_{role}_s_per_byte")
        # seconds of unlike hosts can't be added up
        if spent is None or not rates or max(rates) > 1.001 * min(rates):
            return None
        found.append(spent * max(rates))
    return found[0], found[1]
