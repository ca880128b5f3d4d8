"""A Plugwise stick at a pseudo-terminal, with any Circle on request: the pulses of a known power, and a
calibration each.

https://www.maartendamen.com/wp-content/uploads/2010/08/Plugwise-unleashed-0.1.pdf
"""

import binascii
import math
import struct
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from perjoule.model import Json
from perjoule.simulators._behaviour import HOSTILE, Behaviour, Fault
from perjoule.simulators._hostile import pour
from perjoule.simulators._lines import lines

__all__ = ["FAULTS", "HOSTILE", "serve"]

FAULTS: tuple[Fault, ...] = ("late", "duplicate", "missing", "frozen", "nan", "spike", "disconnect")
HEAD, TAIL = "\x05\x05\x03\x03", "\r\n"
CIRCLES = ("000D6F0000B1B64B", "000D6F0000B1C02A")
NO_OTHERS: Mapping[str, Behaviour] = {}
STICK, NETWORK = "000D6F0000769122", "000D6F0000B835CB"
GAIN_A, GAIN_B, OFFSET_TOTAL, OFFSET_NOISE = 0.97, -2.0e-6, 0.03, -0.2
PULSES_PER_J = 0.4689385193


@contextmanager
def serve(
    behaviour: Behaviour,
    *,
    address: str = "",
    port: int = 0,
    absent: tuple[str, ...] = (),
    others: Mapping[str, Behaviour] = NO_OTHERS,
) -> Generator[Mapping[str, Json]]:
    """Serve a stick during the block; address and port are ignored.

    Circles in `absent` don't answer; those in `others` feed something else.
    """

    def begin(send: Callable[[bytes], None], hang_up: Callable[[], None]) -> _Stick:
        return _Stick(dict.fromkeys(CIRCLES, behaviour) | {**others}, absent, send)

    with lines(begin, "serial", address, port) as resource:
        circles: Json = {mac: f"storage-{n}" for n, mac in enumerate(CIRCLES, start=1)}
        yield {
            "kind": "plugwise",
            "address": resource.removeprefix("ASRL").removesuffix("::INSTR"),
            "circles": circles,
        }


class _Stick:
    def __init__(
        self, behaviours: Mapping[str, Behaviour], absent: tuple[str, ...], send: Callable[[bytes], None]
    ) -> None:
        self._behaviours, self._absent, self._send, self._sequence = behaviours, absent, send, 0
        self._stop = threading.Event()
        # of each Circle true energy, and the answer: the same energy again is a Circle that froze
        self._kept: dict[str, tuple[float, str]] = {}

    def close(self) -> None:
        """End pending answers."""
        self._stop.set()

    def take(self, line: str) -> bytes | None:
        """Answer a frame: an acknowledgement, and the requested data."""
        text = line.rpartition(HEAD)[2]
        body, kind, mac = text[:-4], text[:4], text[4:20]
        if _checksum(body) != text[-4:]:
            return None
        self._sequence += 1
        frames = [self._frame("0000", "00C1")]
        if mac in self._absent:
            return (frames[0] + self._frame("0000", "00E1")).encode()
        match kind:
            case "000A":
                frames.append(self._frame("0011", f"{STICK}0101{NETWORK}C60DFF"))
            case "0026":
                packed = struct.pack(">4f", GAIN_A, GAIN_B, OFFSET_TOTAL, OFFSET_NOISE)
                frames.append(self._frame("0027", mac + packed.hex().upper()))
            case "0012":
                manner = self._behaviours[mac].manner()
                if manner.hostile:
                    pour(manner.hostile, self._send, self._stop)
                elif not (self._stop.wait(manner.delay_s) or manner.silent or manner.hang_up):
                    frames.append(self._frame("0013", mac + self._pulses(mac)))
            case _:
                pass
        return "".join(frames).encode()

    def _frame(self, kind: str, payload: str) -> str:
        body = f"{kind}{self._sequence:04X}{payload}"
        return f"\x83{HEAD}{body}{_checksum(body)}{TAIL}"

    def _pulses(self, mac: str) -> str:
        """Return the pulses of 1 s, of 8 s, of the hour so far, of the energy fed in, and an offset."""
        behaviour = self._behaviours[mac]
        truth, now_s, waveform = behaviour.truth(), behaviour.now_s(), behaviour.waveform
        if mac in self._kept and truth.true_energy_j == self._kept[mac][0]:
            return self._kept[mac][1]
        if math.isnan(truth.power_w):
            return "FFFFFFFF" + "0" * 20
        factor = truth.power_w / truth.true_power_w
        counted = [_counted(waveform.energy_j(now_s - s, now_s) / s * factor) * s for s in (1, 8)]
        pulses_1s, pulses_8s = (min(round(count), 0x7FFF) for count in counted)
        hour = round(max(truth.energy_j, 0.0) * PULSES_PER_J)
        reply = f"{pulses_1s:04X}{pulses_8s:04X}{hour & 0xFFFFFFFF:08X}00000000{14:04X}"
        self._kept[mac] = (truth.true_energy_j, reply)
        return reply


def _counted(power_w: float) -> float:
    """Return the pulses per second that the calibration converts back to this power."""
    pulses_per_s = power_w * PULSES_PER_J - OFFSET_TOTAL
    return (-GAIN_A + math.sqrt(GAIN_A**2 + 4 * GAIN_B * pulses_per_s)) / (2 * GAIN_B) - OFFSET_NOISE


def _checksum(text: str) -> str:
    return f"{binascii.crc_hqx(text.encode('ascii', 'replace'), 0):04X}"
