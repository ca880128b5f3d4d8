"""Every cluster that the parts allow: kinds of machines x numbers of servers x file systems and their
redundancies.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from perjoule import drivers
from perjoule.catalogue.parts import Network, switched
from perjoule.catalogue.quantities import Quantity, exact
from perjoule.drivers.protocols import FileSystem, planned
from perjoule.model import Amplification, Direction, Json, Redundancy
from perjoule.model.errors import CampaignError
from perjoule.model.validation import explained
from perjoule.planning import profiled
from perjoule.planning.measures import TB
from perjoule.planning.need import Question
from perjoule.planning.parts import Parts, of_server, of_technology
from perjoule.planning.quantities import Book, Ints
from perjoule.planning.titles import titles
from perjoule.prediction import Law

T = TypeVar("T")

EACH_COUNT = 32  # numbers of servers up to here are all tried, larger ones in steps of 5 %
STEP_RATIO = 1.05
MOST_SPREAD_COUNT = 32  # servers on which the least for a redundancy is sought


class Of(NamedTuple, Generic[T]):
    """The uncertain quantities of a server with its disks and network card: their positions in the book,
    or values.
    """

    mips: T
    idle: T
    dynamic: T
    step: T  # of dynamic, as soon as a core works
    bend: T  # of dynamic, by the cube of CPU use
    supply_efficiency: T
    supply_no_load: T
    price: T
    embodied: T
    port: T
    drive_read: T
    drive_write: T
    drive_idle: T
    drive_idle_ratio: T  # idle watts are the product of both
    drive_active: T
    drive_active_ratio: T
    drive_step: T  # of active, as soon as bytes move
    drive_writing: T  # active while it writes in its steady state
    drive_writing_ratio: T
    drive_price: T
    drive_embodied: T
    goodput: T
    card: T
    card_price: T
    card_embodied: T


@dataclass(frozen=True)
class EquippedServer:
    """A server with its disks and network card: positions of its quantities in the book, and what is
    exact.
    """

    server: str
    drive: str
    drives_count: int
    network: str
    titles: tuple[str, str, str]  # of the server, the drive and the network
    capacity_bytes: float
    capacity_tb: float  # by which a disk's price is multiplied if it is one by the terabyte, else 1
    embodied_tb: float
    rack_units: float
    cores_count: float
    at: Of[int]


@dataclass(frozen=True)
class Pace:
    """How fast a file system moves data in one direction: the law of its profile, if it has one, and
    positions of quantities.
    """

    cpu: int
    reached: int  # throughput over that of the law, or without one over the bound
    at_once: int  # stations that one client uses at once, for the law
    law: Law | None


@dataclass(frozen=True)
class Choice:
    """A file system with one redundancy."""

    filesystem: str
    title: str
    options: Mapping[str, Json]
    redundancy: Redundancy
    amplification: Amplification
    least_servers_count: int
    further_hosts_count: int
    whole_groups: bool  # servers x disks must be a multiple of the parts of a file
    writing: Pace
    reading: Pace

    @property
    def text(self) -> str:
        """A short form: "CephFS 4+2"."""
        return f"{self.title} {self.redundancy.text}"


@dataclass(frozen=True)
class Switches:
    """For one network and each number of hosts: which switch takes the least power, and how many of it."""

    choice: Ints  # into `names`, by number of hosts
    count: Ints
    names: tuple[str, ...]
    watts: Ints
    price: Ints
    embodied: Ints
    rack_units: NDArray[np.float64]


@dataclass(frozen=True)
class Space:
    """All that is enumerated, and the book of the quantities on which it rests."""

    book: Book
    titles: Mapping[str, str]  # of parts: {"server orange-pi-5-max": "Orange Pi 5 Max"}
    machines: tuple[EquippedServer, ...]
    choices: tuple[Choice, ...]
    counts: Ints  # of servers
    switches: Mapping[str, Switches]
    grid: int
    electricity: int
    disks_per_year: int
    rebuild: int


def space(question: Question) -> Space:
    """Lay out all candidates of a question. Raises CampaignError if the parts leave none."""
    need, parts = question.need, question.parts
    book = Book()
    unity = book.add(exact(1.0, "one"), "one")
    part_titles = titles(parts)
    choices = tuple(_choices(question, book, part_titles, need.failures_count))
    machines = tuple(_machines(question, book, part_titles, unity))
    if not choices:
        most_count = max(
            (choice.redundancy.tolerated_count for choice in _choices(question, book, part_titles, 0)),
            default=0,
        )
        fault = f"no file system to choose from survives the failure of {need.failures_count} storage hosts"
        raise CampaignError(
            fault, where=need.name, next=f"lower failures to {most_count}, or choose other filesystems"
        )
    least_count = min(choice.least_servers_count for choice in choices)
    if least_count > need.limits.servers_count:
        fault = (
            f"data that survive {need.failures_count} failed storage hosts need {least_count} servers or more"
        )
        raise CampaignError(
            fault, where="limits.servers", next=f"raise limits.servers to {least_count}, or lower failures"
        )
    if not machines:
        fault = "no server to choose from has a slot that a drive fits, with a network to choose from"
        raise CampaignError(fault, where=need.name, next="remove a list from [choose]")
    counts = _counts(need.limits.servers_count)
    most_hosts_count = int(counts[-1]) + max(choice.further_hosts_count for choice in choices)
    switches = {
        name: _switches(parts, name, most_hosts_count, book)
        for name in dict.fromkeys(machine.network for machine in machines)
    }
    grid, electricity = book.add(question.grid, "grid"), book.add(question.electricity, "electricity")
    failing = _entered(book, "failure", parts.failure)
    return Space(
        book,
        part_titles,
        machines,
        choices,
        counts,
        switches,
        grid,
        electricity,
        failing["disks_per_year"],
        failing["rebuild"],
    )


def _entered(book: Book, name: str, part: object) -> dict[str, int]:
    """Enter all quantities of a part, and return their positions by key."""
    return {
        key: book.add(value, f"{name}: {key}")
        for key, value in vars(part).items()
        if isinstance(value, Quantity)
    }


def _counts(most_count: int) -> Ints:
    counts = list(range(1, min(most_count, EACH_COUNT) + 1))
    while counts[-1] < most_count:
        counts.append(min(most_count, int(np.ceil(counts[-1] * STEP_RATIO))))
    return np.array(counts)


def _choices(
    question: Question, book: Book, part_titles: Mapping[str, str], failures_count: int
) -> Iterator[Choice]:
    need = question.need
    for name, filesystem in question.parts.filesystem.items():
        if need.choose.filesystems is not None and name not in need.choose.filesystems:
            continue
        for options in filesystem.options:
            least_count, redundancy, amplification = _layout(name, options, filesystem.further_hosts)
            if redundancy.tolerated_count >= failures_count:
                if need.write_bytes_per_s is not None and filesystem.write_reached is None:
                    _require_skill(name, "write")
                if need.read_bytes_per_s is not None and filesystem.read_reached is None:
                    _require_skill(name, "read")
                counts = least_count, filesystem.further_hosts, filesystem.whole_groups
                writing = _pace(
                    book, name, "write", redundancy, filesystem.write_cpu, filesystem.write_reached
                )
                reading = _pace(book, name, "read", redundancy, filesystem.read_cpu, filesystem.read_reached)
                title = part_titles[f"filesystem {name}"]
                yield Choice(name, title, options, redundancy, amplification, *counts, writing, reading)


def _require_skill(name: str, direction: Direction) -> None:
    """Refuse to rank by the law of a profile that says no more than a simpler model."""
    if rival := profiled.rival(name, direction):
        raise CampaignError(
            f"its {direction}s can't be ranked: {rival.text}",
            where=f"[filesystem.{name}]",
            next=f"state {direction}_reached, or leave it out",
        )


def _pace(
    book: Book,
    name: str,
    direction: Direction,
    redundancy: Redundancy,
    cpu: Quantity | None,
    stated_reached: Quantity | None,
) -> Pace:
    law = None if stated_reached else profiled.law(name, direction, redundancy)
    reached = stated_reached or (profiled.trust(name, direction) if law else profiled.reached(direction))
    at_once = profiled.at_once(name, direction) if law else exact(1.0, "not used")
    return Pace(
        book.add(_cpu(name, direction, cpu), f"filesystem {name}: {direction}_cpu"),
        book.add(reached, f"filesystem {name}: {direction}_reached"),
        book.add(at_once, f"filesystem {name}: stations at once, {direction}"),
        law,
    )


def _cpu(name: str, direction: Direction, stated_cpu: Quantity | None) -> Quantity:
    if (cpu_quantity := stated_cpu or profiled.server_cpu(name, direction)) is None:
        place = f"[filesystem.{name}]"
        raise CampaignError(
            f"{direction}_cpu is not stated, and no profile has it",
            where=place,
            next=f"state {direction}_cpu",
        )
    return cpu_quantity


def _layout(
    name: str, options: Mapping[str, Json], further_hosts_count: int
) -> tuple[int, Redundancy, Amplification]:
    """Ask a file system's driver for the fewest servers on which these options fit, and for the bytes that
    then move.
    """
    place = f"[filesystem.{name}]"
    try:
        driver = drivers.build("filesystems", name, options, to_run=True)
    except KeyError:
        raise CampaignError(
            f'no driver is called "{name}"', where=place, next="see perjoule drivers"
        ) from None
    except ValidationError as error:
        explanation = explained(error, drivers.driver_class("filesystems", name), name, noun="option")
        raise CampaignError(
            explanation.what, where=place, next=explanation.advice or f"see perjoule drivers {name}"
        ) from None
    assert isinstance(driver, FileSystem)
    refusal: CampaignError | None = None
    for count in range(1, MOST_SPREAD_COUNT + 1):
        hosts = planned(["storage"] * count + ["metadata", "management"][:further_hosts_count] + ["client"])
        try:
            driver.require_fit(hosts)
            stored = driver.stored(hosts)
        except CampaignError as error:
            refusal = error
            continue
        if stored is None:
            raise CampaignError(
                "its driver does not say which bytes it moves", where=place, next="leave it out"
            )
        return count, *stored
    raise CampaignError(f"options {dict(options)} fit no number of servers", where=place, next=str(refusal))


def _machines(
    question: Question, book: Book, part_titles: Mapping[str, str], unity: int
) -> Iterator[EquippedServer]:
    choose, parts = question.need.choose, question.parts
    drives = {name: _drive(parts, name, book, unity) for name in choose.drives or parts.drive}
    networks = {
        name: _network(book, name, network)
        for name, network in parts.network.items()
        if choose.networks is None or name in choose.networks
    }
    nothing = book.add(exact(0.0, "no card"), "nothing")
    cardless = dict.fromkeys(("card", "card_price", "card_embodied"), nothing)
    straight = dict.fromkeys(("step", "bend", "supply_no_load", "drive_step"), nothing)
    for server_name in choose.servers or parts.server:
        server = parts.server[server_name]
        server_entries = {
            key: book.add(value, f"server {server_name}: {key}") for key, value in of_server(server).items()
        }
        for drive_name, drive_entries in drives.items():
            drive = parts.drive[drive_name]
            slots_count = sum(count for kind, count in server.slots.items() if kind in drive.fits)
            for network in server.networks:
                if network not in networks:
                    continue
                at = Of(**(straight | server_entries | drive_entries | cardless | networks[network]))
                called = (
                    part_titles[f"server {server_name}"],
                    part_titles[f"drive {drive_name}"],
                    part_titles[f"network {network}"],
                )
                for count in range(1, slots_count + 1):
                    yield EquippedServer(
                        server_name,
                        drive_name,
                        count,
                        network,
                        called,
                        count * drive.capacity_bytes.value,
                        drive.capacity_bytes.value / TB.per if drive.price is None else 1.0,
                        drive.capacity_bytes.value / TB.per if drive.embodied is None else 1.0,
                        server.rack_units or 0.0,
                        float(server.cores or 1),
                        at,
                    )


def _network(book: Book, name: str, network: Network) -> dict[str, int]:
    """Enter a network's quantities."""
    its = {"goodput": network.goodput, "card": network.card_behind_supply}
    its |= {"card_price": network.card_price, "card_embodied": network.card_embodied}
    return {key: book.add(value, f"network {name}: {key}") for key, value in its.items() if value is not None}


def _drive(parts: Parts, name: str, book: Book, unity: int) -> dict[str, int]:
    """Enter a disk's quantities: its own, or those that all disks of its technology share."""
    drive = parts.drive[name]
    technology, shared = of_technology(parts, drive)
    at = {
        "drive_read": book.add(drive.read, f"drive {name}: read"),
        "drive_write": book.add(drive.write, f"drive {name}: write")
        if drive.sustained_write is None
        else book.add(drive.sustained_write, f"drive {name}: sustained_write"),
    }
    for state, watts, ratio in (
        ("idle", drive.idle_behind_supply, parts.mean.idle),
        ("active", drive.active_behind_supply, parts.mean.active),
    ):
        if watts is not None:
            at |= {f"drive_{state}": book.add(watts, f"drive {name}: {state}"), f"drive_{state}_ratio": unity}
        elif drive.mean_behind_supply is not None:
            at[f"drive_{state}"] = book.add(drive.mean_behind_supply, f"drive {name}: mean")
            at[f"drive_{state}_ratio"] = book.add(ratio, f"{state} power of a disk over its mean")
    at |= {"drive_writing": at["drive_active"], "drive_writing_ratio": at["drive_active_ratio"]}
    if drive.sustained_behind_supply is not None:
        at["drive_writing"] = book.add(drive.sustained_behind_supply, f"drive {name}: sustained")
        at["drive_writing_ratio"] = unity
    if drive.step_behind_supply is not None:
        at["drive_step"] = book.add(drive.step_behind_supply, f"drive {name}: step")
    for key, drive_quantity, per_tb in (
        ("price", drive.price, shared.price_per_tb),
        ("embodied", drive.embodied, shared.embodied_per_tb),
    ):
        label = f"technology {technology}: {key}_per_tb" if drive_quantity is None else f"drive {name}: {key}"
        at[f"drive_{key}"] = book.add(drive_quantity or per_tb, label)
    return at


def _switches(parts: Parts, network: str, most_hosts_count: int, book: Book) -> Switches:
    """Choose the switch by power at its value; where one is not enough, a further one of the same kind
    joins them.
    """
    switched_by = switched(network, parts.network[network])
    switches_by_name = {
        name: switch for name, switch in parts.switch.items() if switch.network == switched_by
    }
    hosts = np.arange(most_hosts_count + 1)
    needed = np.stack([np.ceil(hosts / switch.ports).astype(int) for switch in switches_by_name.values()])
    needed = np.where(needed > 1, needed + 1, np.maximum(needed, 1))
    watts = needed * np.array([[switch.watts_at_wall.value] for switch in switches_by_name.values()])
    choice = np.argmin(watts, axis=0)
    return Switches(
        choice,
        needed[choice, hosts],
        tuple(switches_by_name),
        np.array(
            [
                book.add(switch.watts_at_wall, f"switch {name}: watts")
                for name, switch in switches_by_name.items()
            ]
        ),
        np.array(
            [book.add(switch.price, f"switch {name}: price") for name, switch in switches_by_name.items()]
        ),
        np.array(
            [
                book.add(switch.embodied, f"switch {name}: embodied")
                for name, switch in switches_by_name.items()
            ]
        ),
        np.array([switch.rack_units for switch in switches_by_name.values()]),
    )
