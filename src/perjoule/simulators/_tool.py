"""Makers' programs that print a power, for meters that run one on a host: ipmitool and nvidia-smi."""

import math
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from perjoule.machine import removal
from perjoule.model import Json
from perjoule.simulators import _sysfs
from perjoule.simulators._behaviour import Behaviour, Truth

GPU = "GPU-3f2a9c1e-0000-4000-8000-000000000001"
_DCMI = """
    Instantaneous power reading:                   {watts:5d} Watts
    Minimum during sampling period:                {watts:5d} Watts
    Maximum during sampling period:                {watts:5d} Watts
    Average power reading over sample period:      {watts:5d} Watts
    IPMI timestamp:                           11/21/26 13:54:58 UTC    Sampling period:                          00000001 Seconds.
    Power reading state is:                   {state}

"""


@contextmanager
def ipmitool(behaviour: Behaviour) -> Generator[Mapping[str, Json]]:
    """Be ipmitool on a host with a BMC of its own; NaN is a deactivated reading, which shows 0 W like real
    ones.
    """

    def text(truth: Truth) -> str:
        active = not math.isnan(truth.power_w)
        return _DCMI.format(
            watts=round(truth.power_w) if active else 0, state="activated" if active else "deactivated"
        )

    with _program(behaviour, "ipmitool", text) as path:
        yield {"kind": "ipmi", "tool": str(path)}


@contextmanager
def nvidia_smi(behaviour: Behaviour) -> Generator[Mapping[str, Json]]:
    """Be nvidia-smi on a host with one GPU; NaN is "[N/A]"."""

    def text(truth: Truth) -> str:
        power = "[N/A]" if math.isnan(truth.power_w) else f"{truth.power_w:.2f}"
        return f"{GPU}, Tesla V100-SXM2-16GB, {power}\n"

    with _program(behaviour, "nvidia-smi", text) as path:
        yield {"kind": "nvml", "tool": str(path)}


@contextmanager
def _program(behaviour: Behaviour, name: str, text: Callable[[Truth], str]) -> Generator[Path]:
    """Make a program that prints the current text, whatever its arguments; it fails while that is missing."""
    with (
        _sysfs.tree(behaviour, {}, lambda truth: {"said": text(truth)}) as root,
        removal.scratch("perjoule-meter-") as folder,
    ):
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec cat "{root}/said"\n')
        path.chmod(0o755)
        folder.chmod(0o755)
        yield path
