"""The metered data of one trial's window: budgets, what each channel covers, joules by device, and
unexplained power.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from perjoule.energy.amount import amount
from perjoule.energy.coverage import SWITCH, items
from perjoule.model import PartEnergy
from perjoule.trial.energies import Energies, energies
from perjoule.trial.parts import parts
from perjoule.trial.reading import Reading
from perjoule.trial.same_devices import Unexplained, unexplained


@dataclass(frozen=True)
class MeteredDevice:
    """A row: a host, or the switch."""

    name: str
    role: str


@dataclass(frozen=True)
class Bar:
    """The devices of one channel; bars of one row share a column ("plug", "modelled, board")."""

    row: str
    devices: tuple[str, ...]  # names of devices
    grade: str
    watts: float | None  # None: refused


@dataclass(frozen=True)
class MeteredTrial:
    """The metered data of one trial: the budgets of each direction, the channels with their watts, and
    unexplained power.
    """

    key: tuple[str, str, int]  # file system, workload, clients
    energies: Mapping[str, Energies]  # by direction
    devices: tuple[MeteredDevice, ...]
    bars: tuple[Bar, ...]
    unexplained: tuple[Unexplained, ...]
    parts: tuple[PartEnergy, ...] = ()  # of hosts, of the window of all loads


def metered(reading: Reading) -> MeteredTrial | None:
    """Gather the metered data of a valid trial's window; None if nothing was metered or done."""
    record = reading.record
    if record.status != "valid" or record.outcome is None or not record.outcome.results or not reading.powers:
        return None
    by_direction = {
        direction: energies(reading, window.began_s, window.ended_s, loaded=direction != "idle")
        for direction, window in reading.windows.items()
    }
    began_s, ended_s = reading.span.began_s, reading.span.ended_s
    key = (record.trial.filesystem.label, record.trial.workload.label, record.trial.clients_count)
    covered = items(reading.powers, reading.metering.roles.cluster, switch=True)
    bars: list[Bar] = []
    for item in covered:
        hosts = tuple(dict.fromkeys(device.partition("/")[0] for device in sorted(item.devices)))
        for channel in item.channels:
            amount_j = amount(reading.series_of(channel), began_s, ended_s).value
            row = channel.meter + (
                "" if channel.component in ("all", "total", "group", SWITCH) else f", {channel.component}"
            )
            bars.append(
                Bar(row, hosts, channel.grade, None if amount_j is None else amount_j / (ended_s - began_s))
            )
    devices = [MeteredDevice(h.name, h.role) for h in record.hosts]
    if any(SWITCH in item.devices for item in covered):
        devices.append(MeteredDevice(SWITCH, SWITCH))
    within = (reading, began_s, ended_s)
    return MeteredTrial(key, by_direction, tuple(devices), tuple(bars), unexplained(*within), parts(*within))
