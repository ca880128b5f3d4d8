"""A SmartPower3 whose output 0 feeds the load, at a pseudo-terminal or over UDP, by the firmware's logTask:
https://github.com/hardkernel/smartpower3
"""

import math
import os
import select
import socket
import threading
import time
import tty
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from functools import reduce
from typing import Literal

from perjoule.model import Json
from perjoule.simulators._behaviour import HOSTILE, Behaviour, Fault, Truth
from perjoule.simulators._hostile import pour

__all__ = ["FAULTS", "HOSTILE", "serve"]

FAULTS: tuple[Fault, ...] = ("late", "missing", "frozen", "nan", "reset", "spike")
INPUT_MV, OUTPUT_MV = 19_000, 12_000
EFFICIENCY, OWN_W = 0.93, 1.0  # of its converter; of its screen
MOST_MW, MOST_MA = 65_535, 9_999  # 16 bits, four digits
SENT_S = 0.01
Way = Literal["serial", "udp"]


@contextmanager
def serve(
    behaviour: Behaviour,
    *,
    address: str = "127.0.0.1",
    port: int = 0,
    way: Way = "serial",
    interval_s: float = 0.01,
) -> Generator[Mapping[str, Json]]:
    """Serve one during the block; yields the options of the [[meter]] table that reads it.

    NaN is a pause: it has no word for it.

    Args:
        behaviour: of the load.
        address: to send to, over UDP.
        port: to send to, over UDP; 0: a free one.
        way: "serial", a pseudo-terminal, or "udp".
        interval_s: of its lines.
    """
    stop = threading.Event()
    with _terminal(stop) if way == "serial" else _network(address, port) as (send, table):
        device = _Device(behaviour, send, stop, interval_s)
        thread = threading.Thread(target=device.run, name="smartpower3", daemon=True)
        thread.start()
        try:
            yield {"kind": "smartpower3", **table, "outputs": {"0": ""}}
        finally:
            stop.set()
            thread.join()


@contextmanager
def _terminal(stop: threading.Event) -> Generator[tuple[Callable[[bytes], object], Mapping[str, Json]]]:
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    os.set_blocking(ours, False)

    def send(output: bytes) -> None:
        """Write as on a cable: what nobody reads is lost."""
        until_s = time.monotonic() + SENT_S
        while output and time.monotonic() < until_s and not stop.is_set():
            with suppress(OSError):
                if select.select([], [ours], [], SENT_S)[1]:
                    output = output[os.write(ours, output) :]

    try:
        yield send, {"address": os.ttyname(theirs)}
    finally:
        os.close(ours)
        os.close(theirs)


@contextmanager
def _network(address: str, port: int) -> Generator[tuple[Callable[[bytes], object], Mapping[str, Json]]]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
        if not port:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.bind((address, 0))
                port = probe.getsockname()[1]

        def send(output: bytes) -> None:
            with suppress(OSError):
                ours.sendto(output, (address, port))

        yield send, {"address": address, "port": port}


class _Device:
    def __init__(
        self, behaviour: Behaviour, send: Callable[[bytes], object], stop: threading.Event, interval_s: float
    ) -> None:
        self._behaviour, self._send, self._stop, self._interval_s = behaviour, send, stop, interval_s
        self._began_s, self._sent_count = behaviour.now_s(), 0  # of its clock, and lines since
        self._energy_j = 0.0  # that it had counted
        self._kept = (math.nan, math.nan)  # true energy and power of the lines before

    def run(self) -> None:
        """Send the lines that are due until it is stopped, each of the interval before."""
        while not self._stop.wait(self._interval_s):
            manner = self._behaviour.manner()
            if manner.hostile:
                with suppress(OSError):
                    pour(manner.hostile, self._send, self._stop)
            if self._stop.wait(manner.delay_s):
                return
            truth = self._behaviour.truth()
            if truth.energy_j < self._energy_j:
                self._began_s, self._sent_count = self._behaviour.now_s(), 0
            self._energy_j = truth.energy_j
            due_count = int((self._behaviour.now_s() - self._began_s) / self._interval_s)
            first, self._sent_count = self._sent_count, due_count
            if not (manner.silent or manner.hostile or math.isnan(truth.power_w)):
                for number in range(first, due_count):
                    self._line(number, truth)

    def _line(self, number: int, truth: Truth) -> None:
        began_s = self._began_s + number * self._interval_s
        energy_j = self._behaviour.waveform.energy_j(began_s, began_s + self._interval_s)
        power_w = energy_j / self._interval_s * truth.power_w / truth.true_power_w
        if truth.true_energy_j == self._kept[0]:
            power_w = self._kept[1]
        self._kept = (truth.true_energy_j, power_w)
        self._send(line(round((number + 1) * self._interval_s * 1000), power_w))


def line(time_ms: int, power_w: float) -> bytes:
    """Write a line of a moment at which output 0 has this power, and output 1 is off."""
    summed = (
        f"{time_ms % 2**32:010},{_load(INPUT_MV, power_w / EFFICIENCY + OWN_W)},0,"
        f"{_load(OUTPUT_MV, power_w)},1,00,{_load(0, 0.0)},0,00,"
    ).encode()
    return summed + b"%02x,%02x\r\n" % (-sum(summed) % 256, reduce(int.__xor__, summed))


def _load(voltage_mv: int, power_w: float) -> str:
    current_ma = min(int(power_w * 1e6 / voltage_mv), MOST_MA) if voltage_mv else 0
    return f"{voltage_mv:05},{current_ma:04},{min(voltage_mv * current_ma // 1000, MOST_MW):05}"
