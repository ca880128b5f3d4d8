"""The two ways from a SmartPower3 to this machine: a serial line over USB, and UDP. Nothing is sent to it: a byte on
its line can stop its log.
"""

import importlib.util
import socket
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from perjoule.machine.installing import installs
from perjoule.meters._address import is_path, line
from perjoule.model.errors import MachineError

FIX = installs("perjoule[meters]")
CHUNK_BYTES = 4096
REST_S = 0.002  # in which a serial line gathers bytes: one read for each would take a core
Receive = Callable[[float], bytes]  # what comes within this time; b"" if nothing does


@contextmanager
def opened(address: str, port: int, baud: int) -> Generator[Receive]:
    """Listen to the serial line of this path, or to what the host of this address sends to a port.

    Raises OSError, MachineError.
    """
    with _serial(address, baud) if is_path(address) else _network(address, port) as receive:
        yield receive


@contextmanager
def _serial(path: str, baud: int) -> Generator[Receive]:
    if importlib.util.find_spec("serial") is None:
        raise MachineError("pyserial is not installed", where="meter smartpower3", next=FIX)
    import serial

    with serial.Serial(line(path), baud, exclusive=True) as port:
        port.reset_input_buffer()

        def receive(timeout_s: float) -> bytes:
            port.timeout = timeout_s
            first = port.read(1)
            if first:
                time.sleep(REST_S)
            return bytes(first + port.read(min(port.in_waiting, CHUNK_BYTES)))

        yield receive


@contextmanager
def _network(host: str, port: int) -> Generator[Receive]:
    family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, socket.SOCK_DGRAM) as ours:
        try:
            ours.bind((_facing(family, place), port))
        except OSError as error:
            reason = f"UDP port {port} of this machine: {error.strerror}"
            raise OSError(f"{reason} (choose another port here and in its menu)") from error

        def receive(timeout_s: float) -> bytes:
            ours.settimeout(timeout_s)
            try:
                datagram, sender = ours.recvfrom(CHUNK_BYTES)
            except TimeoutError:
                return b""
            return datagram if sender[0] == place[0] else b""  # anybody can send to a port

        yield receive


def _facing(family: int, place: tuple[object, ...]) -> str:
    """Return the address of this machine on the way to another one."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect(place)
        return str(probe.getsockname()[0])
