"""A GUDE PDU with two inlets, their sum and outputs, the first of which feeds the load:
https://github.com/gudesystems/check_gude.py
"""

import json
import math
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
FIELDS: tuple[tuple[str, str, int], ...] = (
    ("Voltage", "V", 3),
    ("Current", "A", 3),
    ("Frequency", "Hz", 2),
    ("PhaseIU", "degree", 2),
    ("ActivePower", "W", 0),
    ("ReactivePower", "VAR", 0),
    ("ApparentPower", "VA", 0),
    ("Powerfactor", "", 2),
    ("AbsActEnergyNonRes", "kWh", 3),
    ("AbsReactEnergyNonRes", "kVARh", 3),
    ("AbsActEnergyRes", "kWh", 3),
)
OUTPUTS_COUNT, VOLTAGE_V = 4, 230.0


@contextmanager
def serve(
    behaviour: Behaviour, *, address: str = "127.0.0.1", port: int = 0, output: int = 0, password: str = ""
) -> Generator[Mapping[str, Json]]:
    """Serve one PDU during the block; yields the options of the [[meter]] table that reads it.

    Args:
        behaviour: of the load.
        address: to listen at.
        port: to listen at; 0: any.
        output: that the table names; 0: all inlets.
        password: of its user "admin"; "": it wants no login.
    """
    login = basic("admin", password)

    def answer(path: str, headers: Mapping[str, str]) -> HttpAnswer:
        if path != "/status.json?components=81920":
            return HttpAnswer(b"Not Found", 404)
        if password and headers.get("Authorization") != login:
            return HttpAnswer(b"", 401, {"WWW-Authenticate": 'Basic realm="GUDE"'})
        return HttpAnswer(json.dumps(status(behaviour.truth())).encode())

    with answering(behaviour, answer, address, port) as place, password_option(password) as login_option:
        table: Mapping[str, Json] = {"output": output} if output else {}
        yield {"kind": "gude", "address": place, **table, **login_option}


def status(truth: Truth) -> Json:
    """Return status.json: inlet A feeds the load, B nothing."""
    load, idle = _row(truth.power_w, truth.energy_j), _row(0.0, 0.0)
    fields: list[Json] = [
        {"name": name, "unit": unit, "decPrecision": decimals} for name, unit, decimals in FIELDS
    ]
    inlets, outputs = [load, idle, load], [load, *[idle] * (OUTPUTS_COUNT - 1)]

    def described(kind: int, names: list[str], total: int | None) -> Json:
        properties: list[Json] = [{"id": name, "name": name, "state": 0, "statistics": []} for name in names]
        return {
            "type": kind,
            "num": len(names),
            "options": {"sumRowIndex": total},
            "fields": fields,
            "properties": properties,
        }

    def valued(kind: int, rows: list[Json]) -> Json:
        return {"type": kind, "num": len(rows), "index": 0, "options": {"valid": 1}, "values": rows}

    return {
        "sensor_descr": [
            described(1, ["Meter-A", "Meter-B", "sum"], 2),
            described(8, [f"Power Port {n}" for n in range(1, OUTPUTS_COUNT + 1)], None),
        ],
        "sensor_values": [valued(1, inlets), valued(8, outputs)],
        "eof": 1,
    }


def _row(power_w: float, energy_j: float) -> Json:
    known = not math.isnan(power_w)
    watts = round(power_w) if known else None
    counted = math.floor(energy_j / 3600) / 1e3 if known else None
    current = round(power_w / VOLTAGE_V, 3) if known else None
    values = (VOLTAGE_V, current, 50.0, 0.0, watts, 0, watts, 1.0, counted, 0.0, counted)
    return [{"v": value, "s": 0, "st": []} for value in values]
