"""The campaign that repeats a paper's study: its template, scaled to fit, on virtual hosts or your own."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from textwrap import fill
from typing import Any

from perjoule import campaign, published
from perjoule.model.errors import CampaignError
from perjoule.model.units import bytes_text

_CAMPAIGNS = files("perjoule.published") / "campaigns"
_TABLES = re.compile(r"(?m)^(?=\[)")  # the text of a campaign falls into what stands above the tables, and the tables
_WIDTH = 120


@dataclass(frozen=True)
class Reproduction:
    """How a paper's study is repeated: a campaign's text, what makes it small, and what can't be repeated."""

    paper: str
    template: str
    small: Mapping[str, Mapping[str, Any]]  # options of every table of a name; "" is what stands above the tables
    changed: str  # what that changes beyond sizes, in words
    scale: float | None  # of the virtual testbed; None: at full speed
    missing: tuple[str, ...]


def reproduction(paper: str) -> Reproduction:
    """Find how a paper's study is repeated. Raises CampaignError: no such paper, or no campaign repeats it."""
    known = published.paper(paper)
    rows: dict[str, dict[str, Any]] = tomllib.loads(_CAMPAIGNS.joinpath("reproductions.toml").read_text("utf-8"))
    if known.name not in rows:
        raise CampaignError(f"there is no campaign that repeats {known.name}", next=f"campaigns exist for {', '.join(rows)}")
    row = rows[known.name]
    template = _CAMPAIGNS.joinpath(f"{row.pop('campaign')}.toml").read_text("utf-8")
    scale, missing, changed = row.pop("scale", None), tuple(row.pop("missing", ())), row.pop("changed", "")
    inner = {table: row.pop(table) for table in list(row) if isinstance(row[table], dict)}
    return Reproduction(known.name, template, {"": row, **inner}, changed, scale, missing)


def written(
    paper: str,
    *,
    scale: float | None = None,
    shrink: int | None = None,
    repetitions: int | None = None,
    testbed: Path | None = None,
    simulate: bool = False,
) -> str:
    """Write the campaign that repeats a paper's study.

    Args:
        paper: one of `published.names()`.
        scale: speed of the virtual hosts relative to the real ones; the default suits two cores.
        shrink: the divisor of the paper's sizes; the default fits into about half an hour, and is 1 on hosts of your own.
        repetitions: of each data point; the paper's by default.
        testbed: a TOML file with [testbed], and perhaps [[meter]], which replace the virtual ones.
        simulate: whether to replace real parts with simulated ones.

    Raises:
        CampaignError: the paper or its campaign is unknown, the hosts have no scale, or the testbed file is wrong.
    """
    found = reproduction(paper)
    text = found.template[found.template.index("\nname = ") + 1 :]
    if testbed is not None:
        if scale is not None:
            raise CampaignError("only virtual hosts have a scale", where="--scale", next="remove --scale, or the testbed file")
        text = _on(text, testbed)
    else:
        for table, options in found.small.items():
            for option, value in options.items():
                text = _with(text, table, option, value)
        if scale or found.scale:
            text = _with(text, "testbed", "scale", scale or found.scale)
    asked = {"shrink": shrink, "repetitions": repetitions, "simulate": simulate or None}
    for key, value in asked.items():
        text = _with(text, "", key, value) if value is not None else text
    return f"{_head(found)}\n{_describing(text, found.changed if testbed is None else '')}"


def _with(text: str, table: str, key: str, value: object) -> str:
    """Set a key above the tables, or in every table of a name."""
    line = f"{key} = {_toml(value)}"
    parts = _TABLES.split(text)
    for index, part in enumerate(parts):
        if re.match(rf"\[+{table}\]", part) if table else index == 0:
            replaced, count = re.subn(rf"(?m)^{key} = .*$", line, part, count=1)
            parts[index] = replaced if count else re.sub(r"(?m)^((?:kind|seed) = .*)$", rf"\1\n{line}", part, count=1)
    return "".join(parts)


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else f"{value}"


def _on(text: str, file: Path) -> str:
    """Replace the testbed, and the meters if the file has some, by the tables of a file."""
    own = file.read_text("utf-8") if file.is_file() else ""
    try:
        tables = tomllib.loads(own)
    except tomllib.TOMLDecodeError as error:
        raise CampaignError(f"this is not valid TOML: {error}", where=str(file), next="check the line there") from error
    if "testbed" not in tables or not tables.keys() <= {"testbed", "meter"}:
        what = "a testbed file contains a [testbed] and, if you like, [[meter]] tables" if own else "no such file"
        raise CampaignError(what, where=str(file), next="perjoule drivers lists the testbeds")
    kept = [part for part in _TABLES.split(text) if not any(re.match(rf"\[+{name}\]", part) for name in tables)]
    return f"{''.join(kept).rstrip()}\n\n{own[own.index('[') :].strip()}\n"


def _describing(text: str, changed: str) -> str:
    """State in the description what is smaller or slower than in the paper."""
    asked = campaign.parse(text, source="reproduction")
    document = tomllib.loads(text)
    moved = sorted({step.moved_bytes for step in campaign.plan(asked).steps})
    span = " to ".join(dict.fromkeys(bytes_text(one) for one in (moved[0], moved[-1])))
    shrink, scale = document.get("shrink", 1), document["testbed"].get("scale", 1)
    said = [
        *([f"Sizes are divided by {shrink}: {span} for each trial at most."] if shrink != 1 else []),
        *([" ".join(changed.split())] if changed else []),
        *([f"CPUs, network and disks run at {scale:g} of their speed, and time with them."] if scale != 1 else []),
    ]
    if not said:
        return text
    before, after = text.split('\n"""\n', 1)
    return f'{before}\n{fill(" ".join(said), _WIDTH)}\n"""\n{after}'


def _head(found: Reproduction) -> str:
    paper = published.paper(found.paper)
    first = f'{paper.authors}, "{paper.title}", repeated; written by `perjoule reproduce {found.paper}`.'
    lines = [first, *(["", "What can't be repeated:"] if found.missing else []), *(f"- {one}" for one in found.missing)]
    return "".join(f"{fill(line, _WIDTH, initial_indent='# ', subsequent_indent='#   ') or '#'}\n" for line in lines)
