"""A host's own reports, parsed."""

import re
from dataclasses import dataclass

from perjoule.drivers.protocols import ClockOffset, Counters
from perjoule.machine.disks import reserve_bytes
from perjoule.machine.untrusted import UNEXPECTED
from perjoule.model.doubts import TIMES, Doubt
from perjoule.model.errors import MachineError
from perjoule.testbeds._kernel import cpu_ticks, disk_work, network_bytes, switches_count

MOST_UNSURE_S = 0.01  # of a clock, above which it is reported
MOST_COUNT = 2.0**70  # of a counter: the sectors of 64 bits, in bytes, are fewer
MOST_CORES = 10**6
MOST_SHOWN = 60  # characters of an answer that is none
_CLOCK = re.compile(r"\d{1,11}[.,]\d{6}(?=\s|$)", re.ASCII)  # EPOCHREALTIME: no NaN, no infinity


@dataclass(frozen=True)
class Probe:
    """The tools, space and kernel of a host."""

    user: str
    cores_count: int
    ticks_hz: int
    free_bytes: int  # below the work folder
    total_bytes: int  # of its disk
    kernel: str
    chronyc: str
    timedatectl: str
    helper: str = ""  # the version of the installed one, which is this keeper
    drops: bool = False  # caches, by sudo, whoever the user is
    readonly: str = ""  # the folder that can't be written to
    unsafe: str = ""  # why others could lead us elsewhere from the work folder, "; ", and what to do
    missing: tuple[str, ...] = ()
    disks: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()  # that are hardware

    def has(self, needed_bytes: int) -> bool:
        """Return whether this many bytes fit below the work folder, beside the reserve of its disk."""
        return self.free_bytes >= needed_bytes + reserve_bytes(self.total_bytes)


def clock_doubt(name: str, clock: ClockOffset) -> Doubt | None:
    """Return the doubt about a host's clock."""
    if clock.uncertainty_s <= MOST_UNSURE_S:
        return None
    return TIMES.clock_uncertain(host=name, uncertainty_s=clock.uncertainty_s)


def probe(answer: str, place: str) -> Probe:
    """Parse the output of the script PROBE. Raises MachineError if it is something else."""
    pairs = [(key, value) for key, _, value in (line.partition(" ") for line in answer.splitlines())]
    facts_of = dict(pairs)
    try:
        return Probe(
            user=facts_of["user"],
            cores_count=_count(facts_of["cores"], least=1, most=MOST_CORES),
            ticks_hz=_count(facts_of["ticks_hz"], least=1, most=MOST_CORES),
            free_bytes=_count(facts_of["free_bytes"]),
            total_bytes=_count(facts_of["total_bytes"]),
            kernel=facts_of["kernel"],
            chronyc=facts_of["chronyc"],
            timedatectl=facts_of["timedatectl"],
            helper=facts_of.get("helper", ""),
            drops="drops" in facts_of,
            readonly=facts_of.get("readonly", ""),
            unsafe=facts_of.get("unsafe", ""),
            missing=tuple(value for key, value in pairs if key == "missing"),
            disks=tuple(value for key, value in pairs if key == "disk"),
            interfaces=tuple(value for key, value in pairs if key == "interface"),
        )
    except (KeyError, ValueError):
        first = (answer.strip().splitlines() or ["nothing"])[0]
        raise MachineError(
            f"unexpected output from the login shell: {first[:MOST_SHOWN]}",
            where=place,
            next="check its login shell",
        ) from None


def _count(text: str, *, least: int = 0, most: float = MOST_COUNT) -> int:
    """Read a whole number. Raises ValueError: it is none, or one that no host has."""
    number = int(text)
    if not least <= number <= most:
        raise ValueError(f"{number} is impossible")
    return number


def counters(answer: str, t_s: float, of: Probe) -> Counters:
    """Parse a keeper's answer: its clock, two lines of /proc/stat, then /proc/net/dev, a line "disks", and
    /proc/diskstats.

    Raises ValueError: it is something else.
    """
    first, _, content = answer.partition("\n")
    try:
        net_dev, _, diskstats = content.partition("\ndisks\n")
        cpu_s = cpu_ticks(first.partition(" ")[2]) / of.ticks_hz
        switches = switches_count(content.partition("\n")[0])
        network, disk = network_bytes(net_dev, of.interfaces), disk_work(diskstats, of.disks)
        numbers = (cpu_s, *network, *disk, *(() if switches is None else (switches,)))
        if not all(0 <= number < MOST_COUNT for number in numbers):
            raise ValueError
    except UNEXPECTED:
        raise ValueError(f"unexpected counters: {first[:MOST_SHOWN]}") from None
    return Counters(t_s, cpu_s, *network, *disk, switches)


def clock_s(answer: str) -> float:
    """Parse the host's own clock (UTC), with which this answer and that about the clock alone begin.

    Raises ValueError.
    """
    if not (clock := _CLOCK.match(answer)):
        raise ValueError(f"unexpected time of day: {answer[:MOST_SHOWN].strip()}")
    return float(clock[0].replace(",", "."))
