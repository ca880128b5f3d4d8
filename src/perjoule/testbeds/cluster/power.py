"""Power states of real hosts.

Their record is in the run's folder: the keeper puts them back when it loses contact.
"""

import contextlib
import time
from collections.abc import Generator, Mapping, Sequence

from perjoule.drivers.protocols import Check, Host, Offered
from perjoule.machine.each import each
from perjoule.machine.scripts import BASH
from perjoule.model import Json
from perjoule.model.errors import MachineError, PerjouleError, TransientError
from perjoule.testbeds._power import Power, applied, lack, setting, states
from perjoule.testbeds._power.offers import offers
from perjoule.testbeds._power.scripts import GUARD
from perjoule.testbeds.cluster.keeping.keeper import Keeper

_ANSWER_S = 20.0


def facts(keeper: Keeper) -> dict[str, Json]:
    """Return the states of a host that is not kept yet, for the record. Raises MachineError."""
    return states.facts(keeper.states(setting.SYSFS, setting.DEV))


def offered(keepers: Sequence[Keeper], power: Power) -> Mapping[str, Offered]:
    """Return what all of these hosts offer to a tuning, before they are kept. Raises MachineError."""
    return offers(each(keepers, lambda keeper: keeper.states(setting.sysfs(), setting.DEV)), power)


def lacking(keepers: Sequence[Keeper], power: Power) -> list[Check]:
    """Return why hosts can't have states that are requested from them, before they are kept; nothing is
    changed.
    """

    def look(keeper: Keeper) -> tuple[set[str], list[Check]]:
        name = keeper.login.name
        if keeper.probe.user != "root" and setting.sysfs() == setting.SYSFS:
            return set(), [
                Check(name, False, "only root can set power states", "log in as root, or set sudo = true")
            ]
        try:
            host_states = keeper.states(setting.sysfs(), setting.DEV, power.devices)
        except PerjouleError as error:
            return set(), [Check(name, False, error.what, error.next)]
        if error := setting.refusal(power, host_states, name):
            problem = ": ".join(filter(None, (error.where.removeprefix(name).removeprefix(": "), error.what)))
            return set(host_states.drives), [Check(name, False, f"power: {problem}", error.next)]
        return set(host_states.drives), []

    looked = each(keepers, look)
    checks = [check for _, some in looked for check in some]
    lost = set(power.devices).difference(*(drives for drives, _ in looked))
    if lost and not checks:
        checks = [
            Check(keeper.login.name, False, f"power: none has {min(lost)}", "correct devices")
            for keeper in keepers
        ]
    return checks


@contextlib.contextmanager
def holding_states(hosts: Sequence[Host], power: Power) -> Generator[dict[str, Json]]:
    """Set states of hosts during the block; yields them as facts, by name.

    Raises:
        MachineError: see `applied`, or another run has set states of a host.
    """
    stacks = [contextlib.ExitStack() for _ in hosts]

    def enter(pair: tuple[Host, contextlib.ExitStack]) -> Mapping[str, Json]:
        host, stack = pair
        if refusal := lack(host, power):
            raise refusal
        stack.enter_context(_claimed(host))
        return stack.enter_context(applied(host, power, host.directory))

    with contextlib.ExitStack() as closing:
        closing.callback(lambda: each(stacks, contextlib.ExitStack.close))
        entered = each(zip(hosts, stacks, strict=True), enter)
        facts_of: dict[str, Json] = dict(zip((host.name for host in hosts), entered, strict=True))
        _require_devices(power, facts_of)
        yield facts_of


def _require_devices(power: Power, facts_of: Mapping[str, Json]) -> None:
    drives_of = [
        host_facts.get("drives") for host_facts in facts_of.values() if isinstance(host_facts, Mapping)
    ]
    ids = {id for drives in drives_of if isinstance(drives, Mapping) for id in drives}
    if lost := [id for id in power.devices if id not in ids]:
        raise MachineError(f"no host has {lost[0]}", where="power", next="correct devices")


@contextlib.contextmanager
def _claimed(host: Host) -> Generator[None]:
    """Hold a host's states against other runs there. Raises MachineError: another one has them."""
    log = host.directory / "power.held"
    guard = host.spawn(
        [*BASH, GUARD, "perjoule-power", setting.sysfs(), host.directory / setting.RECORD, "keeper"], log=log
    )
    try:
        until_s = time.monotonic() + _ANSWER_S
        while guard.output() != "held\n":
            if guard.returncode is not None or time.monotonic() > until_s:
                raise MachineError(
                    "another run has set its power states", where=host.name, next="wait for its end"
                )
            time.sleep(0.01)
        yield
    finally:
        with contextlib.suppress(TransientError):
            guard.stop()
