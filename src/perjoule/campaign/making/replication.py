"""The campaign that repeats a paper's study: its template, scaled to fit, on virtual hosts or your own."""

import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from textwrap import fill
from typing import Any, cast

import tomlkit

from perjoule import campaign
from perjoule.campaign.passed import check_passwords
from perjoule.campaign.source import owned_text_of, read_toml
from perjoule.campaign.tables import OWN_TESTBED
from perjoule.model.errors import CampaignError
from perjoule.model.units import bytes_text
from perjoule.papers import published

_CAMPAIGNS = files("perjoule.papers.published") / "campaigns"
_WIDTH = 120
_COMMENTED = re.compile(r"^# \[\[filesystem\]\]\n(?:# .*\n)+", re.MULTILINE)


@dataclass(frozen=True)
class Reproduction:
    """How a paper's study is repeated: a campaign's text, what makes it small, and what can't be repeated."""

    paper: str
    study: str  # the name of its campaign, if the paper has several; else ""
    template: str
    small: Mapping[str, Any]  # keys above the tables; for a name of tables, options of each of them
    changed: str  # what that changes beyond sizes, in words
    missing: tuple[str, ...]
    also: Mapping[str, str]  # kinds of file systems whose tables the template has as comments, and why
    without: tuple[str, ...] = ()  # labels of file systems that the template has beyond the paper's


def reproductions(paper: str) -> tuple[Reproduction, ...]:
    """Find how a paper's studies are repeated, in the order in which it describes them.

    Raises CampaignError: no such paper, or no campaign repeats it.
    """
    published_paper = published.paper(paper)
    text = _CAMPAIGNS.joinpath("reproductions.toml").read_text("utf-8")
    tables: dict[str, dict[str, Any] | list[dict[str, Any]]] = tomllib.loads(text)
    if published_paper.name not in tables:
        raise CampaignError(
            f"no campaign repeats {published_paper.name}", next=f"campaigns exist for {', '.join(tables)}"
        )
    rows = tables[published_paper.name]
    if isinstance(rows, list):
        return tuple(_reproduction(published_paper.name, row["campaign"], row) for row in rows)
    return (_reproduction(published_paper.name, "", rows),)


def _reproduction(paper: str, study: str, row: dict[str, Any]) -> Reproduction:
    template = _CAMPAIGNS.joinpath(f"{row.pop('campaign')}.toml").read_text("utf-8")
    missing, changed = tuple(row.pop("missing", ())), row.pop("changed", "")
    also, without = row.pop("also", {}), tuple(row.pop("without", ()))
    return Reproduction(paper, study, template, row, changed, missing, also, without)


def written(
    reproduction: Reproduction,
    *,
    scale: float | None = None,
    shrink: int | None = None,
    repetitions: int | None = None,
    testbed: Path | None = None,
    also: Collection[str] = (),
    simulate: bool = False,
) -> str:
    """Write the campaign that repeats a paper's study.

    Args:
        reproduction: one of `reproductions`.
        scale: speed of the virtual hosts relative to the real ones; the default suits two cores.
        shrink: the divisor of the paper's sizes; the default needs at most 45 minutes, and is 1 on
            hosts of your own.
        repetitions: of each data point; the paper's by default.
        testbed: a TOML file with [testbed], and perhaps [[meter]], which replace the virtual ones.
        also: kinds of file systems that no distribution has, to be measured as well.
        simulate: whether to replace real parts with simulated ones.

    Raises:
        CampaignError: the hosts have no scale, or the testbed file is wrong, or the template has no such kind as a
            comment.
    """
    for kind in also:
        if kind not in reproduction.also:
            kinds = ", ".join(reproduction.also) or "none"
            problem = f"{kind} is no file system that the campaign has as a comment"
            raise CampaignError(problem, where="--also", next=f"choose of: {kinds}")
    body = reproduction.template[reproduction.template.index("\nname = ") + 1 :]
    document: Any = tomlkit.parse(uncommented(body, also))  # it nests, and so has no type
    changes = {"shrink": shrink, "repetitions": repetitions, "simulate": simulate or None}
    changes = {key: value for key, value in changes.items() if value is not None}
    if testbed is None:
        _leave_out(document, lambda table: table.get("label") in reproduction.without)
        _set(document, {**reproduction.small, **({"testbed": {"scale": scale}} if scale else {}), **changes})
    elif scale is not None:
        raise CampaignError(
            "only virtual hosts have a scale", where="--scale", next="remove --scale, or the testbed file"
        )
    else:
        # Other hardware than that of the hosts that are named; not if the paper has what was asked for there alone.
        here = {table["kind"] for table in document["filesystem"] if not _elsewhere(table)}
        asked = set(also) - here
        _leave_out(document, lambda table: _elsewhere(table) and table["kind"] not in asked)
        for table in document["filesystem"]:
            table.pop(OWN_TESTBED, None)
        _replace(document, testbed)
        _set(document, changes)
    _describe(document, reproduction.changed if testbed is None else "")
    return f"{_head(reproduction, lacking(reproduction, also))}\n{tomlkit.dumps(document)}"


def lacking(reproduction: Reproduction, also: Collection[str] = ()) -> tuple[str, ...]:
    """Say what can't be repeated, a sentence each."""
    return (*reproduction.missing, *(why for kind, why in reproduction.also.items() if kind not in also))


def uncommented(template: str, kinds: Collection[str]) -> str:
    """Return a template with the tables of some kinds of file systems that it has as comments."""

    def table(comment: re.Match[str]) -> str:
        lines = comment[0].replace("\n# ", "\n").removeprefix("# ")
        return lines if tomllib.loads(lines)["filesystem"][0]["kind"] in kinds else comment[0]

    return _COMMENTED.sub(table, template)


def _set(table: Any, options: Mapping[str, Any]) -> None:
    """Set keys; of several tables of a name, those that each of them has. A comment names the previous value,
    replacing one that explained it.
    """
    for key, value in options.items():
        if isinstance(value, Mapping):
            given = cast("Mapping[str, Any]", value)
            if isinstance(table[key], list):
                for inner in table[key]:
                    _set(inner, {name: option for name, option in given.items() if name in inner})
            else:
                _set(table[key], given)
        elif table.get(key) != value:
            new = cast("Any", tomlkit.item(value))
            if key in table:
                new.comment(f"instead of {cast('Any', tomlkit.item(table[key])).as_string()}")
            table[key] = new


def _elsewhere(table: Any) -> bool:
    """Return whether a table of a file system names a cluster of its own."""
    return "cluster" in table.get(OWN_TESTBED, {})


def _leave_out(document: Any, unwanted: Callable[[Any], bool]) -> None:
    """Remove tables of file systems."""
    for table in [table for table in document["filesystem"] if unwanted(table)]:
        document["filesystem"].remove(table)


def _replace(document: Any, file: Path) -> None:
    """Replace the testbed, and the meters if the file has some, by the tables of a file.

    Raises CampaignError.
    """
    text, owner = owned_text_of(file)
    tables, place = read_toml(text, str(file))
    names = tables.keys()
    check_passwords(tables, replace(place, owner=owner))
    if "testbed" not in names or not names <= {"testbed", "meter"}:
        fault = "a testbed file has a [testbed] table and, optionally, [[meter]] tables"
        raise CampaignError(fault, where=str(file), next="perjoule drivers lists the testbeds")
    replacement: Any = tomlkit.parse(text)
    for name, table in replacement.items():
        document.pop(name, None)
        document.append(name, table)


def _describe(document: Any, changed: str) -> None:
    """Say in the description what was made smaller or slower than in the paper."""
    parsed = campaign.parse(tomlkit.dumps(document), source="reproduction")
    moved = sorted({step.moved_bytes for step in campaign.plan(parsed).steps})
    span = " to ".join(dict.fromkeys(bytes_text(size_bytes) for size_bytes in (moved[0], moved[-1])))
    shrink, scale = document.get("shrink", 1), document["testbed"].get("scale", 1)
    sentences = [
        *([f"Sizes are divided by {shrink}: {span} for each trial at most."] if shrink != 1 else []),
        *([" ".join(changed.split())] if changed else []),
        *(
            [f"CPUs, network and disks run at {scale:g} of their speed, and time with them."]
            if scale != 1
            else []
        ),
    ]
    if sentences:
        written = document["description"].as_string().removesuffix('"""')
        document["description"] = tomlkit.value(f'{written}{fill(" ".join(sentences), _WIDTH)}\n"""')


def _head(reproduction: Reproduction, parts: Collection[str]) -> str:
    paper = published.paper(reproduction.paper)
    first = (
        f'{paper.authors}, "{paper.title}", repeated; written by `perjoule reproduce {reproduction.paper}`.'
    )
    lines = [
        first,
        *(["", "What can't be repeated:"] if parts else []),
        *(f"- {part}" for part in parts),
    ]
    return "".join(
        f"{fill(line, _WIDTH, initial_indent='# ', subsequent_indent='#   ') or '#'}\n" for line in lines
    )
