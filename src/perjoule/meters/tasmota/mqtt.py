"""A Tasmota plug at an MQTT broker: https://tasmota.github.io/docs/MQTT/

Commands go to cmnd/%topic%/COMMAND, answers come as stat/%topic%/..., and each TelePeriod brings a message in
tele/%topic%/SENSOR.
"""

import importlib.util
import queue
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perjoule.drivers.protocols import Check
from perjoule.machine.installing import installs
from perjoule.machine.untrusted import json_from
from perjoule.meters._plug import table
from perjoule.model.errors import MachineError

if TYPE_CHECKING:
    from paho.mqtt.client import Client, MQTTMessage

FIX = installs("perjoule[meters]")
PORT = 1883
MOST_BYTES = 256 * 1024  # of a message; Tasmota sends some 4 KiB at most
MOST_MESSAGES = 1000  # that wait to be read


@dataclass(frozen=True)
class MqttAnswer:
    """An answer, and when it arrived on CLOCK_MONOTONIC (None: when it was requested)."""

    content: Mapping[str, Any]
    t_s: float | None = None


def library() -> Check:
    """Check for paho-mqtt."""
    ok = importlib.util.find_spec("paho") is not None
    return Check(
        "paho-mqtt", ok, "it speaks MQTT" if ok else "it is missing, and speaks MQTT", "" if ok else FIX
    )


@contextmanager
def listening(
    broker: str, topic: str, *, timeout_s: float, user: str, password: str, ask: bool
) -> Generator[Callable[[str], Sequence[MqttAnswer]]]:
    """Return a function that sends a command ("Status 10") and returns all messages since, oldest first.

    A retained message is old, by an unknown amount, and is left out. With `ask` false nothing is sent, and
    the result may be empty. Raises OSError (no answer in time, the broker is gone), MachineError.
    """
    if not library().ok:
        raise MachineError("paho-mqtt is not installed", where="meter tasmota", next=FIX)
    from paho.mqtt.client import Client
    from paho.mqtt.enums import CallbackAPIVersion

    client = Client(CallbackAPIVersion.VERSION2, reconnect_on_failure=False)
    client.connect_timeout = timeout_s
    if password:
        client.username_pw_set(user, password)
    line = _Line(client, broker, topic, timeout_s)
    try:
        line.open()
        yield lambda command: line.answers(command, ask=ask)
    finally:
        client.disconnect()
        client.loop_stop()


class _Line:
    """A client of a broker, and what it has heard of a plug."""

    def __init__(self, client: "Client", broker: str, topic: str, timeout_s: float) -> None:
        self._client, self._broker, self._topic, self._timeout_s = client, broker, topic, timeout_s
        self._heard: queue.SimpleQueue[MqttAnswer] = queue.SimpleQueue()
        self._ready: queue.SimpleQueue[str] = queue.SimpleQueue()  # "" or why not
        client.on_connect, client.on_subscribe, client.on_message = (
            self._on_connect,
            self._on_subscribe,
            self._on_message,
        )

    def open(self) -> None:
        """Connect and subscribe. Raises OSError, MachineError."""
        host, _, port = self._broker.partition(":")
        self._client.connect(host, int(port or PORT))
        self._client.loop_start()
        try:
            refused = self._ready.get(timeout=self._timeout_s)
        except queue.Empty:
            raise OSError(f"the broker {self._broker} does not answer") from None
        if refused:
            advice = "set its user and password_file in the [[meter]] table"
            raise MachineError(f"the broker refused: {refused}", where=self._broker, next=advice)

    def answers(self, command: str, *, ask: bool) -> list[MqttAnswer]:
        """Send a command, if it is to ask, and return the answers to it since the last call.

        Raises OSError.
        """
        if not self._client.is_connected():
            raise OSError(f"the connection to the broker {self._broker} was lost")
        if ask:
            name, _, argument = command.partition(" ")
            self._client.publish(f"cmnd/{self._topic}/{name}", argument)
        answers: list[MqttAnswer] = []
        deadline_s = time.monotonic() + (self._timeout_s if ask else 0.0)
        for _ in range(MOST_MESSAGES):  # others may come without end
            left_s = deadline_s - time.monotonic()
            try:
                answer = self._heard.get(block=not answers and left_s > 0, timeout=max(left_s, 0.001))
            except queue.Empty:
                break
            if ask and left_s < 0:
                break
            if _is_answer(answer, command):
                answers.append(answer)
        if ask and not answers:
            raise OSError(f"{self._topic} at the broker {self._broker} does not answer {command}")
        return answers

    def _on_connect(
        self, client: "Client", userdata: object, flags: object, reason: Any, properties: object
    ) -> None:
        if not reason.is_failure:
            client.subscribe([(f"stat/{self._topic}/+", 0), (f"tele/{self._topic}/SENSOR", 0)])
        else:
            self._ready.put(str(reason))

    def _on_subscribe(
        self, client: "Client", userdata: object, message: int, reasons: object, properties: object
    ) -> None:
        self._ready.put("")

    def _on_message(self, client: "Client", userdata: object, message: "MQTTMessage") -> None:
        t_s = time.monotonic()
        try:
            content = json_from(bytes(message.payload), MOST_BYTES)
        except ValueError:
            return  # stat/%topic%/POWER says ON
        if isinstance(content, dict) and not message.retain and self._heard.qsize() < MOST_MESSAGES:
            self._heard.put(MqttAnswer(content, t_s))  # pyright: ignore[reportUnknownArgumentType]


def _is_answer(answer: MqttAnswer, command: str) -> bool:
    name = command.partition(" ")[0]
    return (
        "ENERGY" in table(answer.content.get("StatusSNS", answer.content))
        if name == "Status"
        else name in answer.content
    )
