"""A NETIO PowerPDU 4C, whose first output feeds the load: https://wiki.netio-products.com/index.php?title=JSON_API"""

import json
import math
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from perjoule.model import Json
from perjoule.simulators._behaviour import HOSTILE, Behaviour, Fault, Truth
from perjoule.simulators._http import HttpAnswer, answering
from perjoule.simulators._login import basic, password_option

__all__ = ["FAULTS", "HOSTILE", "serve"]

FAULTS: tuple[Fault, ...] = (
    "late", "duplicate", "missing", "frozen", "nan", "wrap", "reset", "spike", "clock jump", "disconnect", "reversed",
    "zero", "unknown",
)  # fmt: skip
OUTPUTS_COUNT, VOLTAGE_V = 4, 230.0
IDLE_WH = (4, 0, 8)  # of the outputs that feed nothing any more


@contextmanager
def serve(
    behaviour: Behaviour,
    *,
    address: str = "127.0.0.1",
    port: int = 0,
    output: int = 0,
    password: str = "",
    enabled: bool = True,
) -> Generator[Mapping[str, Json]]:
    """Serve one PDU during the block; yields the options of the [[meter]] table that reads it.

    Args:
        behaviour: of the load.
        address: to listen at.
        port: to listen at; 0: any.
        output: that the table names; 0: all of them.
        password: of its user "netio"; "": it wants no login.
        enabled: whether its JSON may be read.
    """
    login = basic("netio", password)

    def answer(path: str, headers: Mapping[str, str]) -> HttpAnswer:
        if path != "/netio.json":
            return HttpAnswer(b"Not Found", 404)
        if not enabled:
            return HttpAnswer(b"", 403)
        if password and headers.get("Authorization") != login:
            return HttpAnswer(b"", 401, {"WWW-Authenticate": 'Basic realm="NETIO"'})
        return HttpAnswer(json.dumps(document(behaviour.truth())).encode())

    with answering(behaviour, answer, address, port) as place, password_option(password) as login_option:
        table: Mapping[str, Json] = {"output": output} if output else {}
        yield {"kind": "netio", "address": place, **table, **login_option}


def document(truth: Truth) -> Json:
    """Return netio.json: whole watts and watt-hours, milliamperes; null for what it does not know."""
    known = not math.isnan(truth.power_w)
    load_w, energy_wh = (round(truth.power_w), math.floor(truth.energy_j / 3600)) if known else (None, None)
    total_wh = None if energy_wh is None else energy_wh + sum(IDLE_WH)
    current_ma = round(truth.power_w / VOLTAGE_V * 1e3) if known else None
    fed: Json = {
        "ID": 1,
        "Name": "output_1",
        "State": 1,
        "Action": 6,
        "Delay": 5000,
        "Current": current_ma,
        "PowerFactor": 1.0,
        "Load": load_w,
        "Energy": energy_wh,
    }
    idle: list[Json] = [
        {
            **fed,
            "ID": n,
            "Name": f"output_{n}",
            "State": 0,
            "Current": 0,
            "PowerFactor": 0.0,
            "Load": 0,
            "Energy": wh,
        }
        for n, wh in enumerate(IDLE_WH, start=2)
    ]
    return {
        "Agent": {
            "Model": "PowerPDU 4C",
            "Version": "3.4.2",
            "JSONVer": "2.1",
            "DeviceName": "myNetio",
            "VendorID": 0,
            "OemID": 0,
            "SerialNumber": "24:A4:2C:00:00:01",
            "Uptime": 4521231,
            "Time": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(truth.clock_s)),
            "NumOutputs": OUTPUTS_COUNT,
        },
        "GlobalMeasure": {
            "Voltage": VOLTAGE_V,
            "Frequency": 50.0,
            "TotalCurrent": current_ma,
            "OverallPowerFactor": 1.0,
            "TotalLoad": load_w,
            "TotalEnergy": total_wh,
            "EnergyStart": "1970-01-01T01:00:00+01:00",
        },
        "Outputs": [fed, *idle],
    }
