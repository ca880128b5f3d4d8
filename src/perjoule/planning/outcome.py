"""What a candidate does and costs in one state of the world, or in many at once. docs/how-to/plan.md has
every formula.

All arrays of one call have shapes that broadcast: machines (m, 1) and counts (1, c) for an enumeration, or
both (n,) with many states of the world (k, quantities).
"""

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from typing import NamedTuple

import numpy as np

from perjoule.model import Flow
from perjoule.planning import measures
from perjoule.planning.candidates import Choice, Of, Pace, Space, Switches
from perjoule.planning.measures import Measure
from perjoule.planning.need import DAY_S, YEAR_S, Need
from perjoule.planning.quantities import Bools, Floats, Ints
from perjoule.prediction import Demand, Fleet, times_s_per_byte

FILE_BYTES = 1024**3  # that each client moves
EXACT = 1e-12  # by which floats of one number may differ

# of many candidates; energies are at the wall, with the switch, over all years of the need
Outcome = dict[Measure, Floats]


class Columns(NamedTuple):
    """The machines of a space as columns: positions of their quantities, and exact numbers."""

    at: Of[Ints]
    drives_count: Ints
    capacity_bytes: Floats
    price_tb: Floats
    embodied_tb: Floats
    rack_units: Floats
    cores_count: Floats
    network: Ints  # in the order of the space's switches

    def of(self, machines: Ints) -> "Columns":
        """The columns of these machines, in the shape of their numbers."""
        per_machine = (
            self.drives_count[machines],
            self.capacity_bytes[machines],
            self.price_tb[machines],
            self.embodied_tb[machines],
        )
        return Columns(
            Of(*(column[machines] for column in self.at)),
            *per_machine,
            self.rack_units[machines],
            self.cores_count[machines],
            self.network[machines],
        )

    def values(self, world: Floats) -> Of[Floats]:
        """Their quantities in a state of the world, or in many, which come first."""
        return Of(*(world[..., positions] for positions in self.at))


def columns(space: Space) -> Columns:
    """Lay the machines of a space out as columns."""
    machines, networks = space.machines, list(space.switches)
    return Columns(
        Of(*np.array([machine.at for machine in machines]).T),
        np.array([machine.drives_count for machine in machines]),
        np.array([machine.capacity_bytes for machine in machines]),
        np.array([machine.capacity_tb for machine in machines]),
        np.array([machine.embodied_tb for machine in machines]),
        np.array([machine.rack_units for machine in machines]),
        np.array([machine.cores_count for machine in machines]),
        np.array([networks.index(machine.network) for machine in machines]),
    )


def fits(choice: Choice, drives_count: Ints, servers_count: Ints) -> Bools:
    """Return which candidates can hold a redundancy: enough servers, and whole groups of bricks where it
    needs them.
    """
    enough = servers_count >= choice.least_servers_count
    if not choice.whole_groups:
        return np.broadcast_to(enough, np.broadcast_shapes(drives_count.shape, servers_count.shape))
    group_count = (choice.redundancy.data_count or 1) + choice.redundancy.tolerated_count
    return enough & (drives_count * servers_count % group_count == 0)


def demands(choice: Choice, world: Floats) -> tuple[Demand, Demand]:
    """Return the work of a user byte that is read, and of one that is written.

    CPU work goes with the bytes at the disks.
    """
    reading, writing = choice.amplification.read, choice.amplification.write
    return (
        Demand(reading, 0.0, world[..., choice.reading.cpu] * reading.disk_read_ratio),
        Demand(writing, 0.0, world[..., choice.writing.cpu] * writing.disk_written_ratio),
    )


def pressing(pace: Pace, demand: Demand) -> Demand:
    """Return the work of a user byte without the CPU work that, by the file system's profile, holds no
    data up.
    """
    ratio = pace.law.way.cpu_ratio if pace.law else 1.0
    return replace(demand, server_mips_s_per_byte=ratio * np.asarray(demand.server_mips_s_per_byte))


def served_s_per_byte(
    pace: Pace, demand: Demand, hardware: Fleet, clients_count: float, world: Floats
) -> Floats:
    """Return the seconds that the servers need for a user byte: by the law of the file system's profile, or
    by its bound.

    However wrong the law may be, no resource does more than it can.
    """
    times = times_s_per_byte(pressing(pace, demand), hardware)
    least_s = np.maximum(np.maximum(times["server network"], times["server CPU"]), times["disks"])
    if pace.law is None:
        return least_s / world[..., pace.reached]
    with_clients = replace(hardware, clients_count=clients_count)
    law_s_per_byte = pace.law.served_s_per_byte(demand, with_clients, FILE_BYTES, world[..., pace.at_once])
    return np.maximum(least_s, law_s_per_byte / world[..., pace.reached])


def fleet(need: Need, drives_count: Ints, quantities: Of[Floats], servers_count: Ints) -> Fleet:
    """Return the hardware of candidates. The work of the clients' CPUs is left out."""
    return Fleet(
        servers_count=servers_count.astype(np.float64),
        server_network_bytes_per_s=quantities.goodput,
        server_mips=quantities.mips,
        disk_read_bytes_per_s=np.minimum(drives_count * quantities.drive_read, quantities.port),
        disk_write_bytes_per_s=np.minimum(drives_count * quantities.drive_write, quantities.port),
        clients_count=float(need.clients_count),
        client_network_bytes_per_s=need.client_network_bytes_per_s,
        client_mips=1.0,
    )


def outcome(
    space: Space, need: Need, choice: Choice, machines: Columns, servers_count: Ints, world: Floats
) -> Outcome:
    """Compute candidates of one choice.

    Args:
        space: what is enumerated.
        need: rates, times, years.
        choice: the file system and its redundancy.
        machines: those of the candidates.
        servers_count: their servers with data.
        world: a state of the world, shape (quantities,), or many, shape (draws, quantities), which come first
            in the result.
    """
    quantities = machines.values(world)
    hosts_count = servers_count + choice.further_hosts_count
    disks_count = servers_count * machines.drives_count
    drive_idle_w = quantities.drive_idle * quantities.drive_idle_ratio
    drive_reading_w = quantities.drive_active * quantities.drive_active_ratio
    drive_writing_w = quantities.drive_writing * quantities.drive_writing_ratio
    switch_w, switch_usd, switch_kg, switch_rack_units = _switching(space, machines, hosts_count, world)

    server_w = quantities.idle + quantities.supply_no_load + quantities.card / quantities.supply_efficiency
    idle_w = need.pue * (
        hosts_count * server_w + disks_count * drive_idle_w / quantities.supply_efficiency + switch_w
    )
    shared = _column(world, idle_w)

    hardware = fleet(need, machines.drives_count, quantities, servers_count)
    needed_count = max(
        _clients_count(need, choice.amplification.read, need.read_bytes_per_s),
        _clients_count(need, choice.amplification.write, need.write_bytes_per_s),
    )
    clients_count = float(max(need.clients_count, ceil(needed_count * (1 - EXACT))))
    rates: list[Floats] = []
    served: list[Floats] = []  # rates that the servers reach for as many clients as it takes
    loads_w: list[Floats] = []
    reading, writing = demands(choice, shared)
    for pace, demand, needed_bytes_per_s, disk_bytes_per_s, drive_active_w in (
        (choice.reading, reading, need.read_bytes_per_s, quantities.drive_read, drive_reading_w),
        (choice.writing, writing, need.write_bytes_per_s, quantities.drive_write, drive_writing_w),
    ):
        times = times_s_per_byte(demand, hardware)
        rate, client_s = needed_bytes_per_s or 0.0, float(times["client network"])
        server_s = served_s_per_byte(pace, demand, hardware, clients_count, shared)
        served.append(1 / server_s)
        rates.append(1 / np.maximum(server_s, client_s))
        disk_use = rate * _at_disks(demand.flow) / (disks_count * disk_bytes_per_s)
        cpu_use = np.minimum(1, rate * times["server CPU"])
        cpu_w = servers_count * quantities.dynamic * cpu_use
        cpu_step_w = np.minimum(quantities.step, quantities.dynamic)
        if quantities.step.any():
            awake = np.minimum(1, machines.cores_count * cpu_use)
            cpu_w = cpu_w + servers_count * cpu_step_w * (awake - cpu_use)
        if quantities.bend.any():
            bend_w = np.minimum(quantities.bend, quantities.dynamic - cpu_step_w)
            cpu_w = cpu_w + servers_count * bend_w * (cpu_use**3 - cpu_use)
        disk_more_w = np.maximum(0, drive_active_w - drive_idle_w)
        disk_w = disks_count * disk_more_w / quantities.supply_efficiency * np.minimum(1, disk_use)
        if rate and quantities.drive_step.any():
            step_w = np.minimum(quantities.drive_step, disk_more_w)
            disk_w = disk_w + disks_count * step_w / quantities.supply_efficiency * (
                1 - np.minimum(1, disk_use)
            )
        loads_w.append(need.pue * (cpu_w + disk_w))

    idle_j = idle_w * need.years * YEAR_S
    busy_days = need.years * YEAR_S / DAY_S
    energy_j = idle_j + busy_days * (loads_w[0] * need.day.read_s + loads_w[1] * need.day.write_s)
    drive_usd = machines.price_tb * quantities.drive_price
    drive_kg = machines.embodied_tb * quantities.drive_embodied
    purchase_usd = (
        hosts_count * (quantities.price + quantities.card_price) + disks_count * drive_usd + switch_usd
    )
    embodied_kg = (
        hosts_count * (quantities.embodied + quantities.card_embodied) + disks_count * drive_kg + switch_kg
    )
    return {
        measures.READ: rates[0],
        measures.WRITE: rates[1],
        measures.SERVERS_READ: served[0],
        measures.SERVERS_WRITE: served[1],
        measures.CLIENTS: np.asarray(needed_count),
        measures.THROUGHPUT: _mixed(need, *rates),
        measures.CAPACITY: servers_count
        * machines.capacity_bytes
        * need.fill_ratio
        / choice.amplification.write.disk_written_ratio,
        measures.LOSSES: _losses_per_year(
            space, need, choice, machines, servers_count, quantities.drive_write, shared
        ),
        measures.RACK_UNITS: hosts_count * machines.rack_units + switch_rack_units,
        measures.IDLE: idle_w,
        measures.PEAK: idle_w + np.maximum(*loads_w),
        measures.ENERGY: energy_j,
        measures.IDLE_ENERGY: idle_j,
        measures.PURCHASE: purchase_usd,
        measures.MONEY: purchase_usd + energy_j * shared[..., space.electricity],
        measures.EMBODIED: embodied_kg,
        measures.CARBON: embodied_kg + energy_j * shared[..., space.grid],
    }


def _clients_count(need: Need, flow: Flow, bytes_per_s: float | None) -> float:
    """Return how many clients it takes until their networks let a rate through."""
    return (
        (bytes_per_s or 0.0)
        * max(flow.client_sent_ratio, flow.client_received_ratio)
        / need.client_network_bytes_per_s
    )


def _column(world: Floats, like: Floats) -> Floats:
    """Return states of the world such that one quantity of them broadcasts against candidates."""
    return (
        world if world.ndim == 1 else world.reshape(world.shape[0], *[1] * (like.ndim - 1), world.shape[-1])
    )


def _at_disks(flow: Flow) -> float:
    return flow.disk_read_ratio + flow.disk_written_ratio


def _mixed(need: Need, read_bytes_per_s: Floats, write_bytes_per_s: Floats) -> Floats:
    """Return the need's bytes of a day, or of its rates where it has no times, over the time that they
    take at full speed.
    """
    read_bytes, written_bytes = need.read_per_day_bytes, need.written_per_day_bytes
    if not read_bytes + written_bytes:
        read_bytes, written_bytes = need.read_bytes_per_s or 0.0, need.write_bytes_per_s or 0.0
    return (read_bytes + written_bytes) / (read_bytes / read_bytes_per_s + written_bytes / write_bytes_per_s)


def _losses_per_year(
    space: Space,
    need: Need,
    choice: Choice,
    machines: Columns,
    servers_count: Ints,
    write_bytes_per_s: Floats,
    shared: Floats,
) -> Floats:
    """Return how often a year data are lost because disks fail, each before the data of those before are made
    again.

    An upper bound for independent failures: any such disks of different servers are taken to hold parts of
    the same data.
    """
    drive_bytes = machines.capacity_bytes / machines.drives_count * need.fill_ratio
    disks_count, others_count = (
        servers_count * machines.drives_count,
        (servers_count - 1) * machines.drives_count,
    )
    failing, rebuild = shared[..., space.disks_per_year], shared[..., space.rebuild]
    rebuilding_years = drive_bytes / (rebuild * write_bytes_per_s) / YEAR_S
    losses_per_year = disks_count * failing
    for further in range(1, choice.redundancy.tolerated_count + 1):
        losses_per_year = losses_per_year * others_count * failing * rebuilding_years / further
    return losses_per_year


def _switching(
    space: Space, machines: Columns, hosts_count: Ints, world: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return watts, price, carbon and rack units of the switches of candidates."""
    each = space.switches.values()

    def looked_up(of: Callable[[Switches], Ints]) -> Floats:
        table = np.stack([of(switches)[switches.choice] for switches in each])
        return world[..., table[machines.network, hosts_count]]

    count = np.stack([switches.count for switches in each])[machines.network, hosts_count]
    rack_units = np.stack([switches.rack_units[switches.choice] for switches in each])[
        machines.network, hosts_count
    ]
    watts, price, embodied = (
        looked_up(lambda of: of.watts),
        looked_up(lambda of: of.price),
        looked_up(lambda of: of.embodied),
    )
    return count * watts, count * price, count * embodied, count * rack_units
