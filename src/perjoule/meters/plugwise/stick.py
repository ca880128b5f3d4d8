"""The protocol of Plugwise's USB stick: hexadecimal frames with a checksum, and the conversion of a Circle's
pulses to watts.

M. Damen, Plugwise unleashed:
https://www.maartendamen.com/wp-content/uploads/2010/08/Plugwise-unleashed-0.1.pdf, and as implemented by
https://github.com/plugwise/python-plugwise-usb
"""

import binascii
import math
import struct
from dataclasses import dataclass

HEAD, TAIL = b"\x05\x05\x03\x03", b"\r\n"
PULSES_PER_J = 0.4689385193
INIT, INIT_SAID = "000A", "0011"
POWER, POWER_SAID = "0012", "0013"
CALIBRATION, CALIBRATION_SAID = "0026", "0027"
ACKNOWLEDGED = "0000"
ACCEPTED = "00C1"
REFUSALS = {"00C2": "the stick refuses the request", "00E1": "the Circle does not answer the stick"}
UNKNOWN_PULSES = -1  # what a Circle says before it has counted


@dataclass(frozen=True)
class StickFrame:
    """A frame from the stick: its kind, the request that it answers, and the rest."""

    kind: str
    sequence: str
    body: str


@dataclass(frozen=True)
class Calibration:
    """A Circle's factory calibration."""

    gain_a: float
    gain_b: float
    offset_total: float
    offset_noise: float


def checksum(text: str) -> str:
    """CRC-16/XMODEM in hexadecimal."""
    return f"{binascii.crc_hqx(text.encode('ascii'), 0):04X}"


def frame(text: str) -> bytes:
    """Return a frame around a request or an answer in hexadecimal."""
    return HEAD + (text + checksum(text)).encode("ascii") + TAIL


def received(line: bytes) -> StickFrame | None:
    """Parse a line from the stick; None if it has no frame (the stick's own chatter).

    Raises:
        ValueError: a frame with a wrong checksum.
    """
    _, head, body = line.rpartition(HEAD)
    if not head:
        return None
    text = body.strip().decode("ascii", "replace")
    if len(text) < 12 or checksum(text[:-4]) != text[-4:]:
        raise ValueError(f"the stick says {text[:40]!r}, with a wrong checksum")
    return StickFrame(text[:4], text[4:8], text[8:-4])


def calibration(body: str) -> Calibration:
    """Parse an answer to CALIBRATION after the Circle's address: four floats, big-endian.

    Raises ValueError.
    """
    try:
        return Calibration(*struct.unpack(">4f", bytes.fromhex(body[16:48])))
    except struct.error as error:
        raise ValueError(f"a Circle's calibration is cut off: {body!r}") from error


def pulses(body: str) -> tuple[float, float]:
    """Parse the pulses of the last 1 s and 8 s in an answer to POWER; negative: it feeds in; NaN: it has none
    yet.

    Raises:
        ValueError: the answer is cut off.
    """
    if len(body) < 24:
        raise ValueError(f"a Circle's pulses are cut off: {body!r}")
    try:
        pulses_1s, pulses_8s = struct.unpack(">2h", bytes.fromhex(body[16:24]))
    except struct.error as error:
        raise ValueError(f"a Circle's pulses are cut off: {body[:40]!r}") from error
    return (math.nan if pulses_1s == UNKNOWN_PULSES else pulses_1s), (
        math.nan if pulses_8s == UNKNOWN_PULSES else pulses_8s
    )


def power_w(counted: float, window_s: float, circle: Calibration) -> float:
    """Return the mean watts of this many pulses in a window; no pulse is 0 W."""
    if counted == 0:
        return 0.0
    per_s = counted / window_s + circle.offset_noise
    return (circle.gain_b * per_s**2 + circle.gain_a * per_s + circle.offset_total) / PULSES_PER_J
