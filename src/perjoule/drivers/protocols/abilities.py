"""What a part may be able to do besides what its protocol requires: small protocols, asked by `isinstance`,
or by `able`.

A driver's class inherits an ability beside its protocol, and implements it. Nothing else says that it has it.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar, TypeVar

from perjoule.drivers.protocols.host import Host
from perjoule.model.errors import NotAble


class Ability(ABC):
    """Something that some parts of a kind can do."""

    # the sentence of an error of a part that can't; not needed where only isinstance asks
    lack: ClassVar[str]
    advice: ClassVar[str] = ""  # and what to do


A = TypeVar("A", bound=Ability)


def able(part: object, ability: type[A]) -> A:
    """Return a part as one that has an ability. Raises WorkloadError if it has not."""
    if not isinstance(part, ability):
        raise NotAble(ability.lack, where=part.name if isinstance(part, Host) else "", next=ability.advice)
    return part


class LendsDevices(Ability):
    """A host that lends raw block devices."""

    lack = "this host lends no block devices"
    advice = "use testbed virtual or local"

    @abstractmethod
    def device(self, name: str, *, size_bytes: int, device: str = "") -> Path:
        """Lend a raw block device; a file that stands for one is removed with the host.

        Args:
            name: names its folder below `directory`.
            size_bytes: of the sparse file that stands for a device.
            device: a device by its stable ID below /dev/disk, instead of a file; one of `overwrite`.

        Raises:
            CampaignError: no such device may be used here.
            MachineError: a tool or kernel support is missing, or the disk is full.
        """


class TakesLinkDown(Ability):
    """A host whose link to the network can be taken down."""

    lack = "the link of this host can't be taken down"

    @abstractmethod
    def connect(self, *, up: bool) -> None:
        """Take its link to the network down, or up again. Raises WorkloadError if it can't."""


class SlowsDisks(Ability):
    """A host whose disks can be made slower."""

    lack = "the disks of this host can't be slowed down"

    @abstractmethod
    def slow_disks(self, factor: float) -> None:
        """Make its disks slower by this factor than they were at first; 1 ends it.

        Raises WorkloadError if it can't.
        """


class LosesPackets(Ability):
    """A host whose link can lose packets."""

    lack = "the link of this host can't lose packets"

    @abstractmethod
    def lose_packets(self, loss_ratio: float) -> None:
        """Lose a share of the packets that it sends, each by chance, besides those it lost at first; 0 ends
        it.

        Raises WorkloadError if it can't.
        """


class Seeks(Ability):
    """A host whose disks are emulated, and seek as a load needs it; real disks do so by themselves."""

    lack = "the disks of this host are not emulated"

    @abstractmethod
    def seek(self, *, at_random: bool) -> None:
        """Have its disks seek as for a load at random, or not. Raises WorkloadError if it can't."""
