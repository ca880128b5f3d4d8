"""Answers of meters that libraries read, changed on their way: SNMP and the protocol of Kasa plugs."""

import socket
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Any

from perjoule import drivers
from perjoule.drivers.boundary import Boundary
from perjoule.meters._metered import Metered
from perjoule.model import Spec
from perjoule.simulators import kasa, snmp_pdu
from perjoule.simulators._behaviour import Behaviour

from .mutate import changed

TIMEOUT = "40 ms"


class Wires:
    """Targets that talk to simulated meters, which end with this process."""

    _open = ExitStack()
    _dice = Random()

    def __init__(self) -> None:
        super().__init__()
        self.strip, self.plug = self._strip(), self._plug()

    def _strip(self) -> dict[str, Any]:
        options = dict(self._open.enter_context(snmp_pdu.serve(Behaviour())))
        options["port"] = self._open.enter_context(self._between(int(str(options["port"]))))
        return options

    def _plug(self) -> dict[str, Any]:
        whole = kasa.framed

        def some(plain: bytes) -> bytes:
            """Change a third of the answers in what they say, and a few in their length or their bytes on
            the wire.
            """
            match self._dice.randrange(20):
                case 0:
                    return changed(whole(plain), self._dice, [plain])
                case 1 | 2 | 3 | 4 | 5 | 6 | 7:
                    return whole(changed(plain, self._dice, [plain]))
                case _:
                    return whole(plain)

        kasa.framed = some  # this process simulates, and nothing else here answers as a plug
        return dict(self._open.enter_context(kasa.serve(Behaviour())))

    def fuzz_snmp_meter(self, dice: Random) -> None:
        model = dice.choice(("apc", "raritan"))
        self._heard(
            {**self.strip, "model": model, "version": dice.choice(("1", "2c")), "timeout": TIMEOUT}, dice
        )

    def fuzz_kasa_meter(self, dice: Random) -> None:
        self._heard({**self.plug, "timeout": TIMEOUT}, dice)

    def _heard(self, options: dict[str, Any], dice: Random) -> None:
        Wires._dice = dice
        meter = drivers.meter(
            Spec(options["kind"], {key: value for key, value in options.items() if key != "kind"})
        )
        assert isinstance(meter, Metered)
        with meter.connect(Boundary("x", "", "total")) as read:
            for reading in read():
                assert isinstance(reading.value, float | int), reading

    @contextmanager
    def _between(self, port: int) -> Generator[int]:
        """Pass datagrams on to a port and back, some of the answers changed; yields the port to ask."""
        asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        asked.bind(("127.0.0.1", 0))

        def pass_on() -> None:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
                other.settimeout(0.2)
                while True:
                    question, who = asked.recvfrom(65536)
                    other.sendto(question, ("127.0.0.1", port))
                    try:
                        answer = other.recv(65536)
                    except TimeoutError:
                        continue
                    dice = self._dice
                    asked.sendto(self._odd(answer, dice)[:65000], who)

        threading.Thread(target=pass_on, daemon=True).start()
        yield asked.getsockname()[1]

    @staticmethod
    def _odd(answer: bytes, dice: Random) -> bytes:
        """Change a few datagrams anywhere, which the library then mostly ignores, and some only in their
        last values.
        """
        match dice.randrange(10):
            case 0:
                return changed(answer, dice, [answer])
            case 1 | 2 | 3 | 4:
                at = len(answer) - dice.randrange(1, 30)
                return answer[:at] + bytes([dice.randrange(256)]) + answer[at + 1 :]
            case _:
                return answer
