"""Power states of real hosts. Their record is in the run's folder: the keeper puts them back when it loses contact."""

import contextlib
import time
from collections.abc import Generator, Mapping, Sequence

from perjoule.drivers.protocols import Host
from perjoule.machine.each import each
from perjoule.model import Json
from perjoule.model.errors import MachineError, TransientError
from perjoule.testbeds._power import Power, applied, facts, lack
from perjoule.testbeds._power.scripts import BASH, GUARD
from perjoule.testbeds._power.setting import RECORD

_ANSWER_S = 20.0


@contextlib.contextmanager
def held(hosts: Sequence[Host], wanted: Power | None) -> Generator[dict[str, Json]]:
    """Set states of the hosts that `wanted` names during the block; yields the states of all hosts, by name.

    Raises:
        MachineError: see `applied`, or another run has set states of a host.
    """
    chosen = [host for host in hosts if wanted and {host.name, host.role} & set(wanted.on)]
    found: dict[str, Json] = dict(zip((host.name for host in hosts), each(hosts, facts), strict=True))
    if wanted is None:
        yield found
        return
    there = [contextlib.ExitStack() for _ in chosen]

    def enter(pair: tuple[Host, contextlib.ExitStack]) -> Mapping[str, Json]:
        host, stack = pair
        if refusal := lack(host, wanted):
            raise refusal
        stack.enter_context(_claimed(host, wanted))
        return stack.enter_context(applied(host, wanted, host.directory))

    with contextlib.ExitStack() as closing:
        closing.callback(lambda: each(there, contextlib.ExitStack.close))
        found |= dict(zip((host.name for host in chosen), each(zip(chosen, there, strict=True), enter), strict=True))
        _require_devices(wanted, found)
        yield found


def _require_devices(wanted: Power, found: Mapping[str, Json]) -> None:
    there = [one.get("drives") for one in found.values() if isinstance(one, Mapping)]
    known = {id for drives in there if isinstance(drives, Mapping) for id in drives}
    if lost := [id for id in wanted.devices if id not in known]:
        raise MachineError(f"no host has {lost[0]}", where="power", next="correct devices")


@contextlib.contextmanager
def _claimed(host: Host, wanted: Power) -> Generator[None]:
    """Hold a host's states against other runs there. Raises MachineError: another one has them."""
    log = host.directory / "power.held"
    guard = host.spawn([*BASH, GUARD, "perjoule-power", wanted.root, host.directory / RECORD, "keeper"], log=log)
    try:
        until_s = time.monotonic() + _ANSWER_S
        while guard.output() != "held\n":
            if guard.returncode is not None or time.monotonic() > until_s:
                raise MachineError("another run has set its power states", where=host.name, next="wait for its end")
            time.sleep(0.01)
        yield
    finally:
        with contextlib.suppress(TransientError):
            guard.stop()
