"""Kasa and Tapo plugs by TP-Link, through python-kasa: https://python-kasa.readthedocs.io

The first protocol (TCP port 9999: HS110, KP115, HS300, ...) needs no login. Newer plugs need user and
password of the TP-Link account, and are identified by UDP first (never tried here with a real one). Power is
instantaneous. The counter has steps of 1 Wh (3.6 kJ) and restarts with the plug, in newer ones at midnight: a
fall is a reset, never a wrap.
"""

import asyncio
import importlib.util
import math
import threading
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.machine.installing import installs
from perjoule.meters._deadline import Deadline, connected
from perjoule.meters._metered import MeterReading, Read
from perjoule.meters._plug import JOULES_PER_KWH, JOULES_PER_WH, Plug
from perjoule.model import OPTIONS, Json
from perjoule.model.errors import MachineError, PerjouleError

if TYPE_CHECKING:
    from kasa import Device

EXAMPLE = """
[[meter]]
kind = "kasa"
address = "192.0.2.40"
covers = ["storage-1"]
"""

FIX = installs("perjoule[meters]")
PORT, KEY, WHO = 9999, 171, b'{"system":{"get_sysinfo":{}}}'  # of the first protocol
MOST_BYTES = 64 * 1024  # of its answers; a strip of six sockets says 2 KiB
MOST_ANSWERS_BYTES = 2**20  # of all that are needed to connect, or for a reading
CONNECT_FACTOR = 5.0  # to connect takes several questions
Run = Callable[[Coroutine[Any, Any, Any], float], Any]


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Kasa(Plug):
    """A plug or strip by TP-Link at the wall: its instantaneous power, and its energy counter if it has
    one.
    """

    socket: int | None = None
    """Which socket of a strip, from 0; all of them if absent."""

    user: str = ""
    """User of the TP-Link account, for newer plugs; with password_file."""

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Connect and check what the plug meters.

        Raises OSError, MachineError, ValueError (it has no power meter).
        """
        if self.password_file is None:
            _check_short(self.address, self.timeout_s)
        with _running(self.address) as run:
            device = run(self._device(), CONNECT_FACTOR * self.timeout_s)
            try:
                energy, model = run(self._energy(device), self.timeout_s)
                if energy is None:
                    at = "" if self.socket is None else f" at socket {self.socket}"
                    raise ValueError(f"{model} has no power meter{at}")
                power_channel = self.power(extent, resolution_w=0.001)
                energy_channel = self.energy(extent, resolution_j=JOULES_PER_WH)

                async def numbers() -> tuple[float, float | None]:
                    """Watts and kWh. Here the library trips over them, too: it divides what the plug said."""
                    status = await energy.get_status()
                    power_w, total_kwh = status.power, status.total
                    return math.nan if power_w is None else float(
                        power_w
                    ), None if total_kwh is None else float(total_kwh)

                def read() -> list[MeterReading]:
                    power_w, total_kwh = run(numbers(), self.timeout_s)
                    readings = [MeterReading(power_channel, power_w)]
                    if total_kwh is not None:
                        readings.append(MeterReading(energy_channel, total_kwh * JOULES_PER_KWH))
                    return readings

                yield read
            finally:
                with suppress(OSError, MachineError):
                    run(device.disconnect(), self.timeout_s)

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find plugs that speak the first protocol and meter."""
        return tuple({"kind": "kasa", "address": address} for address in addresses if _meters(address))

    def checks(self) -> tuple[Check, ...]:
        """Check for python-kasa."""
        ok = importlib.util.find_spec("kasa") is not None
        return (
            Check("python-kasa", ok, "it speaks to the plug" if ok else "it is missing", "" if ok else FIX),
        )

    async def _device(self) -> "Device":
        from kasa import Device, DeviceConfig, Discover

        host, _, port = self.address.partition(":")
        password = self.password
        if not password:
            return await Device.connect(config=DeviceConfig(host, port_override=int(port) if port else None))
        device = await Discover.discover_single(host, username=self.user, password=password)  # pyright: ignore[reportUnknownMemberType]
        if device is None:
            raise OSError(f"no plug answers at {host}")
        await device.update()
        return device

    async def _energy(self, device: "Device") -> tuple[Any, str]:
        """Return what meters (None if nothing does), and the model, which the library makes of an answer."""
        sockets = [device] if self.socket is None else device.children[self.socket : self.socket + 1]
        modules = [outlet.modules["Energy"] for outlet in sockets if "Energy" in outlet.modules]
        return next(iter(modules), None), device.model


def _meters(address: str) -> bool:
    try:
        with Kasa(address=address).connect(Boundary("kasa", "", "total")):
            return True
    except (PerjouleError, OSError, ValueError):
        return False


def _check_short(address: str, timeout_s: float) -> None:
    """Check for a short answer in the first protocol, because the library accepts any length.

    Raises OSError.
    """
    host, _, port = address.partition(":")
    key, request = KEY, bytearray()
    for byte in WHO:
        request.append(key := key ^ byte)
    with connected(host, int(port or PORT), Deadline(timeout_s)) as line:
        line.sendall(len(request).to_bytes(4) + request)
        head = b""
        while len(head) < 4:
            if not (part := line.recv(4 - len(head))):
                raise OSError(f"{address}: it has closed the connection")
            head += part
    if (length := int.from_bytes(head)) > MOST_BYTES:
        raise OSError(f"{address}: an answer of {length} bytes can't come from a plug")


class _Loop(asyncio.SelectorEventLoop):
    """A loop whose connections bring no more than `left_bytes`, because the library accepts any length."""

    left_bytes = 0

    async def create_connection(self, *arguments: Any, **options: Any) -> Any:
        """Connect; too much data ends the connection."""
        transport, protocol = await super().create_connection(*arguments, **options)
        take = protocol.data_received

        def data_received(data: bytes) -> None:
            self.left_bytes -= len(data)
            if self.left_bytes < 0:
                transport.abort()
            else:
                take(data)

        protocol.data_received = data_received
        return transport, protocol


@contextmanager
def _running(address: str) -> Generator[Run]:
    """Return a runner of coroutines with a time limit: a loop in its own thread, because the caller may
    have another.
    """
    if importlib.util.find_spec("kasa") is None:
        raise MachineError("python-kasa is not installed", where="meter kasa", next=FIX)
    from kasa.exceptions import AuthenticationError

    loop = _Loop()
    thread = threading.Thread(target=loop.run_forever, name="kasa", daemon=True)
    thread.start()

    def run(coroutine: Coroutine[Any, Any, Any], timeout_s: float) -> Any:
        loop.left_bytes = MOST_ANSWERS_BYTES
        try:
            return asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, timeout_s), loop).result()
        except AuthenticationError as error:
            advice = "set user and password_file of the TP-Link account in the [[meter]] table"
            raise MachineError("it rejects this user and password", where=address, next=advice) from error
        except TimeoutError:
            raise OSError(f"{address} does not answer within {timeout_s:g} s") from None
        except Exception as error:  # the library's own, and what it trips over in a strange answer
            if loop.left_bytes < 0:
                raise OSError(
                    f"{address}: answers of more than {MOST_ANSWERS_BYTES} bytes can't come from a plug"
                ) from error
            raise OSError(f"{address}: {error or type(error).__name__}") from error

    try:
        yield run
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
