"""A log as a ZES LMG writes it: lines above the header, units below it, semicolons, commas, and 9,91E+37
for no number.
"""

import math
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

from perjoule.machine import removal
from perjoule.model import Json
from perjoule.simulators._behaviour import Behaviour, Fault, Truth

FAULTS: tuple[Fault, ...] = ("duplicate", "missing", "frozen", "nan", "spike", "clock jump", "disconnect")
UPDATE_S = 0.02
HEAD = "ZES ZIMMER LMG450;simulated\nGroup;1\n\nDate;Time;P1\n;hh:mm:ss;W\n"


@contextmanager
def serve(behaviour: Behaviour, *, address: str = "", port: int = 0) -> Generator[Mapping[str, Json]]:
    """Write the log during the block; address and port are ignored. While disconnected there is no log."""
    with removal.scratch("perjoule-meter-") as folder:
        log, stop = folder / "power.csv", threading.Event()
        log.write_text(HEAD)

        def loop() -> None:
            while not stop.wait(UPDATE_S):
                manner = behaviour.manner()
                if manner.hang_up:
                    removal.remove_file(log)
                elif not log.exists():
                    log.write_text(HEAD)
                elif not manner.silent:
                    with log.open("a") as file:
                        file.write(line(behaviour.truth()))

        thread = threading.Thread(target=loop, name="csv", daemon=True)
        thread.start()
        try:
            written: dict[str, Json] = {
                "time": ["Date", "Time"],
                "format": "%d.%m.%Y %H:%M:%S,%f",
                "zone": "UTC",
                "value": "P1",
            }
            marks = {
                "delimiter": ";",
                "decimal": ",",
                "unit": "W",
                "semantics": "instantaneous",
                "grade": "wall",
            }
            yield {"kind": "csv", "path": str(log), **written, **marks}
        finally:
            stop.set()
            thread.join()


def line(truth: Truth) -> str:
    """One row."""
    date = datetime.fromtimestamp(truth.clock_s, UTC)
    value = "9,91E+37" if math.isnan(truth.power_w) else f"{truth.power_w:.4f}".replace(".", ",")
    return f"{date:%d.%m.%Y;%H:%M:%S,%f};{value}\n"
