"""A plug with Tasmota: a server over HTTP, or, with a topic, a client of an MQTT broker,
https://tasmota.github.io/docs/Commands/
"""

import json
import math
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from perjoule.model import Json
from perjoule.simulators._behaviour import HOSTILE, Behaviour, Fault, Truth
from perjoule.simulators._http import HttpAnswer, answering

__all__ = ["FAULTS", "HOSTILE", "serve"]

FAULTS: tuple[Fault, ...] = (
    "late", "duplicate", "missing", "frozen", "nan", "wrap", "reset", "spike", "clock jump", "disconnect",
)  # fmt: skip
WATT_DECIMALS, ENERGY_DECIMALS = 1, 5


@contextmanager
def serve(
    behaviour: Behaviour, *, address: str = "127.0.0.1", port: int = 0, topic: str = "", tele_s: float = 300.0
) -> Generator[Mapping[str, Json]]:
    """Serve one plug during the block; with a topic, address and port are a running broker's.

    Yields the options of the [[meter]] table that reads it.
    """
    if topic:
        with _at_broker(behaviour, f"{address}:{port}", topic, tele_s):
            yield {"kind": "tasmota", "address": f"{address}:{port}", "topic": topic}
        return

    def answer(path: str, headers: Mapping[str, str]) -> HttpAnswer:
        command = parse_qs(urlsplit(path).query).get("cmnd", [""])[0]
        return HttpAnswer(json.dumps(reply(command, behaviour.truth())).encode())

    with answering(behaviour, answer, address, port) as place:
        yield {"kind": "tasmota", "address": place}


def reply(command: str, truth: Truth) -> Json:
    """Return the firmware's answer to a command."""
    match command.lower():
        case "status 10":
            return {"StatusSNS": sensor(truth)}
        case "wattres":
            return {"WattRes": WATT_DECIMALS}
        case "energyres":
            return {"EnergyRes": ENERGY_DECIMALS}
        case _:
            return {"Command": "Unknown"}


def sensor(truth: Truth) -> Json:
    """Return its sensor message: the time without a zone, kWh, watts."""
    nothing = math.isnan(truth.power_w)
    energy: Json = {
        "TotalStartTime": "2024-01-01T00:00:00",
        "Total": None if nothing else round(truth.energy_j / 3.6e6, ENERGY_DECIMALS),
        "Power": None if nothing else round(truth.power_w, WATT_DECIMALS),
        "Voltage": 231,
    }
    return {"Time": time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(truth.clock_s)), "ENERGY": energy}


@contextmanager
def _at_broker(behaviour: Behaviour, broker: str, topic: str, tele_s: float) -> Generator[None]:
    from paho.mqtt.client import Client, MQTTMessage
    from paho.mqtt.enums import CallbackAPIVersion

    stop, ready = threading.Event(), threading.Event()

    def answer(client: Client, command: str, argument: str) -> None:
        manner = behaviour.manner()
        if stop.wait(manner.delay_s) or manner.silent or manner.hang_up:
            return
        published = json.dumps(reply(f"{command} {argument}".strip(), behaviour.truth()))
        client.publish(
            f"stat/{topic}/{'STATUS' + argument if command.lower() == 'status' else 'RESULT'}", published
        )

    def on_connect(
        client: Client, userdata: object, flags: object, reason: object, properties: object
    ) -> None:
        client.subscribe(f"cmnd/{topic}/+")

    def on_subscribe(
        client: Client, userdata: object, message: int, reasons: object, properties: object
    ) -> None:
        ready.set()

    def on_message(client: Client, userdata: Any, message: MQTTMessage) -> None:
        command = message.topic.rpartition("/")[2]
        threading.Thread(target=answer, args=(client, command, message.payload.decode()), daemon=True).start()

    def tell() -> None:
        while not stop.wait(tele_s):
            client.publish(f"tele/{topic}/SENSOR", json.dumps(sensor(behaviour.truth())))

    client = Client(CallbackAPIVersion.VERSION2)
    client.on_connect, client.on_subscribe, client.on_message = on_connect, on_subscribe, on_message
    host, _, port = broker.partition(":")
    client.connect(host, int(port))
    client.loop_start()
    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        if not ready.wait(5.0):
            raise OSError(f"the broker {broker} does not answer")
        yield
    finally:
        stop.set()
        thread.join()
        client.disconnect()
        client.loop_stop()
