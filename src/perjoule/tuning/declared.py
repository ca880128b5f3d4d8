"""The space of a campaign: what drivers of its file system and hosts declare tunable, and the settings
that are allowed.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from perjoule import drivers
from perjoule.campaign.source import CampaignSource, Table
from perjoule.campaign.tables import OWN_TESTBED
from perjoule.drivers.protocols import FileSystem, Hosts, Offered
from perjoule.model import Json, Redundancy, Spec
from perjoule.model.errors import CampaignError
from perjoule.model.validation import instead, written
from perjoule.tuning.marked import built, marked, path_of, value_at, with_value
from perjoule.tuning.space import OptionSpace, Setting


@dataclass(frozen=True)
class DeclaredTable:
    """A file system's table in a campaign, and what can be tuned in it; options of its hosts are in its
    own `testbed`.
    """

    table: Table  # the campaign's own
    testbed: Table  # of its hosts
    space: OptionSpace
    hosts: Hosts  # on which each setting must fit
    source: CampaignSource
    less_durable: bool  # whether settings may give up durability
    _known: dict[Setting, bool] = field(default_factory=dict[Setting, bool])

    def written(self, setting: Setting) -> Table:
        """Return the table with a setting; what stays at the campaign's value is left as it is."""
        table, campaign_table = self.table, {**self.table, OWN_TESTBED: self.testbed}
        for option, value in zip(self.space.options, setting, strict=True):
            if value != option.default:
                table = with_value(table, path_of(option.name), option.values[value], campaign_table)
        return table

    def setting(self, table: Mapping[str, Any]) -> Setting:
        """Return the setting of such a table. Raises ValueError: it has a value that is not in the space."""
        setting: list[int] = []
        campaign_table = {**self.table, OWN_TESTBED: self.testbed}
        for option in self.space.options:
            value = value_at(table, path_of(option.name))
            same = value is None or value == value_at(campaign_table, path_of(option.name))
            setting.append(option.default if same else option.values.index(value))
        return tuple(setting)

    def changes(self, setting: Setting) -> Mapping[str, Json]:
        """Return the options in which a setting differs from the campaign's own, with their values."""
        values = zip(self.space.options, setting, strict=True)
        return {option.name: option.values[value] for option, value in values if value != option.default}

    def gives_up(self, setting: Setting) -> Mapping[str, str]:
        """Return what may be lost with a setting that the campaign's own keeps, by option; of redundancy
        under "".
        """
        values = zip(self.space.options, setting, strict=True)
        losses = {
            option.name: option.less_durable[value]
            for option, value in values
            if value in option.less_durable
        }
        before, after = self._redundancy(self.space.default), self._redundancy(setting)
        if before and after and not losses and _weaker(after, before):
            losses[""] = f"{after.sentence}, instead of {before.sentence}"
        return losses

    def description(self, setting: Setting) -> str:
        """Return a setting in words, with what may be lost: 'threads = 8, journal = "fast" (may lose: the
        last writes)'.
        """
        lost = self.gives_up(setting)
        changes = [
            f"{name} = {written(value)}" + (f" (may lose: {lost[name]})" if name in lost else "")
            for name, value in self.changes(setting).items()
        ]
        redundancy = f" ({lost['']})" if "" in lost else ""
        return (", ".join(changes) or "the default") + redundancy

    def allowed(self, setting: Setting) -> bool:
        """Return whether a setting fits the hosts, and is as durable as the campaign's own unless it
        needn't be.
        """
        if setting not in self._known:
            try:
                self._driver(setting).require_fit(self.hosts)
                self._known[setting] = self.less_durable or not self.gives_up(setting)
            except CampaignError:
                self._known[setting] = False
        return self._known[setting]

    def _driver(self, setting: Setting) -> FileSystem:
        return built(self.written(setting), self.source)

    def _redundancy(self, setting: Setting) -> Redundancy | None:
        return self._driver(setting).redundancy(self.hosts)


def declared(
    table: Table,
    source: CampaignSource,
    testbed: Spec,
    clients_count: int,
    *,
    offered: Mapping[str, Offered] | None = None,
    only: Collection[str] = (),
    less_durable: bool = False,
) -> DeclaredTable:
    """Find what can be tuned in a file system's table, and on its hosts.

    Args:
        table: of the campaign.
        source: of the campaign.
        testbed: whose hosts the settings must fit.
        clients_count: the largest number of clients.
        offered: the values that the hosts offer, see `Testbed.offered`.
        only: names of options to tune; all if empty.
        less_durable: whether to try values that give up durability, too.

    Raises:
        CampaignError: none is declared, or not one of `only`, or only values that give up durability are
            left.
    """
    kind, bed = str(table["kind"]), {"kind": testbed.kind, **testbed.options}
    filesystem = built(table, source)
    everything = list(marked(table, bed, source, offered or {}))
    marks = {mark.name: mark for mark in everything if not mark.lacks}
    if wrong := next((mark for mark in everything if mark.lacks and mark.name in only), None):
        raise CampaignError(
            f"{wrong.name}: {wrong.lacks}",
            where="--only",
            next=f"tune others: {', '.join(marks) or 'there are none'}",
        )
    if not marks:
        fault = f"the driver {kind} declares no option that can be tuned"
        raise CampaignError(
            fault, where=source.name, next="`perjoule drivers KIND` shows which options of a driver are tuned"
        )
    if strange := [name for name in only if name not in marks]:
        raise CampaignError(
            f'{kind} has no tunable option "{strange[0]}"', where="--only", next=instead(strange[0], marks)
        )
    tuned_marks = [mark for name, mark in marks.items() if not only or name in only]
    tunable_options = [mark.option(less_durable=less_durable) for mark in tuned_marks]
    options = tuple(option for option in tunable_options if len(option.values) > 1)
    if not options:
        unoffered = ", or is not offered by the hosts" if any(mark.offered for mark in tuned_marks) else ""
        fault = (
            f"every value of {', '.join(mark.name for mark in tuned_marks)} beside the campaign's own gives up "
            f"durability{unoffered}"
        )
        raise CampaignError(
            fault, where=source.name, next="tune other options, or allow it with --allow-less-durable"
        )
    hosts = drivers.testbed(testbed).planned(clients_count)
    filesystem.require_fit(hosts)
    return DeclaredTable(table, bed, OptionSpace(options), hosts, source, less_durable)


def _weaker(after: Redundancy, before: Redundancy) -> bool:
    disks = after.beneath_count < before.beneath_count
    return (
        after.tolerated_count < before.tolerated_count
        or disks
        or (before.acknowledged == "on disk" != after.acknowledged)
    )
