"""Servers that speak the protocols of meters, vary, and fail on purpose; one file per protocol.

Each has `serve(behaviour, *, address, port)`, a `with` that yields the options of the [[meter]] table that
reads it, and FAULTS, those that its protocol can express; simulators that have HOSTILE can send what no
protocol allows.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from perjoule.model import Json
from perjoule.simulators._behaviour import FAULTS, Behaviour, Fault

__all__ = ["FAULTS", "Behaviour", "Fault", "faults", "kinds", "serve"]


def kinds() -> tuple[str, ...]:
    """List the meters that can be simulated."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))


def faults(kind: str) -> tuple[Fault, ...]:
    """List the faults that a simulated meter can have."""
    module = _module(kind)
    return (*module.FAULTS, *getattr(module, "HOSTILE", ()))


def serve(
    kind: str, behaviour: Behaviour, *, address: str = "127.0.0.1", port: int = 0
) -> AbstractContextManager[Mapping[str, Json]]:
    """Simulate a meter during a block; yields the options of the [[meter]] table that reads it."""
    return _module(kind).serve(behaviour, address=address, port=port)


def _module(kind: str) -> Any:
    return importlib.import_module(f"{__name__}.{kind}")
