"""Options that drivers mark tunable, as a campaign has them: where they are in its tables, and their
values.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from perjoule.campaign.source import CampaignSource, Table, is_table
from perjoule.campaign.tables import OWN_TESTBED, rows, tunables
from perjoule.drivers.protocols import FileSystem, Offered, Testbed, Tunable
from perjoule.model import Json
from perjoule.model.errors import CampaignError
from perjoule.model.units import exact_text, units_of
from perjoule.tuning.space import Option, places


@dataclass(frozen=True)
class MarkedOption:
    """An option that a driver marks, as a campaign has it."""

    path: tuple[str, ...]  # in the file system's table, which may have options of its testbed
    fields: tuple[str, ...]  # of the driver
    mark: Tunable
    table: Table  # the file system's
    testbed: Table
    source: CampaignSource
    offered: Offered | None  # by the hosts

    @property
    def name(self) -> str:
        """Its name: "volume.client.event-threads"."""
        return ".".join(self.path)

    @property
    def lacks(self) -> str:
        """Why it can't be tuned in this campaign; "" if it can."""
        around = self._given(self.path[:-1])
        if not is_table(around) and not (self.mark.key and around is None):
            name = ".".join(
                self.path[:-1] if self.path[0] == OWN_TESTBED else ("filesystem", *self.path[:-1])
            )
            return f"it is tuned only in a campaign with a table [{name}]"
        if not self._values:
            return "the hosts offer no values for it, and simulated ones are not queried"
        return "" if self._fitting() else "none of its values goes with the campaign's other options"

    def option(self, *, less_durable: bool) -> Option:
        """Return its values: those declared and the campaign's own, without those that give up durability."""
        mark, given = self.mark, self._given(self.path)
        current = (self.offered.now if self.offered else mark.otherwise) if given is None else None
        own_value = self._read(current)
        pairs = self._fitting()
        pairs = [
            (value, read)
            for value, read in pairs
            if read == own_value or less_durable or not mark.lost(value)
        ]
        if own_value not in [read for _, read in pairs]:
            pairs.append((self._own(given, own_value), own_value))
        scale = mark.scale and own_value is not None
        if scale:
            pairs.sort(key=lambda pair: float(pair[1]))
        default = [read for _, read in pairs].index(own_value)
        lost = {
            n: mark.lost(value) for n, (value, _) in enumerate(pairs) if n != default and mark.lost(value)
        }
        scaled = places([float(read) for _, read in pairs]) if scale else ()
        return Option(self.name, tuple(value for value, _ in pairs), default, scaled, lost)

    @property
    def _values(self) -> tuple[Json, ...]:
        return self.mark.values or (self.offered.values if self.offered else ())

    def _fitting(self) -> list[tuple[Json, Any]]:
        """Return the values that go with the campaign's other options, as it writes them and as the driver
        has them.
        """
        pairs: list[tuple[Json, Any]] = []
        for value in self._values:
            with suppress(CampaignError):
                pairs.append((value, self._read(value)))
        return pairs

    def _given(self, path: tuple[str, ...]) -> Any:
        return value_at({**self.table, OWN_TESTBED: self.testbed}, path)

    def _read(self, value: Json) -> Any:
        """Return a value of the option as its driver has it, or the campaign's own for None.

        Raises CampaignError.
        """
        campaign_table = {**self.table, OWN_TESTBED: self.testbed}
        table = (
            campaign_table if value is None else with_value(campaign_table, self.path, value, campaign_table)
        )
        of_hosts = self.path[0] == OWN_TESTBED
        attribute: Any = (
            built_testbed(table[OWN_TESTBED], self.source) if of_hosts else built(table, self.source)
        )
        if self.mark.key:
            return next(
                (
                    candidate
                    for candidate in (value, self._given(self.path), self.mark.otherwise)
                    if candidate is not None
                ),
                None,
            )
        for name in self.fields:
            attribute = getattr(attribute, name)
        return attribute

    def _own(self, given: Json, value: Any) -> Json:
        """Return the campaign's own value as a campaign writes it."""
        if self.mark.key or given is not None:
            return value if self.mark.key else given
        units = units_of(self.fields[-1])
        return value if units is None or value is None else exact_text(value, units)


def marked(
    table: Table, testbed: Table, source: CampaignSource, offered: Mapping[str, Offered]
) -> Iterator[MarkedOption]:
    """Yield what is marked for a file system's table, and for the testbed's that it has."""
    for path, fields, mark in tunables("filesystem", str(table["kind"])):
        yield MarkedOption(path, fields, mark, table, testbed, source, None)
    for path, fields, mark in tunables("testbed", str(testbed["kind"])):
        yield MarkedOption(
            (OWN_TESTBED, *path), fields, mark, table, testbed, source, offered.get(".".join(path))
        )


def path_of(name: str) -> tuple[str, ...]:
    """Split an option's name: a key of a table may have dots of its own."""
    first, *tail = name.split(".", 1)
    return (first, *path_of(tail[0])) if first == OWN_TESTBED else (first, *tail)


def value_at(table: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """Return a value inside tables; None if it is not there."""
    value: Any = table
    for key in path:
        value = value.get(key) if is_table(value) else None
    return value


def with_value(table: Table, path: tuple[str, ...], value: Json, campaign_table: Table) -> Table:
    """Return a table with a value at a path; an option that is a table itself is completed from the
    `campaign_table`'s.
    """
    key, *deeper = path
    if not deeper:
        return {**table, key: value}
    inner: Table = campaign_table.get(key, {})
    default: Table = {} if key == OWN_TESTBED else inner
    return {**table, key: with_value(table.get(key, default), tuple(deeper), value, inner)}


def built(table: Table, source: CampaignSource) -> FileSystem:
    """Build a file system. Raises CampaignError: its table is wrong, or stands for several."""
    systems = rows("filesystem", ("filesystem",), table, source)
    if len(systems) != 1:
        fault = (
            f"the table of {table['kind']} stands for {len(systems)} file systems, but one is tuned at a time"
        )
        raise CampaignError(
            fault, where=source.name, next="give each of its options one value instead of a list"
        )
    assert isinstance(systems[0].driver, FileSystem)
    return systems[0].driver


def built_testbed(table: Table, source: CampaignSource) -> Testbed:
    """Build a testbed, whose table stands for one. Raises CampaignError: the table is wrong."""
    (row,) = rows("testbed", ("testbed",), table, source)
    assert isinstance(row.driver, Testbed)
    return row.driver
