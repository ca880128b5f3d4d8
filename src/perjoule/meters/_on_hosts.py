"""Sensors on other machines: sampled there, stamped by the host's own clock, and mapped to ours when the
recording ends.

A script on each host reads the kernel's files, or runs a program, at the meter's rate. What it prints comes
over the host's connection about once a second, and nobody looks at it before the end: many hosts cost this
machine little. The clocks are compared at both ends; if one was set meanwhile, the host's samples are left
out. A host that no longer answers leaves a gap.
"""

import itertools
import math
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from perjoule.drivers.protocols import Host, Sink
from perjoule.meters._sampler import JITTER, left_out
from perjoule.meters._scans import ScanFiles, Scans, Verdict, counts
from perjoule.meters._sysfs import Sensor
from perjoule.model import Channel
from perjoule.model.doubts import METERS, Doubt
from perjoule.model.errors import MachineError, NoAnswer, PerjouleError

# a clock that moved by more than both together was set: no oscillator is that bad
SET_S, DRIFT_RATIO = 0.05, 5e-4
SHORT_S = 20.0
LOOK_S = 0.1  # between two looks at whether a host has sampled, each of which opens a file
STOP_S = 10.0  # a busy host takes its last sample by then
_BASH = ("bash", "--norc", "-c")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
# $1 is a folder of folders, the rest are patterns. Prints FILE, its text and its folder's device, each with a
# NUL at its end.
_LIST = r"""
shopt -s nullglob
root=$1; shift
for folder in "$root"/*/; do
  device=$(readlink -f "$folder/device" 2> /dev/null)
  for pattern; do
    for file in "$folder"$pattern; do
      [ -f "$file" ] || continue
      text=; { read -r text < "$file"; } 2> /dev/null
      printf '%s\0%s\0%s\0' "${file#"$root"/}" "$text" "${device##*/}"
    done
  done
done
"""
# Each takes a sample: a line with the time before, the number ("nan" if it is missing) and the time after,
# for each sensor. The arguments are files. Nothing but bash runs: under load the start of another program
# would take longer than the sample.
_FILES = r"""
sample() {
  local file asked value
  for file; do
    asked=${EPOCHREALTIME/,/.} value=
    { read -r value < "$file"; } 2> /dev/null || [ -n "$value" ] || value=nan
    text+="$asked ${value// /,} ${EPOCHREALTIME/,/.} "
  done
  text+=$'\n'
}
"""
# $1 an extended regular expression, whose groups are the numbers, $2 how many there are, then a command.
_COMMAND = r"""
pattern=$1 count=$2
shift 2
sample() {
  local said i numbers=() asked=${EPOCHREALTIME/,/.} arrived
  said=$("$@" 2> /dev/null < /dev/null)
  arrived=${EPOCHREALTIME/,/.}
  if [[ $said =~ $pattern ]]; then numbers=("${BASH_REMATCH[@]:1}"); fi
  for ((i = 0; i < count; i++)); do
    text+="$asked ${numbers[i]:-nan} $arrived "
  done
  text+=$'\n'
}
"""
# Before it: microseconds between samples on average. One more sample at SIGTERM, whose trap only leaves a
# word, which is read every 0.2 s: bash 5.2 can wait forever if a trap starts a program while `read` waits.
_LOOP = rf"""
exec 3<> <(:)
say() {{ printf %s "$text"; text= said_us=${{EPOCHREALTIME/[.,]/}}; }}
over=
trap over=1 TERM
text= n=0 said_us=0 began_us=${{EPOCHREALTIME/[.,]/}}
while [ -z "$over" ]; do
  sample "$@"
  [ $((${{EPOCHREALTIME/[.,]/}} - said_us)) -lt 1000000 ] || say
  n=$((n + 1))
  next_us=$((began_us + n * period_us + period_us * (RANDOM % {2 * round(JITTER * 1000)} - {round(JITTER * 1000)}) / 1000))
  while [ -z "$over" ] && left_us=$((next_us - ${{EPOCHREALTIME/[.,]/}})) && [ "$left_us" -gt 0 ]; do
    printf -v left_s 0.%06d $((left_us < 200000 ? left_us : 200000))
    read -r -t "$left_s" <&3
  done
done
sample "$@"
say
"""


@dataclass(frozen=True)
class SensorCommand:
    """A program on a host that prints a number for each sensor: the groups of a POSIX extended regular
    expression.
    """

    argv: tuple[str, ...]
    pattern: str


@dataclass(frozen=True)
class Moment:
    """The same moment by a host's clock (UTC) and by ours (CLOCK_MONOTONIC), in s."""

    utc_s: float
    monotonic_s: float
    uncertainty_s: float

    @classmethod
    def of(cls, host: Host) -> "Moment":
        """Compare the clocks now. Raises TransientError."""
        offset = host.clock_offset()
        return cls(time.time() + offset.offset_s, time.monotonic(), offset.uncertainty_s)


class Sampled:
    """A host's sensors while they are sampled."""

    def __init__(
        self,
        host: Host,
        sensors: Sequence[Sensor],
        rate_hz: float,
        folder: Path,
        command: SensorCommand | None = None,
        scans: ScanFiles | None = None,
    ) -> None:
        """Begin; the first sample has been taken.

        Args:
            host: where the sensors are.
            sensors: with their paths on the host.
            rate_hz: samples a second, on average.
            folder: for what comes from the host.
            command: what prints all their numbers; None: they are files.
            scans: files that say of which scan these are; they are read before and after them.

        Raises:
            MachineError: a sensor can't be read.
            WorkloadError: the host does not do it.
        """
        self._host, self._sensors, self._period_s = host, sensors, 1 / rate_hz
        self._in_scans = scans is not None
        self._began = Moment.of(host)
        self._log = folder / f"{host.name}.samples"
        files = [] if command else [sensor.path for sensor in sensors]
        files = [scans.scan, scans.start, *files, scans.scan] if scans else files
        period = f"period_us={self._period_s * 1e6:.0f}\n"
        argv = [*_BASH, period + (_COMMAND if command else _FILES) + _LOOP, "perjoule-sample", *files]
        argv += [command.pattern, str(len(sensors)), *command.argv] if command else []
        self._program = host.spawn(argv, log=self._log)
        try:
            first = self._first()
            unread = [
                path for path, number in zip(files, first.split()[1::3], strict=False) if number == "nan"
            ]
            if unread:
                advice = f"on {host.name}: sudo chmod a+r {' '.join(map(str, unread))}"
                raise MachineError(f"{unread[0]} can't be read", where=host.name, next=advice)
        except BaseException:
            self.stop()
            raise

    def _first(self) -> str:
        until_s = time.monotonic() + SHORT_S
        while time.monotonic() < until_s and self._program.returncode is None:
            line, ended, _ = self._program.output().partition("\n")
            if ended:
                return line
            time.sleep(LOOK_S)
        raise NoAnswer(
            f"its sensors can't be sampled ({self._program.output().strip() or 'no answer'})",
            where=self._host.name,
        )

    def stop(self) -> None:
        """End it."""
        with suppress(PerjouleError):  # the host is gone
            self._program.stop(timeout_s=STOP_S)

    def end(self) -> "HostSamples":
        """End it with a last sample, and return all."""
        ended, why = None, ""
        try:
            self._program.stop(timeout_s=STOP_S)
            code = self._program.returncode
            why = f"it ended with {code}" if code else ""
            ended = Moment.of(self._host)
        except PerjouleError as error:
            why = str(error)
        text = self._log.read_text(errors="replace")
        return HostSamples(
            self._host.name, self._sensors, self._period_s, text, self._began, ended, why, self._in_scans
        )


@dataclass(frozen=True)
class HostSamples:
    """What was sampled on a host: lines of (time before, number, time after) for each sensor, by the
    host's clock.
    """

    host: str
    sensors: Sequence[Sensor]
    period_s: float
    text: str
    began: Moment
    ended: Moment | None  # None: the host did not answer any more
    why: str = ""  # it was not sampled to the end
    in_scans: bool = False  # two more before the sensors' and one after them are those of `ScanFiles`

    def keep(self, label: str, sink: Sink) -> list[Doubt]:
        """Give a sink the samples, in our clock; returns doubts, in the name of the meter `label`."""
        doubts = [METERS.not_to_the_end(meter=label, host=self.host, error=self.why)] if self.why else []
        if abs(self._set_s) > SET_S + DRIFT_RATIO * self._length_s:
            return [*doubts, METERS.host_clock_set(meter=label, host=self.host, set_s=self._set_s)]
        uncertainty_s = max(moment.uncertainty_s for moment in (self.began, self.ended) if moment)
        channels = [_dated(sensor.channel, uncertainty_s) for sensor in self.sensors]
        begins_s: list[float] = []
        scans = Scans()
        for triples in self._lines():
            begins_s.append(self._ours_s(triples[0][0]))
            verdict: Verdict = "new"
            if self.in_scans:
                verdict = scans.judge(triples[0][1], triples[1][1], triples[-1][1])
                triples = triples[2:-1]
            if verdict in ("torn", "old"):
                continue
            for sensor, channel, (before, text, after) in zip(self.sensors, channels, triples, strict=True):
                asked_s, arrived_s = self._ours_s(before), self._ours_s(after)
                value = _value(sensor, text) if counts(verdict, channel) else math.nan
                sink.append(channel, (asked_s + arrived_s) / 2, value, sensor.duration_s, asked_s, arrived_s)
        absent = [round((then - before) / self.period_s) - 1 for before, then in itertools.pairwise(begins_s)]
        return doubts + left_out(
            f"{label} on {self.host}", sum(count for count in absent if count > 1), len(begins_s)
        )

    @cached_property
    def _length_s(self) -> float:
        return self.ended.monotonic_s - self.began.monotonic_s if self.ended else 0.0

    @cached_property
    def _set_s(self) -> float:
        """By how much the host's clock moved against ours."""
        return self.ended.utc_s - self.began.utc_s - self._length_s if self.ended else 0.0

    def _ours_s(self, utc_s: float) -> float:
        """Return CLOCK_MONOTONIC of this machine at a moment of the host's clock."""
        return self.began.monotonic_s + (utc_s - self.began.utc_s) * self._rate

    @cached_property
    def _rate(self) -> float:
        """Seconds of our clock to a second of the host's."""
        return self._length_s / (self._length_s + self._set_s) if self.ended else 1.0

    def _lines(self) -> Iterator[list[tuple[float, str, float]]]:
        for line in self.text.splitlines():
            fields = line.split()
            with suppress(ValueError):  # a line that was cut when the connection was lost
                if len(fields) == 3 * (len(self.sensors) + (3 if self.in_scans else 0)):
                    yield [
                        (float(fields[n]), fields[n + 1], float(fields[n + 2]))
                        for n in range(0, len(fields), 3)
                    ]


def _value(sensor: Sensor, text: str) -> float:
    """Return what a sensor showed, NaN if that is no number in its unit."""
    try:
        number = sensor.number(text.replace(",", " "))
    except ValueError:
        return math.nan
    return sensor.value(float(number)) if _NUMBER.fullmatch(number) else math.nan


def _dated(channel: Channel, uncertainty_s: float) -> Channel:
    """Return a channel whose times are known to this, either way."""
    return replace(
        channel, specification=replace(channel.specification, clock_s=uncertainty_s / math.sqrt(3))
    )


def copied(host: Host, root: Path, patterns: Sequence[str], within: Path) -> Path:
    """Copy the small files below a host's folder of sensors that match the patterns. Raises PerjouleError."""
    listed = host.run([*_BASH, _LIST, "perjoule-list", root, *patterns], timeout_s=SHORT_S).stdout.split("\0")
    copy = within / host.name
    copy.mkdir()
    for file, text, device in zip(listed[::3], listed[1::3], listed[2::3], strict=False):
        parts = Path(file).parts
        chip, behind, name = parts[:1], parts[1:-1], parts[-1:]
        if (
            not chip
            or len(parts) < 2
            or behind not in ((), ("device",))
            or {"/", "..", "device"} & {*chip, *name}
            or "/" in device
        ):
            raise MachineError(f"{file!r} is not the path of a sensor", where=host.name)
        folder = copy.joinpath(*chip)
        folder.mkdir(exist_ok=True)
        link = folder / "device"
        if not link.is_symlink():
            beside = copy.with_name(f"{copy.name}.devices").joinpath(*chip, device.strip(".") or "none")
            beside.mkdir(parents=True, exist_ok=True)
            link.symlink_to(beside)
        copy.joinpath(*parts).write_text(text)
    return copy
