"""A host's own reports, parsed."""

import re
from dataclasses import dataclass

from perjoule.drivers.protocols import ClockOffset, Counters
from perjoule.machine.disks import reserve_bytes
from perjoule.machine.untrusted import UNEXPECTED
from perjoule.model.doubts import TIMES, Doubt
from perjoule.model.errors import MachineError
from perjoule.model.units import seconds_text
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
    return TIMES.doubt(f"the clock of {name} is known to ± {seconds_text(clock.uncertainty_s)} only: its loads are timed by it")


def probe(said: str, where: str) -> Probe:
    """Parse the output of the script PROBE. Raises MachineError if it is something else."""
    pairs = [(word, rest) for word, _, rest in (line.partition(" ") for line in said.splitlines())]
    one = dict(pairs)
    try:
        return Probe(
            user=one["user"],
            cores_count=_count(one["cores"], least=1, most=MOST_CORES),
            ticks_hz=_count(one["ticks_hz"], least=1, most=MOST_CORES),
            free_bytes=_count(one["free_bytes"]),
            total_bytes=_count(one["total_bytes"]),
            kernel=one["kernel"],
            chronyc=one["chronyc"],
            timedatectl=one["timedatectl"],
            helper=one.get("helper", ""),
            drops="drops" in one,
            readonly=one.get("readonly", ""),
            unsafe=one.get("unsafe", ""),
            missing=tuple(value for word, value in pairs if word == "missing"),
            disks=tuple(value for word, value in pairs if word == "disk"),
            interfaces=tuple(value for word, value in pairs if word == "interface"),
        )
    except (KeyError, ValueError):
        first = (said.strip().splitlines() or ["nothing"])[0]
        raise MachineError(
            f"unexpected output from the login shell: {first[:MOST_SHOWN]}", where=where, next="check its login shell"
        ) from None


def _count(word: str, *, least: int = 0, most: float = MOST_COUNT) -> int:
    """Read a whole number. Raises ValueError: it is none, or one that no host has."""
    number = int(word)
    if not least <= number <= most:
        raise ValueError(f"{number} is impossible")
    return number


def counters(said: str, t_s: float, of: Probe) -> Counters:
    """Parse a keeper's answer: its clock, two lines of /proc/stat, then /proc/net/dev, a line "disks", and /proc/diskstats.

    Raises ValueError: it is something else.
    """
    first, _, rest = said.partition("\n")
    try:
        net_dev, _, diskstats = rest.partition("\ndisks\n")
        cpu_s = cpu_ticks(first.partition(" ")[2]) / of.ticks_hz
        switches = switches_count(rest.partition("\n")[0])
        network, disk = network_bytes(net_dev, of.interfaces), disk_work(diskstats, of.disks)
        known = (cpu_s, *network, *disk, *(() if switches is None else (switches,)))
        if not all(0 <= number < MOST_COUNT for number in known):
            raise ValueError
    except UNEXPECTED:
        raise ValueError(f"unexpected counters: {first[:MOST_SHOWN]}") from None
    return Counters(t_s, cpu_s, *network, *disk, switches)


def clock_s(said: str) -> float:
    """Parse the host's own clock (UTC), with which this answer and that about the clock alone begin. Raises ValueError."""
    if not (clock := _CLOCK.match(said)):
        raise ValueError(f"unexpected time of day: {said[:MOST_SHOWN].strip()}")
    return float(clock[0].replace(",", "."))
