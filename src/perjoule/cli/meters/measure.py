"""`perjoule measure`: the first number of one's own hardware. It writes a campaign and runs it as `run` does."""

import shlex
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite, nan
from pathlib import Path

import click

from perjoule import campaign, drivers
from perjoule.campaign.making import first
from perjoule.campaign.making.first import CLIENTS, HERE, HOST, NAS, DataPlace, MeterOf
from perjoule.campaign.making.meter_line import is_meter_line, meter_table
from perjoule.cli import parameters
from perjoule.cli.measuring import measured
from perjoule.cli.meters._place import permitted, place_of
from perjoule.cli.parameters import examples
from perjoule.cli.terminal.display import err, show_line
from perjoule.cli.terminal.few import MEANS, show_part
from perjoule.cli.terminal.outputs import require_new
from perjoule.drivers.protocols import Check, Meter, Testbed
from perjoule.energy.integral import SPARSE_S
from perjoule.execution import probe, readiness, sizing
from perjoule.execution.sizing import MeterSpeed
from perjoule.model import Campaign, Cell, Permit, Spec
from perjoule.model.errors import CampaignError, MachineError
from perjoule.model.format import number
from perjoule.model.metrics import DURATION, ENERGY, POWER, RATES, metric_of
from perjoule.model.units import bytes_text, counted, seconds_text
from perjoule.model.withheld import withheld
from perjoule.monitoring import asking
from perjoule.summary import summary

IDLE_S = 10.0  # for which meters are read before anything is loaded
MOST_S = 600.0  # of a window that nobody asked for
MOVED_RATIO = 0.01  # by which a load raises the idle power at least, if the meter is the right one
OPERATIONS = ("write", "read")
_DAY = "%Y%m%d-%H%M%S"


@dataclass(frozen=True)
class Asked:
    """What is measured, before anything is written to it."""

    place: DataPlace
    meters: tuple[MeterOf, ...]  # with whose power each shows
    operations: tuple[str, ...]
    repetitions: int
    permits: tuple[Permit, ...] = ()  # of a device that may be overwritten

    def campaign(self, *, size_bytes: int = sizing.TRANSFER_BYTES, longest_s: float = 1.0) -> Campaign:
        """Write its campaign and read it, by default of one transfer. Raises CampaignError."""
        text = first.written(
            shlex.join(["perjoule", *sys.argv[1:]]),
            self.place,
            self.meters,
            operations=self.operations,
            size_bytes=size_bytes,
            transfer_bytes=sizing.TRANSFER_BYTES,
            longest_s=longest_s,
            repetitions=self.repetitions,
        )
        return replace(campaign.parse(text, source="measure"), confirmed=self.permits)


@dataclass(frozen=True)
class Probed:
    """How fast a folder or device is, and the windows for it."""

    rates: Mapping[str, float]  # bytes per second of all clients, by operation
    size_bytes: int  # of all clients

    @property
    def longest_s(self) -> float:
        """The expected length of the longest window."""
        return self.size_bytes / min(self.rates.values())


@click.command(
    "measure",
    short_help="Measure a folder or disk and a power meter: the first number.",
    epilog=examples(
        "perjoule measure /mnt/nas --meter shelly://192.168.1.50",
        "perjoule measure /mnt/nas --meter nas=kasa://10.0.0.52 --meter here=rapl:",
        "perjoule measure /nas --meter kasa://10.0.0.52 --meter constant:'5 W +- 1 W'",
        "perjoule measure /usb --meter 'shelly://10.0.0.50?accuracy=1 %' --seconds 30",
        "perjoule measure /usb --meter \\",
        "    'csv:log.csv?value=W&unit=W&semantics=window mean&window=1 s&grade=wall'",
        "perjoule measure /nas --meter shelly://10.0.0.51 --meter shelly://10.0.0.52",
        "sudo perjoule measure /dev/disk/by-id/ID --overwrite ID --meter kasa://plug",
        "perjoule measure /nas --on n[1-4] --meter kasa://plug --meter n1=kasa://p1",
        "perjoule meters list 10.0.0.50       what answers there",
    )
    + "\n\n\b\nURL is KIND:ADDRESS?OPTION=VALUE&OPTION=VALUE; `perjoule drivers` lists them."
    "\nBefore it nas=, here=, clients= or a client's name says whose power it shows:"
    "\nby default that of whoever has the data. Two plugs of one machine feed its two"
    "\npower supplies, and are added. A password goes into a file:"
    "\n?user=me&password_file=~/.plug",
)
@click.argument("path", metavar="PATH")
@click.option(
    "--meter",
    "lines",
    multiple=True,
    metavar="[WHOSE=]URL",
    help="A power meter; can be given several times.",
)
@click.option(
    "--seconds",
    "window_s",
    type=click.FloatRange(min=1, max=86400),
    metavar="S",
    help="Length of a window; by default 60, or what the slowest meter needs for 20 updates.",
)
@click.option(
    "--operation",
    "operations",
    multiple=True,
    type=click.Choice(OPERATIONS),
    default=OPERATIONS,
    help="Only this one; by default both.",
)
@click.option(
    "--repetitions", type=click.IntRange(1, 100), default=3, show_default=True, help="Of each window."
)
@click.option(
    "--overwrite",
    default="",
    metavar="ID",
    help="PATH is this device: it may be overwritten, and all data on it are lost.",
)
@click.option(
    "--on",
    metavar="HOSTS",
    help="Clients over SSH that mount PATH and load it together: n[1-4], or me@n1,n2.",
)
@parameters.ssh_config
@parameters.into
def measure_command(
    path: str,
    lines: tuple[str, ...],
    window_s: float | None,
    operations: tuple[str, ...],
    repetitions: int,
    overwrite: str,
    on: str | None,
    into: Path | None,
) -> None:
    """Measure how much PATH stores per joule: a folder of a NAS or a disk, and the meter that feeds it.

    Asks the meters, finds by a probe of seconds how much to move, then writes and reads a file of its own in
    PATH, and removes it. Needs fio, and no root. A disk by its ID in /dev/disk/by-id is overwritten: as root, if
    nothing uses it, it is empty, and you confirm it. The campaign is kept: `perjoule run` repeats it, and its
    file is where to go on from.
    """
    place = place_of(path, overwrite, on)
    meters = [_meter_of(line, place.client_names) for line in lines]
    first.require_distinct(meters)
    _require_read_here(meters, place)
    built = {meter.line: campaign.meters([meter.line])[0] for meter in meters}
    location = (
        probe.device_located(Path(place.path))
        if place.is_device
        else probe.located(_testbed(place), Path(place.path))
    )
    if location.in_memory:
        err.print(f"{path} lies in memory: these are numbers of no disk", style="yellow")
    if location.local and place.clients:
        raise CampaignError(
            f"{path} lies on {location.source or 'a disk'} of {place.client_names[0]} itself",
            where="--on",
            next="name a folder that all of them mount from one NAS",
        )
    whose = tuple(replace(meter, whose=meter.whose or (HERE if location.local else NAS)) for meter in meters)
    place = replace(place, remote=not location.local)
    first.require_boundary(whose, place, source=location.source)
    asked = Asked(place, whose, tuple(dict.fromkeys(operations)), repetitions)
    target = into or Path("results") / f"{place.name}-{time.strftime(_DAY)}"
    require_new(target)
    # without meters: which of them feed one machine together is known once they were asked
    asked = replace(asked, permits=permitted(replace(asked, meters=()).campaign(), place, overwrite))
    if not meters:
        err.print("no --meter: throughput alone, without watts", style="yellow")
    asked, speeds = _metered(asked, built)
    sized = _probed(asked, speeds, window_s, location.room_bytes)
    windows_count, clients_count = len(sized.rates) * repetitions, max(1, len(place.client_names))
    takes_s = sizing.duration_s(sized.rates, sized.size_bytes, repetitions, first.SETTLE_S)
    takes_s += (
        sized.longest_s if place.is_device and "read" in operations else 0.0
    )  # it is filled before reads
    rates = ", ".join(f"{_rate(rate)} {operation}" for operation, rate in sized.rates.items())
    show_part(
        "probe",
        f"{rates}; {counted(windows_count, 'window')} of {bytes_text(sized.size_bytes)}, "
        f"{_span(sized)} each: about {seconds_text(round(takes_s))}",
    )
    read = asked.campaign(size_bytes=sized.size_bytes // clients_count, longest_s=sized.longest_s)
    results, code = measured(read, target, takes_s=takes_s)
    cells = summary(results).cells
    durations_s = [s for cell in cells if DURATION in cell.metrics for s in cell.metrics[DURATION].values]
    least_s = max((speed.least_s for speed in speeds.values()), default=0.0)
    if (advised_s := sizing.advised_s(durations_s, least_s, sized.longest_s)) is not None:
        show_line(
            f"a window of {seconds_text(min(durations_s))} had less than {sizing.UPDATES_COUNT} updates of a meter, since "
            f"the place was faster than its probe: write --seconds {advised_s}"
        )
    if question := _unmoved(_idle_w(asked, speeds, {cell.grade for cell in cells}), cells):
        show_line(question)
    kept = target / "campaign.toml"
    show_part("kept", f"{kept}; again: perjoule run {shlex.quote(str(kept))}")
    lacking = meters and not all(ENERGY in cell.metrics for cell in cells)
    sys.exit(code or int(bool(lacking)))


def _idle_w(asked: Asked, speeds: Mapping[str, MeterSpeed], grades: Collection[str]) -> float:
    """Return what whoever has the data drew before the loads, by meters of these grades; NaN if they feed a
    switch, too.
    """
    holder = NAS if asked.place.remote else HERE
    if any(meter.is_number for meter in asked.meters):
        return nan
    lines = [meter.line for meter in asked.meters if meter.whose == holder]
    return sum(speeds[line].idle_w for line in lines if speeds[line].grade in grades)


def _unmoved(idle_w: float, cells: Sequence[Cell]) -> str:
    """Ask about a meter whose watts no load changed; "" if one did, or it is not known."""
    loaded_w = [cell.metrics[POWER].mean for cell in cells if POWER in cell.metrics]
    if not loaded_w or not max(loaded_w) <= (1 + MOVED_RATIO) * idle_w:
        return ""
    return (
        f"no load added power: {number(idle_w)} W idle, {number(max(loaded_w))} W at most under load; does the meter "
        "feed what was loaded?"
    )


def _require_read_here(meters: Sequence[MeterOf], place: DataPlace) -> None:
    """Check that none is a sensor of other hosts, which nothing can ask yet. Raises CampaignError."""
    for meter in meters if place.clients else ():
        if "on" in drivers.options(drivers.meter_class(str(meter.table["kind"]))) and not meter.table.get(
            "address"
        ):
            raise CampaignError(
                f"{meter.table['kind']} is a sensor of each host, and measure asks only what it reads from here",
                where=f"--meter {meter.line}",
                next=f'add [[meter]] with kind = "{meter.table["kind"]}" and covers = ["clients"] to the kept campaign',
            )


def _testbed(place: DataPlace) -> Testbed:
    table = dict(place.testbed)
    return drivers.testbed(Spec(table.pop("kind"), table))


def _meter_of(line: str, clients: Sequence[str]) -> MeterOf:
    """Read a meter with what comes before its line. Raises CampaignError."""
    whose, equals, url = line.partition("=")
    prefixes = (NAS, HERE, CLIENTS, *clients)
    if equals and whose not in prefixes and HOST.fullmatch(whose) and is_meter_line(url):
        raise CampaignError(
            f'"{whose}" names no host of this measurement',
            where=f"--meter {line}",
            next=f"write nothing before it, or one of {', '.join(f'{name}=' for name in prefixes)}",
        )
    if not equals or whose not in prefixes:
        whose, url = "", line
    return MeterOf(url, meter_table(url), whose)


def _metered(asked: Asked, built: Mapping[str, Meter]) -> tuple[Asked, Mapping[str, MeterSpeed]]:
    """Ask the meters, and see that all that a run needs is there; nothing is written to the place.

    Raises:
        CampaignError: they can't be those of one campaign.
        MachineError: one does not answer, or a program is missing.
    """
    speeds = asking.asked(built, IDLE_S if built else 0.0)
    for line, speed in speeds.items():
        show_part("meter", _speed_text(line, built[line], speed))
        if speed.unsteady:
            show_part("", f"it varies, and averages over an unknown time then give no energy: {MEANS}")
        if speed.sparse:
            raise CampaignError(
                f"powers of one moment give an energy if they are at most {number(SPARSE_S)} s apart, and these are "
                f"{number(speed.update_s)} s",
                where=f"--meter {withheld(line)}",
                next=MEANS,
            )
    meters = first.supplied(asked.meters, {line: speed.grade for line, speed in speeds.items()})
    for whose, lines in _supplies(meters).items():
        sum_w = sum(speeds[line].idle_w for line in lines)
        machine = "the NAS" if whose == NAS else "this machine"
        show_part(
            "meter",
            f"{len(lines)} power supplies of {machine}, added: idle {number(sum_w)} W over {IDLE_S:g} s",
        )
    asked = replace(asked, meters=meters)
    draft = asked.campaign()
    checks = readiness.checks(draft, readiness.unable(draft), connect=bool(asked.place.clients), ask=_already)
    readiness.require(checks)
    return asked, speeds


def _supplies(meters: Sequence[MeterOf]) -> Mapping[str, Sequence[str]]:
    """Return the lines of meters of several supplies, by whose they are."""
    lines: dict[str, list[str]] = {}
    for meter in meters:
        if meter.component:
            lines.setdefault(meter.whose, []).append(meter.line)
    return lines


def _already(_meters: Mapping[str, Meter]) -> tuple[Check, ...]:
    """Don't ask meters again."""
    return ()


def _probed(asked: Asked, speeds: Mapping[str, MeterSpeed], wanted_s: float | None, room: int) -> Probed:
    """Load the place for seconds, and size the windows, by default shorter ones where room lacks.

    Raises:
        CampaignError: a meter has too few updates in a window.
        MachineError: there is no room.
    """
    window_s = _window_s(speeds, wanted_s)
    trial = asked.campaign().trials[0]
    rates = probe.probed(
        drivers.testbed(trial.testbed),
        drivers.filesystem(trial.filesystem),
        asked.operations,
        room,
        asked.permits,
        trial.clients_count,
    )
    least_s = max((speed.least_s for speed in speeds.values()), default=0.0)
    files_count = 1 if asked.place.is_device else len(rates)  # each direction has a file of its own
    size_bytes = sizing.size_bytes(rates, window_s, least_s, trial.clients_count)
    if size_bytes * files_count <= room:
        return Probed(rates, size_bytes)
    fitting_s = sizing.fitting_s(rates, room // files_count, least_s, trial.clients_count)
    if fitting_s and wanted_s is None:
        show_part(
            "window", f"{fitting_s} s instead of {seconds_text(window_s)}: {bytes_text(room)} may be filled"
        )
        return Probed(rates, sizing.size_bytes(rates, fitting_s, least_s, trial.clients_count))
    slowest = min(rates, key=rates.__getitem__)
    alone = len(rates) > 1 and sizing.fitting_s({slowest: rates[slowest]}, room, least_s, trial.clients_count)
    advice = (
        f"write --seconds {fitting_s}" if fitting_s else f"write --operation {slowest} alone" if alone else ""
    )
    more = "name a larger disk" if asked.place.is_device else "free space"
    raise MachineError(
        f"windows of {seconds_text(window_s)} move {bytes_text(size_bytes)} in each direction at "
        f"{' and '.join(map(_rate, rates.values()))}, and {bytes_text(room)} may be filled",
        where=asked.place.path,
        next=", or ".join(filter(None, [advice, more])),
    )


def _window_s(speeds: Mapping[str, MeterSpeed], wanted_s: float | None) -> float:
    """Return the length of a window. Raises CampaignError: a meter has too few updates in it."""
    line, least_s = max(((name, speed.least_s) for name, speed in speeds.items()), key=lambda pair: pair[1],
                        default=("", 0.0))  # fmt: skip
    if wanted_s is None and least_s <= MOST_S:
        return max(sizing.WINDOW_S, least_s)
    if wanted_s is not None and wanted_s >= least_s:
        return wanted_s
    if not isfinite(least_s):
        what = "it delivered too little to tell how often it updates"
        advice = "is it running? State it if it is slow, as in ?period=60 s"
    else:
        window = wanted_s or MOST_S
        what = (
            f"a window of {seconds_text(window)} has only {int(window * sizing.UPDATES_COUNT / least_s)} of its "
            f"updates, and {sizing.UPDATES_COUNT} are needed"
        )
        advice = f"write --seconds {ceil(least_s)}, or use a finer meter"
    raise CampaignError(what, where=f"--meter {line}", next=advice)


def _speed_text(line: str, meter: Meter, speed: MeterSpeed) -> str:
    parts = [withheld(line)]
    if isfinite(meter.sampled_hz):
        parts.append(f"{number(meter.sampled_hz)} Hz")
    if isfinite(speed.answer_s) and speed.answer_s > 0:
        parts.append(f"answers in {seconds_text(speed.answer_s)}")
    if isfinite(speed.now_w):
        parts.append(f"now {number(speed.now_w)} W; idle {number(speed.idle_w)} W over {IDLE_S:g} s")
    else:
        parts.append(f"it counted less than two steps in {IDLE_S:g} s")
    return ", ".join(parts)


def _rate(bytes_per_s: float) -> str:
    return f"{number(bytes_per_s / metric_of(RATES[0]).unit.per)} {metric_of(RATES[0]).unit.symbol}"


def _span(sized: Probed) -> str:
    """Return how long the windows will be, from the fastest direction to the slowest."""
    shortest, longest = (
        round(sized.size_bytes / rate) for rate in (max(sized.rates.values()), min(sized.rates.values()))
    )
    return f"{shortest} to {longest} s" if shortest < longest else f"{longest} s"
