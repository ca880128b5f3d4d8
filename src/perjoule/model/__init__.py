"""Frozen values that everything else speaks in: what is asked for (Campaign, Trial) and what was seen (Series, Outcome, Record).

Times named `_s` without further words are seconds of CLOCK_MONOTONIC of the machine that runs perjoule; a record's Clock maps
them to UTC. Nothing here is scaled: on an emulated testbed these are wall seconds, and `perjoule.analysis` alone dilates them.
"""

from perjoule.model.asked import (
    LEAST_COUNT,
    Campaign,
    Spec,
    StopRule,
    Trial,
)
from perjoule.model.options import (
    OPTIONS,
    UNIT_SUFFIXES,
    AttachedText,
    Disk,
    Json,
    Overwrite,
    Permit,
    TextFile,
    option_name,
)
from perjoule.model.seen import (
    Amplification,
    Channel,
    ClientResult,
    Clock,
    Direction,
    Flow,
    Grade,
    HostFact,
    Outcome,
    Phase,
    Quantity,
    Record,
    Redundancy,
    Semantics,
    Series,
    Specification,
    covered_s,
)
from perjoule.model.told import (
    Cell,
    Finding,
    Interval,
    Point,
    Replacement,
)

__all__ = [
    "LEAST_COUNT",
    "OPTIONS",
    "UNIT_SUFFIXES",
    "Amplification",
    "AttachedText",
    "Campaign",
    "Cell",
    "Channel",
    "ClientResult",
    "Clock",
    "Direction",
    "Disk",
    "Finding",
    "Flow",
    "Grade",
    "HostFact",
    "Interval",
    "Json",
    "Outcome",
    "Overwrite",
    "Permit",
    "Phase",
    "Point",
    "Quantity",
    "Record",
    "Redundancy",
    "Replacement",
    "Semantics",
    "Series",
    "Spec",
    "Specification",
    "StopRule",
    "TextFile",
    "Trial",
    "covered_s",
    "option_name",
]
