"""A Redfish service with a login, in the schemas that services speak: https://redfish.dmtf.org/schemas/"""

import json
import math
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Literal

from perjoule.model import Json
from perjoule.simulators._behaviour import HOSTILE, Behaviour, Fault, Truth
from perjoule.simulators._http import HttpAnswer, answering
from perjoule.simulators._login import basic, password_option

__all__ = ["FAULTS", "HOSTILE", "serve"]

FAULTS: tuple[Fault, ...] = (
    "late",
    "duplicate",
    "missing",
    "frozen",
    "nan",
    "reset",
    "wrap",
    "spike",
    "disconnect",
)
Schema = Literal["environment", "energy in kWh", "energy in joules", "power", "average"]
USER, PASSWORD, TOKEN = "monitor", "simulated", "a-session-of-a-simulator"
SELF = "/redfish/v1/Chassis/1"
SENSING_S = 3


@contextmanager
def serve(
    behaviour: Behaviour, *, address: str = "127.0.0.1", port: int = 0, schema: Schema = "environment"
) -> Generator[Mapping[str, Json]]:
    """Serve during the block. NaN is null, as in real services."""

    def answer(path: str, headers: Mapping[str, str]) -> HttpAnswer:
        if path == "/redfish/v1/":
            return _json({"RedfishVersion": "1.15.0", "Chassis": {"@odata.id": "/redfish/v1/Chassis"}})
        if headers.get("X-Auth-Token") != TOKEN and headers.get("Authorization") != _BASIC:
            return HttpAnswer(b"{}", status=401)
        document = resource(path, behaviour.truth(), schema)
        return HttpAnswer(b"{}", status=404) if document is None else _json(document)

    def change(path: str, body: bytes) -> HttpAnswer:
        if body and json.loads(body) != {"UserName": USER, "Password": PASSWORD}:
            return HttpAnswer(b"{}", status=401)
        return (
            HttpAnswer(b"{}", 201, {"X-Auth-Token": TOKEN, "Location": f"{path}/1"})
            if body
            else HttpAnswer(b"", 204)
        )

    with (
        password_option(PASSWORD) as login_option,
        answering(behaviour, answer, address, port, change=change) as place,
    ):
        quantity = "energy" if schema.startswith("energy") else "power"
        yield {
            "kind": "redfish",
            "address": f"http://{place}",
            "quantity": quantity,
            "user": USER,
            **login_option,
        }


def resource(path: str, truth: Truth, schema: Schema) -> dict[str, Json] | None:
    """Return the resource at a path; None if it is missing."""
    power_w = None if math.isnan(truth.power_w) else round(truth.power_w, 1)
    energy_j = None if math.isnan(truth.energy_j) else truth.energy_j
    whole_w = None if math.isnan(truth.power_w) else round(truth.power_w)
    old = schema in ("power", "average")
    match path:
        case "/redfish/v1/Chassis":
            return {"Members": [{"@odata.id": SELF}, {"@odata.id": "/redfish/v1/Chassis/Drives"}]}
        case "/redfish/v1/Chassis/Drives":
            return {"Id": "Drives"}
        case "/redfish/v1/Chassis/1":
            name = "Power" if old else "EnvironmentMetrics"
            return {"Id": "1", name: {"@odata.id": f"{SELF}/{name}"}}
        case "/redfish/v1/Chassis/1/EnvironmentMetrics" if not old:
            power: Json = {"Reading": power_w, "DataSourceUri": f"{SELF}/Sensors/TotalPower"}
            kwh: Json = {"Reading": None if energy_j is None else round(energy_j / 3.6e6, 6)}
            energy: dict[str, Json] = (
                {"EnergyJoules": {"Reading": energy_j}}
                if schema == "energy in joules"
                else {"EnergykWh": kwh}
            )
            return {
                "@odata.type": "#EnvironmentMetrics.v1_3_0.EnvironmentMetrics",
                "PowerWatts": power,
                **energy,
            }
        case "/redfish/v1/Chassis/1/Sensors/TotalPower":
            return {
                "ReadingType": "Power",
                "Reading": power_w,
                "SensingInterval": f"PT{SENSING_S}S",
                "Accuracy": 1.0,
            }
        case "/redfish/v1/Chassis/1/Power" if old:
            mean: Json = {
                "IntervalInMin": 1,
                "AverageConsumedWatts": whole_w,
                "MinConsumedWatts": 0,
                "MaxConsumedWatts": 999,
            }
            momentary: dict[str, Json] = {} if schema == "average" else {"PowerConsumedWatts": whole_w}
            return {
                "@odata.type": "#Power.v1_5_0.Power",
                "PowerControl": [{"MemberId": "0", "PowerMetrics": mean, **momentary}],
            }
        case _:
            return None


_BASIC = basic(USER, PASSWORD)


def _json(document: Mapping[str, Json]) -> HttpAnswer:
    return HttpAnswer(json.dumps(document).encode())
