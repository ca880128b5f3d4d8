"""A management controller that speaks RMCP+ and DCMI, by pyghmi: https://opendev.org/x/pyghmi"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from perjoule.model import Json
from perjoule.simulators._behaviour import Behaviour, Fault
from perjoule.simulators._child import child
from perjoule.simulators._login import password_option

FAULTS: tuple[Fault, ...] = (
    "late",
    "duplicate",
    "missing",
    "frozen",
    "nan",
    "spike",
    "clock jump",
    "disconnect",
    "zero",
    "unknown",
)
USER, PASSWORD = "monitor", "simulated"


@contextmanager
def serve(
    behaviour: Behaviour, *, address: str = "127.0.0.1", port: int = 0
) -> Generator[Mapping[str, Json]]:
    """Serve during the block. NaN is a deactivated reading, which shows 0 W like real ones."""
    with (
        password_option(PASSWORD) as login_option,
        child(behaviour, "ipmi.bmc", address, str(port)) as ready_line,
    ):
        yield {"kind": "ipmi", "address": address, "port": int(ready_line), "user": USER, **login_option}
