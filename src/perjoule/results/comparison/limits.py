"""Limits of a change, for CI: a comparison breaks one, keeps it, or can't tell."""

import re
from dataclasses import dataclass
from typing import Literal

from perjoule.model.errors import CampaignError
from perjoule.results.comparison import ComparisonRow, checked_label

_LIMIT = re.compile(
    r"\s*(?P<metric>[^<>\s](?:[^<>]*[^<>\s])?)\s*(?P<sense>[<>])\s*(?P<percent>[+-]?\d+(?:\.\d+)?)\s*%\s*"
)


@dataclass(frozen=True)
class Limit:
    """A change that a user does not accept: "MiB/J < -5 %"."""

    text: str
    metric: str
    sense: Literal["<", ">"]
    ratio: float

    def judge(self, row: ComparisonRow) -> Literal["broken", "kept", "can't tell"]:
        """Return on which side of the limit the whole 95 % interval of a row's change is."""
        if row.judged.refused or not row.judged.estimate.freedom:
            return "can't tell"
        low, high = row.judged.ratio.low - 1, row.judged.ratio.high - 1
        if self.sense == "<":
            return "broken" if high < self.ratio else "kept" if low >= self.ratio else "can't tell"
        return "broken" if low > self.ratio else "kept" if high <= self.ratio else "can't tell"


def limit(text: str) -> Limit:
    """Parse "MiB/J < -5 %". Raises CampaignError."""
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise CampaignError(f'"{text}" is not a limit', next='write it as in "MiB/J < -5 %"')
    return Limit(
        text,
        checked_label(match["metric"]),
        "<" if match["sense"] == "<" else ">",
        float(match["percent"]) / 100,
    )
