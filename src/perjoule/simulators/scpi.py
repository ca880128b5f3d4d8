"""A power analyser at a TCP port or a serial line: ZES ZIMMER LMG450 and LMG670 (short language), Yokogawa
WT310.

It follows https://github.com/cuveland/lmgtools and Yokogawa's communication manual (IM WT310-17EN).
"""

import math
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Literal

from perjoule.model import Json
from perjoule.simulators._behaviour import HOSTILE, Behaviour, Fault
from perjoule.simulators._hostile import pour
from perjoule.simulators._lines import Line, lines

__all__ = ["FAULTS", "HOSTILE", "serve"]

FAULTS: tuple[Fault, ...] = (
    "late",
    "duplicate",
    "missing",
    "frozen",
    "nan",
    "reset",
    "spike",
    "clock jump",
    "disconnect",
)
Model = Literal["LMG450", "LMG670", "WT310"]
IDENTITIES: Mapping[str, str] = {
    "LMG450": "ZES ZIMMER Electronic Systems GmbH,LMG450,3350207,3.160",
    "LMG670": "ZES ZIMMER Electronic Systems GmbH,LMG670,00120414,3.125",
    "WT310": "YOKOGAWA,WT310-C2-D/G5,91M912345,F1.02",
}


@contextmanager
def serve(
    behaviour: Behaviour,
    *,
    address: str = "127.0.0.1",
    port: int = 0,
    model: Model = "LMG450",
    line: Line = "tcp",
    cycle_s: float = 0.5,
) -> Generator[Mapping[str, Json]]:
    """Serve one analyser during the block; yields the options of the [[meter]] table that reads it."""

    def begin(send: Callable[[bytes], None], hang_up: Callable[[], None]) -> _Analyser:
        return _Analyser(behaviour, model, cycle_s, send, hang_up)

    with lines(begin, line, address, port) as resource:
        yield {"kind": "scpi", "address": resource}


class _Analyser:
    """One connection: the measuring cycle runs in a thread, commands come by `take`."""

    def __init__(
        self,
        behaviour: Behaviour,
        model: str,
        cycle_s: float,
        send: Callable[[bytes], None],
        hang_up: Callable[[], None],
    ) -> None:
        self._behaviour, self._model, self._cycle_s, self._send, self._hang_up = (
            behaviour,
            model,
            cycle_s,
            send,
            hang_up,
        )
        self._sending = False
        self._action: list[str] = []
        self._errors: list[str] = []
        self._auto = "0"
        self._said: dict[str, str] = {}
        self._cycles_count = 0
        self._stop, self._updated = threading.Event(), threading.Condition()
        self._thread = threading.Thread(target=self._measure, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the measuring cycle."""
        self._stop.set()
        self._thread.join()

    def take(self, line: str) -> bytes | None:
        """Execute a line of commands, answer its queries."""
        if line.upper().startswith("ACTN;"):
            self._action = line.upper().split(";")[1:]
            return None
        if ":NUM:NORM:VAL?" in line.upper() and self._model == "WT310":
            manner = self._behaviour.manner()
            if manner.hang_up:
                self._hang_up()
            if manner.hostile:
                pour(manner.hostile, self._send, self._stop)
            if self._stop.wait(manner.delay_s) or manner.silent or manner.hang_up:
                return None
        answers = [
            answer
            for command in line.split(";")
            if (answer := self._answer(command.strip().upper())) is not None
        ]
        return (";".join(answers) + "\n").encode() if answers else None

    def _answer(self, command: str) -> str | None:
        if command == "*IDN?":
            return IDENTITIES[self._model]
        if command in ("SYST:ERR?", "SYST:ERR:ALL?", ":STAT:ERR?"):
            return self._errors.pop(0) if self._errors else '0,"No error"'
        answer = self._yokogawa(command) if self._model == "WT310" else self._zes(command)
        if answer is None:
            self._errors.append(f'-113,"Undefined header;{command}"')
        return answer or None

    def _zes(self, command: str) -> str | None:
        """Return the answer, "" if the command has none, None if the command is unknown."""
        header, _, value = command.partition(" ")
        match header:
            case "CYCL?":
                return f"{self._cycle_s:.6g}"
            case "CYCL":
                self._cycle_s = float(value)
            case "CONT":
                self._sending = value == "ON"
            case "*CLS" | "*RST" | "GTL" | "SYST:LANG" | "*ZLANG":
                pass
            case _:
                return None
        return ""

    def _yokogawa(self, command: str) -> str | None:
        header, _, value = command.partition(" ")
        match header:
            case ":RATE?":
                return f"{self._cycle_s * 1000:.1f}E-03"
            case ":RATE":
                self._cycle_s = float(value.removesuffix("MS")) / 1000
            case ":COMM:WAIT":
                with self._updated:
                    self._updated.wait(5.0)
            case ":NUM:NORM:VAL?":
                return self._said.get("P", "NAN")
            case ":STAT:EESR?":
                return "1"
            case ":INP:VOLT:AUTO?" | ":INP:CURR:AUTO?":
                return self._auto
            case ":INP:VOLT:RANG?":
                return "300.0E+00"
            case ":INP:CURR:RANG?":
                return "2.0E+00"
            case (
                ":COMM:HEAD"
                | ":COMM:REM"
                | ":NUM:FORM"
                | ":NUM:NORM:NUMBER"
                | ":NUM:NORM:ITEM1"
                | ":STAT:FILT1"
            ):
                pass
            case _:
                return None
        return ""

    def _measure(self) -> None:
        """Return the mean power of each cycle of the waveform, with the faults of the answer."""
        waveform, now_s = self._behaviour.waveform, self._behaviour.now_s
        began_s, kept_j = now_s(), math.nan
        while not self._stop.wait(self._cycle_s):
            ended_s = now_s()
            duration_s, mean_w = ended_s - began_s, waveform.energy_j(began_s, ended_s) / (ended_s - began_s)
            began_s = ended_s
            manner = self._behaviour.manner() if self._model != "WT310" and self._sending else None
            truth = self._behaviour.truth()
            self._cycles_count = 0 if truth.energy_j < 0 else self._cycles_count + 1
            if truth.true_energy_j != kept_j:  # otherwise it is frozen
                shown_w = mean_w * truth.power_w / truth.true_power_w
                self._said = self._values(shown_w, duration_s, truth.clock_s)
            kept_j = truth.true_energy_j
            if manner is not None:
                if manner.hang_up:
                    self._hang_up()
                elif manner.hostile:
                    with suppress(OSError):
                        pour(manner.hostile, self._send, self._stop)
                elif not self._stop.wait(manner.delay_s) and not manner.silent:
                    with suppress(OSError):
                        self._send(
                            (
                                ";".join(self._said.get(name, "9.91E+37") for name in self._action) + "\n"
                            ).encode()
                        )
            with self._updated:
                self._updated.notify_all()

    def _values(self, power_w: float, duration_s: float, clock_s: float) -> dict[str, str]:
        if self._model == "WT310":
            return {"P": "NAN" if math.isnan(power_w) else f"{power_w:.6E}"}
        power = "9.91E+37" if math.isnan(power_w) else f"{power_w:.6G}"
        if self._model == "LMG670":
            clock = datetime.fromtimestamp(clock_s, UTC).strftime("%Y:%m:%dD%H:%M:%S.%f000+0000")
            return {"TSNORM1?": clock, "DURNORM1?": f"{duration_s:.6f}", "P1?": power}
        return {"COUNT?": str(self._cycles_count), "CYCR?": f"{duration_s:.6f}", "P?": power}
