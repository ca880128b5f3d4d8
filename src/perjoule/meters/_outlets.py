"""Meters with several outlets, each of which says what it feeds: hosts, or a part of each of them."""

from abc import abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import ClassVar

from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary, boundary, names
from perjoule.drivers.names import unfold
from perjoule.drivers.protocols import Hosts, Outlet, Sink
from perjoule.meters._metered import Metered
from perjoule.model import OPTIONS
from perjoule.model.doubts import Doubt

PARTS = ("board", "disks", "supply")


def require_fed(texts: Iterable[str]) -> None:
    """Check what outlets feed. Raises ValueError: names are no pattern, or a host has no such part."""
    for text in texts:
        hosts, part = _fed(text)
        if part and part not in PARTS:
            raise ValueError(f'"{text}": a host has no {part} (known: {", ".join(PARTS)})')
        if part and not hosts:
            raise ValueError(f'"{text}" names no hosts (write "servers/{part}")')


def _fed(text: str) -> tuple[tuple[str, ...], str]:
    """Return the hosts and the part of them that an outlet feeds: "servers/disks".

    Raises ValueError: names are no pattern.
    """
    hosts, _, part = text.partition("/")
    return tuple(unfold(hosts)) if hosts else (), part


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class WithOutlets(Metered):
    """A meter whose outlets each feed something of their own."""

    literal: ClassVar[Mapping[str, str]] = {}  # what outlets feed, with names of hosts, once these are known

    @property
    @abstractmethod
    def feeding(self) -> Mapping[str, Mapping[str, str]]:
        """What each outlet feeds, by option and the outlet's name."""

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        """What it feeds, as a whole and by outlet."""
        return {
            **super().named,
            **{
                option: tuple(host for text in texts.values() for host in _fed(text)[0])
                for option, texts in self.feeding.items()
            },
        }

    def outlets(self, hosts: Hosts) -> Sequence[Outlet]:
        """Return its outlets. Raises CampaignError: there is no host of such a name."""
        extent = boundary(self.label, self.covers, hosts, self.component)
        return [
            replace(
                self.feeds(extent, self._literal(text, hosts), outlet).outlet(option, outlet),
                source=self.read_at(outlet),
                devices=self._devices(text, hosts),
            )
            for option, texts in self.feeding.items()
            for outlet, text in texts.items()
        ]

    def read_at(self, outlet: str) -> tuple[str, ...]:
        """Return what is read of an outlet, from the instrument to its part; () if that is not known."""
        return ()

    @contextmanager
    def record(self, hosts: Hosts, sink: Sink) -> Generator[list[Doubt]]:
        """Stream the readings of its outlets.

        Raises CampaignError: there is no host of such a name.
        """
        texts = [text for by_outlet in self.feeding.values() for text in by_outlet.values()]
        with_names = copy(self)  # `replace` can't: options have other names than fields
        object.__setattr__(with_names, "literal", {text: self._literal(text, hosts) for text in texts})
        with super(WithOutlets, with_names).record(hosts, sink) as doubts:
            yield doubts

    def _literal(self, text: str, hosts: Hosts) -> str:
        """Write what an outlet feeds with the names of hosts that words like "servers" stand for."""
        places, part = _fed(text)
        return f"{','.join(names(self.label, places, hosts))}{'/' if part else ''}{part}"

    def _devices(self, text: str, hosts: Hosts) -> frozenset[str]:
        places, part = _fed(text)
        part = part if places else self.component
        return frozenset(
            name + ("/" if part else "") + part for name in names(self.label, places or self.covers, hosts)
        )

    def feeds(self, extent: Boundary, text: str, outlet: str) -> Boundary:
        """Return what an outlet covers."""
        hosts, part = _fed(self.literal.get(text, text))
        return boundary(extent.meter, hosts, Hosts(()), part) if hosts else extent
