"""A tuning as campaigns: each round of the race, the final comparison, and the tuned campaign are written
as campaign files.
"""

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

import tomlkit

from perjoule import campaign, drivers
from perjoule.campaign.source import Table
from perjoule.campaign.tables import NAMES, OWN_TESTBED, rows
from perjoule.drivers.protocols import Offered, OffersSettings
from perjoule.model import Campaign
from perjoule.model.errors import CampaignError
from perjoule.tuning.declared import DeclaredTable, declared
from perjoule.tuning.objective import Objective, objective
from perjoule.tuning.race import RaceBudget, budget
from perjoule.tuning.request import Request
from perjoule.tuning.space import Setting

DEFAULT, TUNED = "default", "tuned"  # labels in the final comparison
_LONGEST_NAME = 60
_WIDTH = 120


@dataclass(frozen=True)
class Study:
    """A tuning before anything is measured."""

    tuned_campaign: Campaign  # with the file system that is tuned alone
    objective: Objective
    budget: RaceBudget
    declared: DeclaredTable
    offered: Mapping[str, Offered]  # by its hosts
    document: Table  # the campaign, overrides applied
    overrides: tuple[str, ...]  # with which its text gives the same again
    folder: Path  # of the files that it names

    @property
    def work_count(self) -> int:
        """The trials that one setting needs."""
        return len({(trial.workload.label, trial.clients_count) for trial in self.tuned_campaign.trials})

    def round(self, number: int, settings: Mapping[str, Setting]) -> Campaign:
        """Write a round of the race as a campaign: each setting once, by label, on a deployment of its
        own.
        """
        description = (
            f"Round {number} of a tuning for {self.objective.text}: settings of a race, whose winner looks "
            "better than it is."
        )
        return self._campaign(f"round {number}", description, settings, 1, number)

    def final(self, setting: Setting, repetitions_count: int) -> Campaign:
        """Write the final comparison as a campaign: default and winner in turns, each on a fresh
        deployment.
        """
        description = (
            f"The winner of a tuning for {self.objective.text} and the campaign's own setting, measured in "
            "turns."
        )
        both = {DEFAULT: self.declared.space.default, TUNED: setting}
        return self._campaign("final", description, both, repetitions_count, 0)

    def tuned(self, setting: Setting, sentence: str) -> str:
        """Write the user's campaign with a setting, and the result above it."""
        table = dict(self.declared.written(setting))
        hosts = {**self.document["testbed"], **table.pop(OWN_TESTBED, {})}
        document = {**self.document, "testbed": hosts, "filesystem": [table]}
        head = fill(
            f"Tuned by `perjoule tune` for {self.objective.text}: {sentence}.",
            _WIDTH,
            initial_indent="# ",
            subsequent_indent="# ",
        )
        return f"{head}\n\n{_toml(document)}"

    def labels(self, written: Campaign) -> Mapping[str, Setting]:
        """Read the settings of a round back, by label. Raises CampaignError: they are not of this space."""
        tables, _ = campaign.document(written.text)
        try:
            return {table["label"]: self.declared.setting(table) for table in tables["filesystem"]}
        except ValueError:
            fault = (
                "this round has a value that the driver no longer declares, so it belongs to another "
                "version of perjoule"
            )
            raise CampaignError(
                fault, where=written.name, next="tune into another folder with --into"
            ) from None

    def _campaign(
        self,
        name: str,
        description: str,
        settings: Mapping[str, Setting],
        repetitions_count: int,
        number: int,
    ) -> Campaign:
        document = {key: value for key, value in self.document.items() if key not in ("until", "reproduces")}
        document["name"] = f"{self.tuned_campaign.name[:_LONGEST_NAME].rstrip()} {name}"
        document |= {"description": description, "repetitions": repetitions_count, "order": "interleaved"}
        document["seed"] = (self.tuned_campaign.seed + number) % 2**63
        document["filesystem"] = [
            {**self.declared.written(setting), "label": label} for label, setting in settings.items()
        ]
        return campaign.parse(_toml(document), source=str(document["name"]), folder=self.folder)


def study(
    request: Request,
    text: str,
    overrides: Collection[str],
    source: str,
    folder: Path,
    *,
    offered: Mapping[str, Offered] | None = None,
) -> Study:
    """Plan the tuning of a campaign; changes nothing.

    Args:
        request: what to tune for, and how.
        text: of the campaign.
        overrides: of the command line.
        source: the campaign's name in errors.
        folder: of the files that it names.
        offered: what its hosts have offered before; None: query them, unless they are simulated.

    Raises:
        CampaignError: the campaign or the request is wrong, or nothing can be tuned.
        MachineError: a host can't be asked.
    """
    aim = objective(request.metric, request.limit)
    document, place = campaign.document(text, source=source, overrides=tuple(overrides), folder=folder)
    table = _chosen(document["filesystem"], request.filesystem, source)
    row = rows("filesystem", ("filesystem",), table, place)
    if len(row) != 1:
        fault = f"the table of {row[0].kind} stands for {len(row)} file systems, but one is tuned at a time"
        raise CampaignError(
            fault, where=source, next="give each of its options one value, for example with --set"
        )
    document = copy.deepcopy({**document, "filesystem": [table]})
    full = campaign.parse(text, source=source, overrides=tuple(overrides), folder=folder)
    document.setdefault("name", full.name)
    document["seed"] = full.seed
    alone = campaign.parse(_toml(document), source=source, folder=folder)
    if (testbeds_count := len({trial.testbed.label for trial in alone.trials})) > 1:
        fault = f"the campaign has {testbeds_count} testbeds, but a setting is tuned on one"
        raise CampaignError(
            fault, where=source, next="give testbed and servers one value, for example with --set"
        )
    real = campaign.parse(_toml({**document, "simulate": False}), source=source, folder=folder)
    most_clients = max(trial.clients_count for trial in real.trials)
    testbed = real.trials[0].testbed
    if offered is None:
        bed = drivers.testbed(testbed)
        offered = (
            bed.offered(most_clients)
            if isinstance(bed, OffersSettings) and not document.get("simulate")
            else {}
        )
    tunable = declared(
        table,
        place,
        testbed,
        most_clients,
        offered=offered,
        only=request.only,
        less_durable=request.less_durable,
    )
    works = {(trial.workload.label, trial.clients_count) for trial in alone.trials}
    return Study(
        alone,
        aim,
        budget(request.trials_count, len(works)),
        tunable,
        offered,
        document,
        full.overrides,
        folder,
    )


def _chosen(tables: Sequence[Table], label: str, source: str) -> Table:
    """Return the table of the file system to tune."""
    names = [str(table.get("label", table["kind"])) for table in tables]
    matching = [
        table
        for table, name in zip(tables, names, strict=True)
        if not label or label in (name, table["kind"])
    ]
    if len(matching) != 1:
        listed = ", ".join(f'"{name}"' for name in names)
        fault = (
            f"{len(matching)} of its file systems are called {label}"
            if label
            else f"it has {len(tables)} file systems"
        )
        raise CampaignError(
            f"{fault}, but one is tuned at a time",
            where=source,
            next=f"choose it with --filesystem: {listed}",
        )
    return matching[0]


def _toml(document: Mapping[str, Any]) -> str:
    """Write a campaign: keys above the tables first."""
    keys = {key: value for key, value in document.items() if key not in NAMES}
    return tomlkit.dumps({**keys, **{name: document[name] for name in NAMES if name in document}})
