"""Settings that a driver changes from its file system's own, each with the reason: facts and the report's
methods have them.

Redundancy, placement, addresses, keys, paths, permissions and logs are not among them, because no deployment
is without, nor are options of the campaign, which the report has anyway.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from perjoule.drivers.protocols import Hosts
from perjoule.model import Json

# Emulation: to fit small hosts that share one machine, so never where hosts are real. Comparability: so that
# trials differ in nothing else. Observation: so that its state is known in time. Start: so that a new one is
# soon like one that has long run.
Reason = Literal["emulation", "comparability", "observation", "start"]


@dataclass(frozen=True)
class Setting:
    """One setting, as the file system's own configuration or command writes it, or "set" for a word
    without a value.
    """

    name: str
    value: str
    reason: Reason
    place: str = ""  # a section, a file or a program


# of mounts by the kernel, as no client in user space notes them
NO_ACCESS_TIMES = Setting("noatime", "set", "comparability")


def in_force(settings: Iterable[Setting], hosts: Hosts) -> tuple[Setting, ...]:
    """Leave out what only emulated hosts need, if these are none."""
    return tuple(
        setting for setting in settings if setting.reason != "emulation" or hosts.reality == "emulated"
    )


def as_facts(settings: Iterable[Setting]) -> dict[str, Json]:
    """Return values by reason and name: {"emulation": {"osd_memory_target": "896M"}}."""
    facts: dict[str, dict[str, Json]] = {}
    for setting in settings:
        facts.setdefault(setting.reason, {})[setting.name] = setting.value
    return dict(facts)
