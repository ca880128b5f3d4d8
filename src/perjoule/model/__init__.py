"""Frozen values that all other code uses: requests (Campaign, Trial) and observations (Series, Outcome, Record).

Times whose names end in `_s` are seconds of CLOCK_MONOTONIC of the machine that runs perjoule; a record's Clock maps them to UTC.
Nothing here is scaled: on an emulated testbed these are wall seconds, and only `perjoule.analysis` dilates them.
"""

from perjoule.model.campaign import LEAST_COUNT, Campaign, Spec, StopRule, Trial, trial_text
from perjoule.model.doubts import Doubt
from perjoule.model.events import COMMANDS, EventKind, Happened, Health, TrialEvent, healthy_since, joining
from perjoule.model.options import (
    OPTIONS,
    UNIT_SUFFIXES,
    Aged,
    AttachedText,
    Disk,
    Json,
    Overwrite,
    Permit,
    TextFile,
    option_name,
)
from perjoule.model.records import (
    REBUILT,
    WRITE_BACK,
    ClientResult,
    Clock,
    Direction,
    HostFact,
    Outcome,
    Pattern,
    Phase,
    Reality,
    Record,
    Traits,
    covered_s,
)
from perjoule.model.redundancy import WHOLE_FILE, Amplification, Flow, Redundancy
from perjoule.model.results import Cell, Interval, PartEnergy, Point, Ran, Replacement, Worn
from perjoule.model.series import DRIVE, SAMPLE, UNMEASURED, Channel, Grade, Quantity, Semantics, Series, Specification

__all__ = [
    "COMMANDS",
    "DRIVE",
    "LEAST_COUNT",
    "OPTIONS",
    "REBUILT",
    "SAMPLE",
    "UNIT_SUFFIXES",
    "UNMEASURED",
    "WHOLE_FILE",
    "WRITE_BACK",
    "Aged",
    "Amplification",
    "AttachedText",
    "Campaign",
    "Cell",
    "Channel",
    "ClientResult",
    "Clock",
    "Direction",
    "Disk",
    "Doubt",
    "EventKind",
    "Flow",
    "Grade",
    "Happened",
    "Health",
    "HostFact",
    "Interval",
    "Json",
    "Outcome",
    "Overwrite",
    "PartEnergy",
    "Pattern",
    "Permit",
    "Phase",
    "Point",
    "Quantity",
    "Ran",
    "Reality",
    "Record",
    "Redundancy",
    "Replacement",
    "Semantics",
    "Series",
    "Spec",
    "Specification",
    "StopRule",
    "TextFile",
    "Traits",
    "Trial",
    "TrialEvent",
    "Worn",
    "covered_s",
    "healthy_since",
    "joining",
    "option_name",
    "trial_text",
]
