"""What a candidate does and costs in one state of the world, or in many at once. docs/how-to/plan.md has every formula.

All arrays of one call have shapes that broadcast: machines (m, 1) and counts (1, c) for an enumeration, or both (n,) with many
states of the world (k, quantities).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from perjoule.model import Flow
from perjoule.planning.candidates import Choice, Space
from perjoule.planning.need import DAY_S, YEAR_S, Need
from perjoule.planning.quantities import Bools, Floats, Ints
from perjoule.prediction import Demand, Fleet, times_s_per_byte

OBJECTIVES = ("energy_j", "money_usd", "carbon_kg", "throughput_bytes_per_s")  # the last is better the higher it is


@dataclass(frozen=True)
class Outcome:
    """Of many candidates. Energies are at the wall, with the switch, over all years of the need."""

    read_bytes_per_s: Floats  # the most that could be read, sustained
    write_bytes_per_s: Floats
    throughput_bytes_per_s: Floats  # of the need's mix of both
    capacity_bytes: Floats  # of user data
    losses_per_year: Floats  # of data, at most
    rack_units: Floats
    idle_w: Floats
    peak_w: Floats  # at the rates of the need
    energy_j: Floats
    idle_j: Floats
    purchase_usd: Floats
    money_usd: Floats
    embodied_kg: Floats
    carbon_kg: Floats


@dataclass(frozen=True)
class Columns:
    """The machines of a space as columns: positions of their quantities, and exact numbers."""

    at: Mapping[str, Ints]
    drives_count: Ints
    capacity_bytes: Floats
    price_tb: Floats
    embodied_tb: Floats
    rack_units: Floats
    network: Ints  # into `networks`
    networks: tuple[str, ...]

    def of(self, machines: Ints) -> "Columns":
        """The columns of these machines, in the shape of their numbers."""
        picked = {key: getattr(self, key)[machines] for key in ("drives_count", "capacity_bytes", "price_tb", "embodied_tb")}
        at = {key: positions[machines] for key, positions in self.at.items()}
        return Columns(at, **picked, rack_units=self.rack_units[machines], network=self.network[machines], networks=self.networks)


def columns(space: Space) -> Columns:
    """Lay the machines of a space out as columns."""
    networks = tuple(space.switches)
    return Columns(
        {key: np.array([machine.at[key] for machine in space.machines]) for key in space.machines[0].at},
        np.array([machine.drives_count for machine in space.machines]),
        np.array([machine.capacity_bytes for machine in space.machines]),
        np.array([machine.capacity_tb for machine in space.machines]),
        np.array([machine.embodied_tb for machine in space.machines]),
        np.array([machine.rack_units for machine in space.machines]),
        np.array([networks.index(machine.network) for machine in space.machines]),
        networks,
    )


def fits(choice: Choice, drives_count: Ints, servers_count: Ints) -> Bools:
    """Return which candidates can hold a redundancy: enough servers, and whole groups of bricks where it needs them."""
    enough = servers_count >= choice.least_servers_count
    if not choice.whole_groups:
        return np.broadcast_to(enough, np.broadcast_shapes(drives_count.shape, servers_count.shape))
    group_count = (choice.redundancy.data_count or 1) + choice.redundancy.tolerated_count
    return enough & (drives_count * servers_count % group_count == 0)


def demands(choice: Choice, world: Floats) -> tuple[Demand, Demand]:
    """Return the work of a user byte that is read, and of one that is written. CPU work goes with the bytes at the disks."""
    reading, writing = choice.amplification.read, choice.amplification.write
    return (
        Demand(reading, 0.0, world[..., choice.read_cpu] * reading.disk_read_ratio),
        Demand(writing, 0.0, world[..., choice.write_cpu] * writing.disk_written_ratio),
    )


def fleet(need: Need, there: Columns, servers_count: Ints, world: Floats) -> Fleet:
    """Return the hardware of candidates. The work of the clients' CPUs is left out."""
    at, port = there.at, world[..., there.at["port"]]
    return Fleet(
        servers_count=servers_count.astype(np.float64),
        server_network_bytes_per_s=world[..., at["goodput"]],
        server_mips=world[..., at["mips"]],
        disk_read_bytes_per_s=np.minimum(there.drives_count * world[..., at["drive_read"]], port),
        disk_write_bytes_per_s=np.minimum(there.drives_count * world[..., at["drive_write"]], port),
        clients_count=float(need.clients_count),
        client_network_bytes_per_s=need.client_network_bytes_per_s,
        client_mips=1.0,
    )


def outcome(space: Space, need: Need, choice: Choice, there: Columns, servers_count: Ints, world: Floats) -> Outcome:
    """Compute candidates of one choice.

    Args:
        space: what is enumerated.
        need: rates, times, years.
        choice: the file system and its redundancy.
        there: their machines.
        servers_count: their servers with data.
        world: a state of the world, shape (quantities,), or many, shape (draws, quantities), which come first in the result.
    """
    at = there.at
    hosts_count = servers_count + choice.further_hosts_count
    disks_count = servers_count * there.drives_count
    efficiency = world[..., at["supply_efficiency"]]
    drive_idle_w = world[..., at["drive_idle"]] * world[..., at["drive_idle_ratio"]]
    drive_active_w = world[..., at["drive_active"]] * world[..., at["drive_active_ratio"]]
    switch_w, switch_usd, switch_kg, switch_rack_units = _switching(space, there, hosts_count, world)

    server_w = world[..., at["idle"]] + world[..., at["card"]] / efficiency
    idle_w = need.pue * (hosts_count * server_w + disks_count * drive_idle_w / efficiency + switch_w)

    hardware = fleet(need, there, servers_count, world)
    rates: list[Floats] = []
    loads_w: list[Floats] = []
    for demand, asked, key in zip(
        demands(choice, _column(world, idle_w)), (need.read_bytes_per_s, need.write_bytes_per_s), ("read", "write"), strict=True
    ):
        times = times_s_per_byte(demand, hardware)
        rates.append(1 / np.maximum.reduce(np.broadcast_arrays(*times.values())))
        rate = asked or 0.0
        disk_use = rate * _at_disks(demand.flow) / (disks_count * world[..., at[f"drive_{key}"]])
        cpu_w = servers_count * world[..., at["dynamic"]] * np.minimum(1, rate * times["server CPU"])
        disk_w = disks_count * np.maximum(0, drive_active_w - drive_idle_w) / efficiency * np.minimum(1, disk_use)
        loads_w.append(need.pue * (cpu_w + disk_w))

    idle_j = idle_w * need.years * YEAR_S
    busy_days = need.years * YEAR_S / DAY_S
    energy_j = idle_j + busy_days * (loads_w[0] * need.day.read_s + loads_w[1] * need.day.write_s)
    drive_usd = there.price_tb * world[..., at["drive_price"]]
    drive_kg = there.embodied_tb * world[..., at["drive_embodied"]]
    purchase_usd = hosts_count * (world[..., at["price"]] + world[..., at["card_price"]]) + disks_count * drive_usd + switch_usd
    embodied_kg = (
        hosts_count * (world[..., at["embodied"]] + world[..., at["card_embodied"]]) + disks_count * drive_kg + switch_kg
    )
    return Outcome(
        read_bytes_per_s=rates[0],
        write_bytes_per_s=rates[1],
        throughput_bytes_per_s=_mixed(need, *rates),
        capacity_bytes=servers_count * there.capacity_bytes * need.fill_ratio / choice.amplification.write.disk_written_ratio,
        losses_per_year=_losses_per_year(space, need, choice, there, servers_count, world),
        rack_units=hosts_count * there.rack_units + switch_rack_units,
        idle_w=idle_w,
        peak_w=idle_w + np.maximum(*loads_w),
        energy_j=energy_j,
        idle_j=idle_j,
        purchase_usd=purchase_usd,
        money_usd=purchase_usd + energy_j * _column(world, idle_w)[..., space.electricity],
        embodied_kg=embodied_kg,
        carbon_kg=embodied_kg + energy_j * _column(world, idle_w)[..., space.grid],
    )


def _column(world: Floats, like: Floats) -> Floats:
    """Return states of the world such that one quantity of them broadcasts against candidates."""
    return world if world.ndim == 1 else world.reshape(world.shape[0], *[1] * (like.ndim - 1), world.shape[-1])


def _at_disks(flow: Flow) -> float:
    return flow.disk_read_ratio + flow.disk_written_ratio


def _mixed(need: Need, read_bytes_per_s: Floats, write_bytes_per_s: Floats) -> Floats:
    """Return the need's bytes of a day, or of its rates where it has no times, over the time that they take at full speed."""
    read_bytes, written_bytes = need.read_per_day_bytes, need.written_per_day_bytes
    if not read_bytes + written_bytes:
        read_bytes, written_bytes = need.read_bytes_per_s or 0.0, need.write_bytes_per_s or 0.0
    return (read_bytes + written_bytes) / (read_bytes / read_bytes_per_s + written_bytes / write_bytes_per_s)


def _losses_per_year(space: Space, need: Need, choice: Choice, there: Columns, servers_count: Ints, world: Floats) -> Floats:
    """Return how often a year data are lost because disks fail, each before the data of those before are made again.

    An upper bound for independent failures: any such disks of different servers are taken to hold parts of the same data.
    """
    drive_bytes = there.capacity_bytes / there.drives_count * need.fill_ratio
    disks_count, others_count = servers_count * there.drives_count, (servers_count - 1) * there.drives_count
    write = world[..., there.at["drive_write"]]
    failing, rebuild = (_column(world, write)[..., at] for at in (space.disks_per_year, space.rebuild))
    rebuilding_years = drive_bytes / (rebuild * write) / YEAR_S
    found = disks_count * failing
    for further in range(1, choice.redundancy.tolerated_count + 1):
        found = found * others_count * failing * rebuilding_years / further
    return found


def _switching(space: Space, there: Columns, hosts_count: Ints, world: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return watts, price, carbon and rack units of the switches of candidates."""
    most_count = max(len(switches.choice) for switches in space.switches.values())
    each = [space.switches[name] for name in there.networks]

    def table(of: str) -> Ints:
        found = np.zeros((len(each), most_count), dtype=np.intp)
        for row, switches in enumerate(each):
            found[row] = getattr(switches, of)[switches.choice]
        return found

    count = np.stack([switches.count for switches in each])[there.network, hosts_count]
    rack_units = np.stack([switches.rack_units[switches.choice] for switches in each])[there.network, hosts_count]
    watts, price, embodied = (world[..., table(key)[there.network, hosts_count]] for key in ("watts", "price", "embodied"))
    return count * watts, count * price, count * embodied, count * rack_units
