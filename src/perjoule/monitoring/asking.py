"""Meters asked before a first measurement: whether they answer, and what they can resolve."""

import time
from collections.abc import Mapping, Sequence

from perjoule.drivers.protocols import Meter
from perjoule.execution.sizing import MeterSpeed, meter_speed
from perjoule.model.errors import MachineError
from perjoule.monitoring import recorder


def asked(meters: Mapping[str, Meter], idle_s: float) -> dict[str, MeterSpeed]:
    """Ask meters, by the line that names each, then record them together while nothing is loaded.

    Raises:
        MachineError: one does not answer, or delivers nothing.
    """
    for line, meter in meters.items():
        for check in (*meter.checks(), *meter.answers()):
            if check.needed and not check.ok:
                fix = check.fix
                if not fix or "[[meter]]" in fix:  # nobody has written one yet
                    fix = (
                        f"check its address and options; `perjoule meters watch '{line}'` shows its readings"
                    )
                raise MachineError(check.detail, where=f"--meter {line}", next=fix)
    memories = {line: recorder.Memory() for line in meters}
    _record(list(meters.items()), memories, idle_s)
    speeds: dict[str, MeterSpeed] = {}
    for line, meter in meters.items():
        speeds[line] = meter_speed(memories[line].series(), meter.sampled_hz)
        if not memories[line].series():
            raise MachineError(
                f"it answers, and had nothing new in {idle_s:g} s",
                where=f"--meter {line}",
                next="is what writes its log, or feeds it, running?",
            )
    return speeds


def _record(
    left: Sequence[tuple[str, Meter]], memories: Mapping[str, recorder.Memory], idle_s: float
) -> None:
    """Record each meter into its own memory, all at once."""
    if not left:
        time.sleep(idle_s)
        return
    (line, meter), *further = left
    with recorder.recording([meter], memories[line]):
        _record(further, memories, idle_s)
