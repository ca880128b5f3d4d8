"""The space of a campaign: the options that its file system's driver declares tunable, and the settings that are allowed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from perjoule import drivers
from perjoule.campaign.messages import instead, written
from perjoule.campaign.source import Source, Table
from perjoule.campaign.tables import Row, fields_of, rows
from perjoule.drivers.protocols import FileSystem, Hosts, Tunable
from perjoule.model import Json, Redundancy, Spec
from perjoule.model.errors import CampaignError
from perjoule.model.units import exact_text, units_of
from perjoule.tuning.space import Option, Setting, Space, places


@dataclass(frozen=True)
class Declared:
    """A file system's table in a campaign, and what can be tuned in it."""

    table: Table  # the campaign's own
    space: Space
    hosts: Hosts  # on which each setting must fit
    source: Source
    less_durable: bool  # whether settings may give up durability
    _known: dict[Setting, bool] = field(default_factory=dict[Setting, bool])

    def written(self, setting: Setting) -> Table:
        """Return the table with a setting; what stays at the campaign's value is left as it is."""
        found = dict(self.table)
        for option, value in zip(self.space.options, setting, strict=True):
            if value != option.default:
                name, _, key = option.name.partition(".")
                found[name] = {**found.get(name, {}), key: option.values[value]} if key else option.values[value]
        return found

    def setting(self, table: Mapping[str, Any]) -> Setting:
        """Return the setting of such a table. Raises ValueError: it has a value that is not in the space."""
        found: list[int] = []
        for option in self.space.options:
            name, _, key = option.name.partition(".")
            inner = table.get(name, {}) if key else table
            word, own = key or name, self.table.get(name, {}) if key else self.table
            same = word not in inner or inner[word] == own.get(word)
            found.append(option.default if same else option.values.index(inner[word]))
        return tuple(found)

    def changes(self, setting: Setting) -> Mapping[str, Json]:
        """Return the options in which a setting differs from the campaign's own, with their values."""
        chosen = zip(self.space.options, setting, strict=True)
        return {option.name: option.values[value] for option, value in chosen if value != option.default}

    def gives_up(self, setting: Setting) -> Mapping[str, str]:
        """Return what may be lost with a setting that the campaign's own keeps, by option; of redundancy under ""."""
        chosen = zip(self.space.options, setting, strict=True)
        found = {option.name: option.less_durable[value] for option, value in chosen if value in option.less_durable}
        before, after = self._redundancy(self.space.default), self._redundancy(setting)
        if before and after and not found and _weaker(after, before):
            found[""] = f"{after.sentence}, instead of {before.sentence}"
        return found

    def words(self, setting: Setting) -> str:
        """Return a setting in words, with what may be lost: 'threads = 8, journal = "fast" (may lose: the last writes)'."""
        lost = self.gives_up(setting)
        said = [
            f"{name} = {written(value)}" + (f" (may lose: {lost[name]})" if name in lost else "")
            for name, value in self.changes(setting).items()
        ]
        redundancy = f" ({lost['']})" if "" in lost else ""
        return (", ".join(said) or "the default") + redundancy

    def allowed(self, setting: Setting) -> bool:
        """Return whether a setting fits the hosts, and is as durable as the campaign's own unless it needn't be."""
        if setting not in self._known:
            try:
                self._driver(setting).require_fit(self.hosts)
                self._known[setting] = self.less_durable or not self.gives_up(setting)
            except CampaignError:
                self._known[setting] = False
        return self._known[setting]

    def _driver(self, setting: Setting) -> FileSystem:
        return _driver(_row(self.written(setting), self.source))

    def _redundancy(self, setting: Setting) -> Redundancy | None:
        return self._driver(setting).redundancy(self.hosts)


def declared(
    table: Table, source: Source, testbed: Spec, clients_count: int, *, only: Collection[str] = (), less_durable: bool = False
) -> Declared:
    """Find what can be tuned in a file system's table.

    Args:
        table: of the campaign.
        source: of the campaign.
        testbed: whose hosts the settings must fit.
        clients_count: the largest number of clients.
        only: names of options to tune; all if empty.
        less_durable: whether to try values that give up durability, too.

    Raises:
        CampaignError: it declares none, or not one of `only`, or only values that give up durability are left.
    """
    kind = str(table["kind"])
    marks = [
        (option, field, mark)
        for option, (field, info) in fields_of("filesystem", kind).items()
        for mark in info.metadata
        if isinstance(mark, Tunable)
    ]
    names = [_name(option, mark) for option, _, mark in marks]
    if not names:
        what = f"the driver {kind} declares no option that can be tuned"
        raise CampaignError(what, where=source.name, next="`perjoule drivers KIND` shows which options of a driver are tuned")
    if strange := [name for name in only if name not in names]:
        raise CampaignError(f'{kind} has no tunable option "{strange[0]}"', where="--only", next=instead(strange[0], names))
    chosen = [of for of, name in zip(marks, names, strict=True) if not only or name in only]
    found = (_option(table, source, *of, less_durable=less_durable) for of in chosen)
    options = tuple(option for option in found if len(option.values) > 1)
    if not options:
        what = f"every value of {', '.join(only or names)} beside the campaign's own gives up durability"
        raise CampaignError(what, where=source.name, next="tune other options, or allow it with --allow-less-durable")
    hosts = drivers.testbed(testbed).planned(clients_count)
    _driver(_row(table, source)).require_fit(hosts)
    return Declared(table, Space(options), hosts, source, less_durable)


def _option(table: Table, source: Source, option: str, field: str, mark: Tunable, *, less_durable: bool) -> Option:
    """Return the values of an option: those declared and the campaign's own, without those that give up durability."""
    own = _read(table, source, option, field, mark, None)
    found = [(value, _read(table, source, option, field, mark, value)) for value in mark.values]
    found = [(value, read) for value, read in found if read == own or less_durable or not mark.lost(value)]
    if own not in [read for _, read in found]:
        found.append((_own(table, option, field, mark, own), own))
    if mark.scale:
        found.sort(key=lambda pair: float(pair[1]))
    default = [read for _, read in found].index(own)
    lost = {n: mark.lost(value) for n, (value, _) in enumerate(found) if n != default and mark.lost(value)}
    scale = places([float(read) for _, read in found]) if mark.scale else ()
    return Option(_name(option, mark), tuple(value for value, _ in found), default, scale, lost)


def _read(table: Table, source: Source, option: str, field: str, mark: Tunable, value: Json) -> Any:
    """Return a value of an option as its driver has it, or the campaign's own for None."""
    if mark.key:
        return value if value is not None else table.get(option, {}).get(mark.key, mark.otherwise)
    return vars(_driver(_row(table if value is None else {**table, option: value}, source)))[field]


def _own(table: Table, option: str, field: str, mark: Tunable, own: Any) -> Json:
    """Return the campaign's own value as a campaign writes it."""
    if mark.key or option in table:
        return own if mark.key else table[option]
    units = units_of(field)
    return exact_text(own, units) if units else own


def _name(option: str, mark: Tunable) -> str:
    return f"{option}.{mark.key}" if mark.key else option


def _row(table: Table, source: Source) -> Row:
    found = rows("filesystem", ("filesystem",), table, source)
    if len(found) != 1:
        what = f"the table of {table['kind']} stands for {len(found)} file systems, but one is tuned at a time"
        raise CampaignError(what, where=source.name, next="give each of its options one value instead of a list")
    return found[0]


def _driver(row: Row) -> FileSystem:
    assert isinstance(row.driver, FileSystem)
    return row.driver


def _weaker(one: Redundancy, other: Redundancy) -> bool:
    disks = one.beneath_count < other.beneath_count
    return one.tolerated_count < other.tolerated_count or disks or (other.acknowledged == "on disk" != one.acknowledged)
