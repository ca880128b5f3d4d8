"""What an IO500 states about its phases: result_summary.txt (all versions) and result.txt (2020 and
later).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from perjoule.workloads.imported.run import Texts

RESULT, SUMMARY = "result.txt", "result_summary.txt"
BANDWIDTHS = ("ior-easy-write", "ior-hard-write", "ior-easy-read", "ior-hard-read")
RATES = (
    "mdtest-easy-write",
    "mdtest-hard-write",
    "find",
    "mdtest-easy-stat",
    "mdtest-hard-stat",
    "mdtest-easy-delete",
    "mdtest-hard-read",
    "mdtest-hard-delete",
)
MARKER = "timestamp"  # a moment in the run, listed like a phase
_NUMBER = r"-?(?:[\d.]+(?:e[+-]?\d+)?|inf|nan)"
_PHASE = re.compile(
    rf"^\[(?:RESULT|      )[^\]\n]*\]\s+(?:(?:BW|IOPS)\s+phase +\d+\s+)?([\w-]+)\s+({_NUMBER})\s+(GiB/s|GB/s|kIOPS|kiops)"
    rf"\s*: *time +({_NUMBER}) +seconds",
    re.MULTILINE,
)
_SCORE = re.compile(
    rf"^\[SCORE *\]\s*Bandwidth +({_NUMBER}) +Gi?B/s *: *IOPS +({_NUMBER}) +kiops *: *TOTAL +({_NUMBER})",
    re.MULTILINE,
)
_SECTION = re.compile(r"^\[([\w-]+)\]\n(.*?)(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
_KEY = re.compile(r"^([\w-]+) *=[ \t]*(\S(?:.*\S)?|)", re.MULTILINE)
_INVALID = re.compile(r"^; ERROR INVALID (.*\S)", re.MULTILINE)


@dataclass(frozen=True)
class Stated:
    """One phase. Digits are as printed; "" where a file says nothing."""

    name: str  # "ior-easy-write", also of versions that wrote ior_easy_write
    rate: str  # of result_summary.txt: GiB/s or kIOPS; what older versions call GB/s is GiB/s
    took: str  # of result_summary.txt: s
    keys: Mapping[str, str]  # of result.txt
    invalid: tuple[str, ...] = ()  # what IO500 itself calls invalid

    @property
    def moves(self) -> bool:
        """Whether it moves user data."""
        return self.name.startswith("ior-")

    @property
    def unit(self) -> str:
        """The unit of its rate."""
        return "GiB/s" if self.moves else "kIOPS"

    @property
    def per_s(self) -> float:
        """Bytes or operations per second that one of its unit is."""
        return 2.0**30 if self.moves else 1000.0

    @property
    def score(self) -> str:
        """The digits of its rate; result.txt has more of them."""
        return self.keys.get("score") or self.rate


@dataclass(frozen=True)
class Io500Score:
    """The score, as printed: GiB/s, kIOPS, and the root of their product."""

    bandwidth: str
    iops: str
    total: str


def phases(texts: Texts) -> tuple[Stated, ...]:
    """List the phases with a rate, in the order in which they ran. Raises ValueError if there are none."""
    sections = {
        name: (dict(_KEY.findall(keys)), keys) for name, keys in _SECTION.findall(texts.get(RESULT, ""))
    }
    summed = {
        name.replace("_", "-"): (rate, took) for name, rate, _, took in _PHASE.findall(texts.get(SUMMARY, ""))
    }
    scored = [name for name, (keys, _) in sections.items() if "score" in keys or name in summed]
    names = dict.fromkeys((*scored, *summed))
    phases_found = tuple(
        Stated(name, *summed.get(name, ("", "")), keys, tuple(_INVALID.findall(section_text)))
        for name in names
        if name not in (MARKER, "SCORE", "SCOREX")
        for keys, section_text in [sections.get(name, ({}, ""))]
    )
    if not phases_found:
        raise ValueError(
            f"no phase has a result in {' or '.join(name for name in (RESULT, SUMMARY) if name in texts)}"
        )
    return phases_found


def head(texts: Texts) -> Mapping[str, str]:
    """Return what result.txt says about the whole run."""
    return dict(_KEY.findall(texts.get(RESULT, "").partition("\n[ior")[0]))


def score(texts: Texts) -> Io500Score | None:
    """Return the score that result_summary.txt prints."""
    match = _SCORE.search(texts.get(SUMMARY, ""))
    return Io500Score(*match.groups()) if match else None
