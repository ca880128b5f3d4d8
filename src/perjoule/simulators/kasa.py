"""A Kasa plug of the kind HS110, over TCP with the first protocol: JSON, each byte XORed with the one before.

https://www.softscheck.com/en/blog/tp-link-reverse-engineering/
"""

import json
import math
import socket
import struct
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from perjoule.model import Json
from perjoule.simulators._behaviour import HOSTILE, Behaviour, Fault, Truth
from perjoule.simulators._hostile import pour
from perjoule.simulators._tcp import connections

__all__ = ["FAULTS", "HOSTILE", "serve"]

FAULTS: tuple[Fault, ...] = (
    "late",
    "duplicate",
    "missing",
    "frozen",
    "nan",
    "wrap",
    "reset",
    "spike",
    "disconnect",
)
KEY = 171  # of the first byte
UNKNOWN: Json = {"err_code": -1, "err_msg": "module not support"}


@contextmanager
def serve(
    behaviour: Behaviour, *, address: str = "127.0.0.1", port: int = 0, hardware: int = 2
) -> Generator[Mapping[str, Json]]:
    """Serve one plug of hardware version 1 (W, kWh) or 2 (mW, Wh) during the block; yields its [[meter]]
    table.
    """
    realtime = _realtime_1 if hardware == 1 else _realtime_2

    def handle(client: socket.socket, stop: threading.Event) -> None:
        with client.makefile("rb") as stream:
            while header := stream.read(4):
                request = json.loads(deciphered(stream.read(struct.unpack(">I", header)[0])))
                manner = behaviour.manner() if "emeter" in request else None
                if manner is not None and manner.hang_up:
                    return
                if manner is not None and manner.hostile:
                    pour(manner.hostile, client.sendall, stop)
                if manner is not None and (stop.wait(manner.delay_s) or manner.silent):
                    continue
                reply = json.dumps(
                    {
                        module: _answers(module, calls, behaviour, realtime)
                        for module, calls in request.items()
                    }
                )
                client.sendall(framed(reply.encode()))

    with connections(handle, address, port) as own_port:
        yield {"kind": "kasa", "address": f"{address}:{own_port}"}


def _answers(
    module: str, calls: Mapping[str, Json], behaviour: Behaviour, realtime: Callable[[Truth], Json]
) -> Json:
    if module == "system":
        return {"get_sysinfo": _SYSTEM}
    if module != "emeter":
        return UNKNOWN
    lists: dict[str, Json] = {
        "get_daystat": {"day_list": [], "err_code": 0},
        "get_monthstat": {"month_list": [], "err_code": 0},
    }
    return {
        call: realtime(behaviour.truth()) if call == "get_realtime" else lists.get(call, UNKNOWN)
        for call in calls
    }


def _realtime_1(truth: Truth) -> Json:
    if math.isnan(truth.power_w):
        return {"err_code": -3, "err_msg": "no value"}
    total_kwh = math.floor(truth.energy_j / 3600) / 1000
    return {
        "current": 0.2,
        "voltage": 231.4,
        "power": round(truth.power_w, 6),
        "total": total_kwh,
        "err_code": 0,
    }


def _realtime_2(truth: Truth) -> Json:
    if math.isnan(truth.power_w):
        return {"err_code": -3, "err_msg": "no value"}
    power_mw, total_wh = round(truth.power_w * 1000), math.floor(truth.energy_j / 3600)
    return {
        "voltage_mv": 231400,
        "current_ma": 200,
        "power_mw": power_mw,
        "total_wh": total_wh,
        "err_code": 0,
    }


_SYSTEM: Json = {
    "sw_ver": "1.5.6 Build 191125 Rel.083657",
    "hw_ver": "2.0",
    "type": "IOT.SMARTPLUGSWITCH",
    "model": "HS110(EU)",
    "mac": "B0:95:75:46:0C:01",
    "dev_name": "Smart Wi-Fi Plug With Energy Monitoring",
    "alias": "storage-1",
    "deviceId": "8006E5",
    "relay_state": 1,
    "on_time": 80212,
    "active_mode": "none",
    "feature": "TIM:ENE",
    "updating": 0,
    "icon_hash": "",
    "rssi": -49,
    "led_off": 0,
    "longitude_i": 0,
    "latitude_i": 0,
    "hwId": "044A516EE63C875F9458DA25C2CCC5A0",
    "fwId": "00000000000000000000000000000000",
    "oemId": "1998A14DAA86E4E001FD7CAF42868B5E",
    "err_code": 0,
}


def framed(plain: bytes) -> bytes:
    """Put the length before a ciphered answer."""
    return struct.pack(">I", len(plain)) + ciphered(plain)


def ciphered(plain: bytes) -> bytes:
    """XOR each byte with the ciphered one before it."""
    key, made = KEY, bytearray()
    for byte in plain:
        key ^= byte
        made.append(key)
    return bytes(made)


def deciphered(ciphered: bytes) -> bytes:
    """Reverse `ciphered`."""
    return bytes(byte ^ before for byte, before in zip(ciphered, bytes([KEY]) + ciphered, strict=False))
