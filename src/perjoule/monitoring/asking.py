"""Meters asked before anything is measured: whether they answer, and what they can resolve."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import isfinite

from perjoule.drivers.protocols import Check, Meter
from perjoule.execution.readiness import MOST_ASKED
from perjoule.execution.sizing import MeterSpeed, meter_speed
from perjoule.model.errors import MachineError, PerjouleError
from perjoule.model.format import number
from perjoule.monitoring import recorder

LOOK_S = 3.0  # for which each meter of a campaign is read


def answered(meters: Mapping[str, Meter]) -> Mapping[str, tuple[tuple[Check, ...], MeterSpeed | None]]:
    """Ask the meters of a campaign, by their labels, and read those that answer for some seconds, all at once.

    Returns:
        What each says, or why it does not; and what it can resolve, None of what only a run reads: sensors on hosts,
        what is computed, and instruments that it sets up.
    """
    with ThreadPoolExecutor(MOST_ASKED) as pool:
        return dict(zip(meters, pool.map(_answered, meters, meters.values()), strict=True))


def _answered(label: str, meter: Meter) -> tuple[tuple[Check, ...], MeterSpeed | None]:
    checks = tuple(replace(check, name=f"meter {label}") for check in meter.answers())
    if not checks or meter.sets_up or not all(check.ok for check in checks):
        return checks, None
    memory = recorder.Memory()
    try:
        with recorder.recording([meter], memory):
            time.sleep(LOOK_S)
    except PerjouleError as error:
        return (Check(f"meter {label}", False, error.what, error.next),), None
    speed = meter_speed(memory.series(), meter.sampled_hz)
    kind = type(meter).__module__.rpartition(".")[2]
    return (Check(f"meter {label}", True, f"{kind}, {_speed_text(speed)}"),), speed


def _speed_text(speed: MeterSpeed) -> str:
    if not isfinite(speed.update_s):
        return f"nothing new in {LOOK_S:g} s"
    rate = f"{number(1 / speed.update_s)} updates per second, " if speed.update_s else ""
    watts = (
        f"now {number(speed.now_w)} W" if isfinite(speed.now_w) else f"less than two steps in {LOOK_S:g} s"
    )
    return rate + watts


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
                    address = vars(meter).get("address")
                    look = (
                        f"list {address}` says what answers there"
                        if address
                        else f"watch '{line}'` shows its readings"
                    )
                    fix = f"check its kind, address and options: `perjoule meters {look}"
                raise MachineError(check.detail, where=f"--meter {line}", next=fix)
    memories = {line: recorder.Memory() for line in meters}
    _record(list(meters.items()), memories, idle_s)
    speeds: dict[str, MeterSpeed] = {}
    for line, meter in meters.items():
        speeds[line] = meter_speed(memories[line].series(), meter.sampled_hz, idle_s)
        if not memories[line].series():
            raise MachineError(
                f"it answers, and had nothing new in {idle_s:g} s",
                where=f"--meter {line}",
                next="start what writes its log, or feeds it; a log that is complete, or has a row in minutes, is "
                "imported (perjoule docs import)",
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
