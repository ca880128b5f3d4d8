"""A PDU that speaks SNMP v1, v2c and v3, with APC's PowerNet-MIB and Raritan's PDU2-MIB."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Literal

from perjoule.model import Json
from perjoule.simulators._behaviour import HOSTILE, Behaviour, Fault
from perjoule.simulators._child import child

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
COMMUNITY, USER, AUTHENTICATION, PRIVACY = (
    "public",
    "monitor",
    "simulated-authentication",
    "simulated-privacy",
)
OUTLET = 3


@contextmanager
def serve(
    behaviour: Behaviour,
    *,
    address: str = "127.0.0.1",
    port: int = 0,
    model: Literal["apc", "raritan"] = "apc",
) -> Generator[Mapping[str, Json]]:
    """Serve during the block; both MIBs at once, `model` is the one that the table reads."""
    with child(behaviour, "snmp_pdu.pdu", address, str(port)) as ready_line:
        yield {
            "kind": "snmp_pdu",
            "address": address,
            "port": int(ready_line),
            "model": model,
            "outlet": OUTLET,
        }
