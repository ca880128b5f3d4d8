"""Print what ran where, as tables in Markdown, from the kept outcomes (outcomes.json). The site has them below
docs/reference/platforms.md.

Usage: .venv/bin/python -m tests.kernels.table
"""

import json
from string import ascii_uppercase
from typing import Any

from perjoule import drivers
from tests.kernels.outcomes import APART, FAMILIES, KEPT, UNIT

TITLES = {
    "here": "the developers' kernel",
    "debian-12-vm": "Debian 12's kernel",
    "debian-13-vm": "Debian 13's kernel",
    "debian-12-vm-arm64": "Debian 12 on arm64",
    "debian-13-root": "Debian 13's packages",
    "debian-12-uml": "Debian 12's packages under User-mode Linux",
}
HEADINGS = {
    "filesystems": "File systems",
    "workloads": "Workloads",
    "testbeds": "Testbeds",
    "meters": "Meters (read from simulated devices)",
}


def tables(kept: dict[str, Any]) -> str:
    """Lay out what `outcomes.keep` keeps: a line for each driver, with the outcome on each platform."""
    letters = dict(zip((name for name in TITLES if name in kept), ascii_uppercase, strict=False))
    reasons: list[str] = []
    text = "\n" + "".join(_about(letter, name, kept[name]["about"]) for name, letter in letters.items())
    families = {
        HEADINGS[family]: {f"`{kind}`": f"{family}/{kind}" for kind in drivers.kinds(family)}
        for family in FAMILIES
    }
    machines = {"What depends on the kernel or the processor": {row: row for row in (*APART, UNIT)}}
    for heading, rows in {**machines, **families}.items():
        outcomes = {
            shown: [
                f"{letter} {cell}"
                for name, letter in letters.items()
                if (cell := _cell(row.rpartition("/")[2], _merged(kept[name], row), reasons))
            ]
            for shown, row in rows.items()
        }
        text += f"\n## {heading}\n\n"
        text += "".join(f"- {shown}: {'; '.join(cells)}\n" for shown, cells in outcomes.items() if cells)
        if silent := [shown for shown, cells in outcomes.items() if not cells]:
            text += f"- no report: {', '.join(silent)}\n"
    listed = "".join(f"{n}. {reason}\n" for n, reason in enumerate(reasons, 1))
    return f"{text}\n## Why refused\n\n{listed}"


def _about(letter: str, platform: str, about: list[str]) -> str:
    kernel, machine, system, python, *packages = about
    return (
        f"- **{letter}**: {TITLES[platform]}: Linux {kernel}, {system}, {machine}, "
        f"{', '.join([python, *packages])}\n"
    )


def _merged(kept: dict[str, Any], row: str) -> dict[str, Any]:
    """Return the outcome of a row over all parts: the one with most tests, because parts overlap."""
    found = [part[row] for part in kept["parts"].values() if row in part]
    return max(found, key=lambda one: (len(one["failed"]), one["passed"], len(one["skipped"])), default={})


def _cell(kind: str, found: dict[str, Any], reasons: list[str]) -> str:
    if not found:
        return ""
    if found["failed"]:
        return f"**{len(found['failed'])} failed**"
    # A reason that begins with the driver's own name is the same everywhere.
    here = [reason for reason in found["skipped"] if not reason.startswith((f"{kind}: it ", f"{kind} "))]
    told = dict.fromkeys(
        reason.partition("; ")[0] for reason in (here if found["passed"] or here else found["skipped"])
    )
    words = [str(found["passed"])] if found["passed"] else []
    if told:
        reasons += [reason for reason in told if reason not in reasons]
        numbers = ", ".join(str(reasons.index(reason) + 1) for reason in told)
        words.append(f"{'refused' if here else 'not applicable'} ({numbers})")
    return ", ".join(words)


if __name__ == "__main__":
    print(tables(json.loads(KEPT.read_text())), end="")
