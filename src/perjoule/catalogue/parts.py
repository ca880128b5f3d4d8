"""Boards, drives, networks and switches as their files describe them; a key says on which side of the supply
watts are.

`perjoule.catalogue.reading` makes clusters of them, which are predicted on, emulated and modelled;
`perjoule.planning` plans.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from perjoule.catalogue.quantities import Bare, Capacity, Mass, Memory, Money, Quantity, Rate, Seek, Watts
from perjoule.model.options import OPTIONS

ROUNDING = 1e-9  # of differences of watts
_FORBID = ConfigDict(extra="forbid")
Count = Annotated[int, Field(ge=1, le=200)]
RackUnits = Annotated[float, Field(ge=0, le=100)]
State = Literal["idle", "dynamic", "active", "step", "bend", "sustained"]


@dataclass(frozen=True, kw_only=True, config=_FORBID)
class BoardPart:
    """A board or server without data disks. Plans need its `slots` and what stands below them, and `port`."""

    title: str = ""
    source: str = ""  # whose sections and tables its values name
    cores: Annotated[int, Field(gt=0)] | None = None
    mips: Bare  # 7-zip rating of all cores
    nic: Rate | None = None  # TCP goodput, one direction; that of its last network if absent
    idle_at_wall: Watts | None = None
    idle_behind_supply: Watts | None = None
    dynamic_at_wall: Watts | None = None  # added at full CPU use
    dynamic_behind_supply: Watts | None = None
    step_at_wall: Watts | None = None  # of dynamic: what the first core at work wakes
    step_behind_supply: Watts | None = None
    bend_at_wall: Watts | None = None  # of dynamic: what grows with the cube of CPU use
    bend_behind_supply: Watts | None = None
    supply_efficiency: Bare | None = None  # of the load alone if the next is stated
    supply_no_load_at_wall: Watts | None = None  # what its supply takes without load
    memory: Memory | None = None
    port: Rate | None = None  # that all disks together get through
    port_read: Rate | None = None  # that each disk gets through
    port_write: Rate | None = None
    drives: Mapping[str, Count] = field(default_factory=dict[str, Any])  # that a host of it has by default
    slots: Mapping[str, Count] = field(default_factory=dict[str, Any])  # of each kind of slot
    networks: tuple[str, ...] = ()
    price: Money | None = None
    embodied: Mass | None = None
    rack_units: RackUnits | None = None
    cluster: str = ""  # of the catalogue, whose storage hosts stand for it on virtual hosts


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class DrivePart:
    """A disk. Without idle and active power it has those of its mean. Plans need what it `fits`."""

    title: str = ""
    source: str = ""  # whose sections and tables its values name
    technology: str
    fits: tuple[str, ...] = ()  # kinds of slots
    capacity_bytes: Capacity
    read: Rate
    write: Rate
    idle_at_wall: Watts | None = None
    idle_behind_supply: Watts | None = None  # spinning, not accessed
    active_at_wall: Watts | None = None
    active_behind_supply: Watts | None = None  # at full throughput
    mean_behind_supply: Watts | None = None
    step_at_wall: Watts | None = None
    step_behind_supply: Watts | None = None  # of active: from idle to the least load
    sustained_write: Rate | None = None  # of an SSD whose garbage collection keeps up with writes
    sustained_at_wall: Watts | None = None
    sustained_behind_supply: Watts | None = None  # as long as it writes so
    seek: Seek | None = None  # per request at random: to move its arm, and half a turn
    price: Money | None = None
    embodied: Mass | None = None


@dataclass(frozen=True, kw_only=True, config=_FORBID)
class MeanRatios:
    """Idle and full power of a disk over its mean power."""

    idle: Bare
    active: Bare


@dataclass(frozen=True, kw_only=True, config=_FORBID)
class Network:
    """A network speed, and the card that gives it to a server; no card where it is on board."""

    title: str = ""
    goodput: Rate
    card_behind_supply: Watts | None = None
    card_price: Money | None = None
    card_embodied: Mass | None = None
    ports_of: str = ""  # the network whose switches it uses, if it has none of its own


@dataclass(frozen=True, kw_only=True, config=_FORBID)
class Switch:
    """A switch."""

    title: str = ""
    network: str
    ports: Annotated[int, Field(ge=2, le=1024)]
    watts_at_wall: Watts
    price: Money
    embodied: Mass
    rack_units: RackUnits


def watts(part: BoardPart | DrivePart, state: State) -> tuple[Quantity | None, Quantity | None]:
    """Return the power of a part in a state at the wall, and behind its supply: what is stated of both."""
    return getattr(part, f"{state}_at_wall", None), getattr(part, f"{state}_behind_supply", None)


def switched(name: str, network: Network) -> str:
    """Name the network whose switches hosts of a network are at."""
    return network.ports_of or name


def of_mean(drive: DrivePart, state: State, mean: MeanRatios) -> Quantity | None:
    """Return the power of a disk of which the mean of its life is known, behind its supply."""
    if drive.mean_behind_supply is None:
        return None
    return product(drive.mean_behind_supply, mean.idle if state == "idle" else mean.active)


def product(quantity: Quantity, ratio: Quantity) -> Quantity:
    """Return a quantity times a ratio, with the ends of both."""
    low, high = quantity.low * ratio.low, quantity.high * ratio.high
    source = f"{quantity.source}; {ratio.source}"
    return Quantity(
        quantity.value * ratio.value, low, high, "assumed", source, quantity.name, quantity.unit, quantity.per
    )


RATES: Mapping[type, tuple[str, ...]] = {
    BoardPart: ("mips", "nic", "port"),
    DrivePart: ("read", "write"),
    Network: ("goodput",),
}


def complaint(table: str, name: str, part: object) -> tuple[str, str, str] | None:
    """Say what makes a part of these files impossible by itself: its key, what is wrong, what to write;
    None if nothing is.
    """
    for key in RATES.get(type(part), ()):
        rate = getattr(part, key)
        if rate is not None and not rate.value > 0:
            return key, f"{table}.{name}.{key} is 0", "write what it reaches"
    if isinstance(part, BoardPart):
        efficiency = part.supply_efficiency
        if efficiency is not None and not 0 < efficiency.value <= efficiency.high <= 1:
            return "supply_efficiency", f"[{table}.{name}]: supply_efficiency is not between 0 and 1", ""
    if isinstance(part, BoardPart | DrivePart):
        if fault := _term_complaint(f"[{table}.{name}]", part):
            return fault
        for state in ("idle", "dynamic") if isinstance(part, BoardPart) else ("idle", "active"):
            at_wall, behind = watts(part, state)
            if at_wall is not None and behind is not None:
                message = f"[{table}.{name}] states {state} both at the wall and behind the supply"
                return f"{state}_at_wall", message, "remove one of them"
            if (
                at_wall is None
                and behind is None
                and not (isinstance(part, DrivePart) and part.mean_behind_supply)
            ):
                keys = f"{state}_at_wall or {state}_behind_supply"
                more = ", or mean_behind_supply" if isinstance(part, DrivePart) else ""
                return "", f"[{table}.{name}] needs {keys}{more}", "write its watts"
    return None


def _term_complaint(place: str, part: BoardPart | DrivePart) -> tuple[str, str, str] | None:
    """Say what makes the terms beside the straight line impossible, as `complaint` does."""
    state: State = "dynamic" if isinstance(part, BoardPart) else "active"
    for side, full in zip(("at_wall", "behind_supply"), watts(part, state), strict=True):
        left_w = whole_w = full.value if full else 0.0
        for term in ("step", "bend"):
            share: Quantity | None = getattr(part, f"{term}_{side}", None)
            if share is None:
                continue
            if full is None or share.value > left_w * (1 + ROUNDING):
                of = f"{state}_{side}" if left_w == whole_w else f"what step_{side} leaves of {state}_{side}"
                fault = f"{place}: {term}_{side} is more than {of}, of which it is a part"
                advice = "write a smaller one" if full else "write both on the same side of the supply"
                return f"{term}_{side}", fault, advice
            left_w -= share.value
    if isinstance(part, BoardPart):
        if part.supply_no_load_at_wall is not None and part.idle_at_wall is not None:
            fault = f"{place}: idle_at_wall already has what supply_no_load_at_wall states"
            return "supply_no_load_at_wall", fault, "write idle_behind_supply"
        return None
    watts_stated = part.sustained_at_wall or part.sustained_behind_supply
    if (part.sustained_write is None) != (watts_stated is None):
        fault = f"{place} states one of sustained_write and its watts"
        return "", fault, "write sustained_write and sustained_behind_supply, or neither"
    if part.sustained_write is not None and part.sustained_write.value > part.write.value:
        return (
            "sustained_write",
            f"{place}: sustained_write is more than write",
            "write the fresh rate as write",
        )
    return None
