"""What nvme-cli prints of a drive, as bytes of the standard's data structures:
https://nvmexpress.org/specifications (base, 2.3)

    SMART / Health Information   log page 02h: bytes 232-239 watt-hours since it was made, rounded up; 240-243
                                 power
    Power Measurement            log page 25h: bit 2 of bytes 2-3 says that power is estimated, byte 56 is the
                                 error in %
    Identify Controller          byte 263 is the number of the last power state, their descriptors of 32 bytes
                                 begin at 2048
    a power                      bits 15:0 its value, 17:16 its scale (1: 0.0001 W, 2: 0.01 W), 25:20 what it
                                 is of (0: all)

The bytes are requested raw, because older nvme-cli does not know these fields. `--rae` keeps the drive's
pending events for whom they concern.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

_SCALES_W = {1: 1e-4, 2: 1e-2}
_ESTIMATED = 1 << 2
_DESCRIPTOR_BYTES, _STATES = 32, 32
_IN_TENTHS_OF_MILLIWATTS = 1 << 0
_NO_ERROR = 100  # percent; above it the error is not reported

# $1 is the program, $2 its time limit in s, $3 ... the drives. Prints for each a line of each kind that it
# answers.
DESCRIBE = r"""
tool=$1 limit_s=$2
shift 2
bytes() { od -An -v -tu1 "$@" | tr -s ' \n' ' '; }
for drive; do
  ask() { timeout "$limit_s" "$tool" "$1" "/dev/$drive" "${@:2}" 2> /dev/null < /dev/null; }
  echo "$drive smart $(ask get-log --log-id=2 --log-len=512 --raw-binary --rae | bytes -j232 -N12)"
  echo "$drive measurement $(ask get-log --log-id=0x25 --log-len=64 --raw-binary --rae | bytes -j0 -N64)"
  echo "$drive control $(ask id-ctrl --raw-binary | bytes -j0 -N4096)"
done
"""
# The same with "log:" or "state:" before each drive. Prints "DRIVE POWER-OR-STATE WATT-HOURS ;", with "nan"
# for what is missing.
SAMPLE = r"""
tool=$1 limit_s=$2
shift 2
for one; do
  drive=${one#*:} said=nan hours=nan
  ask() { timeout "$limit_s" "$tool" "$1" "/dev/$drive" "${@:2}" 2> /dev/null < /dev/null; }
  case $one in
    log:*)
      read -r low high said < <(ask get-log --log-id=2 --log-len=512 --raw-binary --rae |
        od -An -v -tu4 --endian=little -j232 -N12 2> /dev/null)
      [ "$high" != 0 ] || hours=$low
      ;;
    state:*)
      text=$(ask get-feature --feature-id=2 | head -c 4096)
      [[ $text =~ value:\ *(0x)?([0-9a-fA-F]+) ]] && said=$((16#${BASH_REMATCH[2]} & 31))
      ;;
  esac
  echo "$drive ${said:-nan} ${hours:-nan} ;"
done
"""


@dataclass(frozen=True)
class NvmeDrive:
    """What a drive reports."""

    name: str  # "nvme0"
    power: int | None  # as the standard writes it; None: no log
    hours_count: int  # watt-hours; 0: not reported
    estimates: bool
    error_ratio: float | None
    most_w: tuple[float, ...]  # of each power state; 0: not reported

    @property
    def answers(self) -> bool:
        """Whether it has a log at all."""
        return self.power is not None

    @property
    def measures(self) -> bool:
        """Whether it reports the power of the whole drive."""
        return self.power is not None and not math.isnan(power_w(self.power))

    @property
    def counts(self) -> bool:
        """Whether it counts its energy, beside measuring its power."""
        return self.measures and self.hours_count > 0

    @property
    def step_w(self) -> float | None:
        """The step of its power."""
        return None if self.power is None else _SCALES_W.get(self.power >> 16 & 3)


def power_w(field: int) -> float:
    """Return a power in W; NaN if it is not reported, of no known scale, or that of a part of the drive."""
    value, scale, of = field & 0xFFFF, field >> 16 & 3, field >> 20 & 0x3F
    return value * _SCALES_W[scale] if value and scale in _SCALES_W and of == 0 else math.nan


def bound_w(most_w: Sequence[float], state: int) -> float:
    """Return the highest power of a state in W; NaN if it is not reported."""
    return most_w[state] if 0 <= state < len(most_w) and most_w[state] else math.nan


def drive(name: str, output: str) -> NvmeDrive:
    """Parse what DESCRIBE printed of a drive; whatever is missing or cut is not reported."""
    smart, measurement, control = (_bytes(name, kind, output) for kind in ("smart", "measurement", "control"))
    has_smart = len(smart) == 12
    error = measurement[56] if len(measurement) == 64 else 255
    return NvmeDrive(
        name,
        int.from_bytes(smart[8:], "little") if has_smart else None,
        int.from_bytes(smart[:8], "little") if has_smart else 0,
        len(measurement) == 64 and bool(int.from_bytes(measurement[2:4], "little") & _ESTIMATED),
        error / 100 if error <= _NO_ERROR else None,
        _most_w(control) if len(control) == 4096 else (),
    )


def _most_w(control: bytes) -> tuple[float, ...]:
    powers_w: list[float] = []
    for state in range(min(control[263] + 1, _STATES)):
        descriptor = control[2048 + state * _DESCRIPTOR_BYTES :][:_DESCRIPTOR_BYTES]
        powers_w.append(
            int.from_bytes(descriptor[:2], "little")
            * (1e-4 if descriptor[3] & _IN_TENTHS_OF_MILLIWATTS else 1e-2)
        )
    return tuple(powers_w)


def _bytes(name: str, kind: str, output: str) -> bytes:
    line = re.search(rf"^{name} {kind} ([0-9 ]*)$", output, re.MULTILINE)
    numbers = [int(digits) for digits in line[1].split()] if line else []
    return bytes(numbers) if all(number < 256 for number in numbers) else b""
