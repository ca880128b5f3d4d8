"""The table `power` of a testbed."""

from dataclasses import fields
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Tunable
from perjoule.model import OPTIONS
from perjoule.model.units import ClockHertz, Seconds, SecondsOrZero

_HOW = ("on", "devices")  # where and how, not what
_OF_DEVICES = ("sata_link", "disk_apm", "disk_spin_down_s", "nvme_state", "nvme_tolerance_s")
Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+ -]*$")]
StableId = Annotated[str, Field(pattern=r"^/dev/disk/by-(id|path|uuid|partuuid)/[^/\s]+$")]


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Power:
    """What is set on the hosts that `on` names, and put back afterwards; what is not named here stays as
    it is.
    """

    on: tuple[Word, ...] = ()
    """Names or roles of the hosts to set it on; testbed local has only this machine."""
    cpu_governor: Annotated[Word | None, Tunable()] = None
    """Governor of all CPUs, one that their kernel offers: "performance", "powersave", "schedutil"."""
    cpu_preference: Word | None = None
    """Energy-performance preference of all CPUs, one that their kernel offers: "balance_power"."""
    cpu_min_hz: ClockHertz | None = None
    """Lower limit of the frequency of all CPUs."""
    cpu_max_hz: Annotated[ClockHertz | None, Tunable(scale=True)] = None
    """Upper limit of the frequency of all CPUs."""
    cpu_deepest_idle: Annotated[Word | None, Tunable()] = None
    """The deepest idle state that CPUs may enter, by its name: "C1".

    Deeper ones are disabled, all others enabled.
    """
    pcie_aspm: Word | None = None
    """Policy of Active State Power Management for all PCIe links: "powersave"."""
    devices: tuple[StableId, ...] = ()
    """The drives that the options below are for, by their stable IDs below /dev/disk. Each must be on one of
    the hosts, and each
    host must have at least one."""
    sata_link: Word | None = None
    """Power management policy of the drives' SATA links: "med_power_with_dipm"."""
    disk_apm: Annotated[int, Field(ge=1, le=255)] | None = None
    """Level of the drives' Advanced Power Management, by hdparm: up to 127 they may spin down, 254 is the
    fastest, 255 is off.
    """
    disk_spin_down_s: Seconds | None = None
    """How long drives must be idle before the kernel spins them down (runtime power management)."""
    nvme_state: Annotated[int, Field(ge=0, le=31)] | None = None
    """Power state of the drives' controllers, by nvme-cli: 0 is the fastest. Needs nvme_tolerance = "0 s"."""
    nvme_tolerance_s: SecondsOrZero | None = None
    """The slowest wake-up that autonomous transitions of NVMe drives may cost; 0 s switches transitions
    off.
    """

    @model_validator(mode="after")
    def _complete(self) -> Self:
        options_set = [
            field.name
            for field in fields(self)
            if field.name not in _HOW and getattr(self, field.name) is not None
        ]
        if not options_set and not self.devices:
            raise ValueError('power sets nothing (write what to set, as in cpu_governor = "powersave")')
        if any(name in _OF_DEVICES for name in options_set) != bool(self.devices):
            problem = (
                "names devices, but nothing to set on them"
                if self.devices
                else "sets states of drives, but names none"
            )
            raise ValueError(
                f"power {problem} (write devices together with sata_link, disk_apm, disk_spin_down or "
                "nvme_...)"
            )
        if self.nvme_state is not None and self.nvme_tolerance_s != 0:
            raise ValueError('autonomous transitions would change nvme_state (add nvme_tolerance = "0 s")')
        if self.cpu_min_hz and self.cpu_max_hz and self.cpu_min_hz > self.cpu_max_hz:
            raise ValueError("cpu_min is above cpu_max (swap them)")
        return self
