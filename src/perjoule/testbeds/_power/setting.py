"""Reads the power states of a host, sets them for the duration of a block, and puts them back."""

import contextlib
import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perjoule.drivers.protocols import Host, Offered
from perjoule.machine import removal
from perjoule.machine.scripts import BASH
from perjoule.machine.untrusted import understood
from perjoule.model import Json
from perjoule.model.errors import MachineError, PowerStateChanged, TransientError, WorkloadError
from perjoule.testbeds._power import states
from perjoule.testbeds._power.offers import offers
from perjoule.testbeds._power.options import Power
from perjoule.testbeds._power.scripts import LOOK, PUT_BACK, READ, SET, record
from perjoule.testbeds._power.states import PowerSetting, States

RECORD = removal.UNDO  # of former values; who removes a run's folder brings them back first
SYSFS = Path("/sys")
ROOT = (
    # of the environment: a folder like it, to try a campaign. Never a campaign's word: we write there as root
    "PERJOULE_SYSFS"
)
DEV = "/dev"
_TIMEOUT_S = 60.0


def sysfs() -> Path:
    """Return where the attributes are that a campaign sets."""
    return Path(os.environ.get(ROOT) or SYSFS).absolute()


def facts(host: Host) -> dict[str, Json]:
    """Return the states of a host, for the record; none if it can't be asked."""
    try:
        return states.facts(_read(host, SYSFS, ()))
    except WorkloadError:
        return {}


def lack(host: Host, power: Power) -> MachineError | None:
    """Return why a host can't have these states; None if it can."""
    try:
        return refusal(power, _found(host, power), host.name)
    except MachineError as error:
        return error


def offered(host: Host, power: Power) -> Mapping[str, Offered]:
    """Return what a host offers to a tuning. Raises MachineError: it can't be asked."""
    return offers([_found(host, power)], power)


def refusal(power: Power, host_states: States, place: str) -> MachineError | None:
    """Return why a host with these states can't have those that are requested; None if it can."""
    try:
        states.settings(power, host_states, place)
    except MachineError as error:
        return error
    return None


@contextlib.contextmanager
def applied(host: Host, power: Power, folder: Path) -> Generator[Mapping[str, Json]]:
    """Set states for the duration of the block; yields the facts in force, with the former values.

    The former values are in `folder` / RECORD, durably, before anything is written.

    Raises:
        MachineError: the host lacks something or does not take a value; nothing is changed then. Or it can't
            be put back.
    """
    host_states = _found(host, power)
    settings = states.settings(power, host_states, host.name)
    place = [str(sysfs()), DEV, host_states.boot]
    held_states = _Held(host, place, settings)
    end = folder / RECORD
    former = [
        text
        for setting in reversed(settings)
        for text in (setting.how, setting.place, setting.wanted, setting.former)
    ]
    host.put(record([*place, *former]), Path(f"{end}.new"), mode=0o600)
    try:
        ours = [
            text
            for setting in settings
            if setting.wanted
            for text in (setting.how, setting.place, "", setting.wanted)
        ]
        completed = host.run(
            [*BASH, SET, "perjoule-power", f"{end}.new", *place, *ours], timeout_s=_TIMEOUT_S, check=False
        )
        if completed.returncode:
            last = (completed.stderr.strip().splitlines() or ["the script failed"])[-1]
            raise MachineError(
                f"can't set its power states: {last}",
                where=host.name,
                next="run as root (sudo), or remove it from power",
            )
        try:
            held_states.check()
        except WorkloadError as error:
            raise MachineError(error.what, where=host.name, next=error.next) from None
        host.check_power = held_states.check
        before, facts_now = states.facts(host_states), states.facts(_found(host, power))
        former = {name: value for name, value in before.items() if value != facts_now.get(name)}
        yield facts_now | {
            "set": list[Json](dict.fromkeys(setting.option for setting in settings if setting.wanted)),
            "former": former,
        }
    finally:
        host.check_power = None
        # the connection is lost: the host brings them back by itself
        with contextlib.suppress(TransientError):
            put_back(host, end)


def put_back(host: Host, end: Path) -> None:
    """Bring back what a record says, if there is one, and remove it. Raises MachineError, TransientError."""
    completed = host.run([*BASH, PUT_BACK, "perjoule-power", end], timeout_s=_TIMEOUT_S, check=False)
    if completed.returncode:
        last = (completed.stderr.strip().splitlines() or ["the script failed"])[-1]
        raise MachineError(
            f"can't put its power states back: {last}", where=host.name, next="run `perjoule down`"
        )


@dataclass(frozen=True)
class _Held:
    """States that are set."""

    host: Host
    prefix: Sequence[str]
    settings: Sequence[PowerSetting]

    def check(self) -> None:
        """Read them again. Raises WorkloadError: something else has changed one."""
        ours = [setting for setting in self.settings if setting.wanted]
        arguments = [text for setting in ours for text in (setting.how, setting.place)]
        completed = self.host.run(
            [*BASH, LOOK, "perjoule-power", *self.prefix, *arguments], timeout_s=_TIMEOUT_S
        )
        with understood(f"power states of {self.host.name}"):
            values = dict(zip(ours, completed.stdout.splitlines(), strict=True))
        for setting, value in values.items():
            if value != setting.wanted:
                problem = (
                    f"{setting.option} was set to {setting.wanted}, but {setting.place} is "
                    f"{value or 'unreadable'}"
                )
                raise PowerStateChanged(problem, where=self.host.name)


def _found(host: Host, power: Power) -> States:
    try:
        return _read(host, sysfs(), power.devices)
    except TransientError:
        raise
    except WorkloadError as error:
        raise MachineError(f"its power states can't be read ({error.what})", where=host.name) from None


def _read(host: Host, root: Path, devices: Sequence[str]) -> States:
    argv = [*BASH, READ, "perjoule-power", root, DEV, *devices]
    return states.states(host.run(argv, timeout_s=_TIMEOUT_S).stdout)
