"""TOML text to a frozen Campaign. An unknown word is an error with its line and the nearest valid word.

    name, description, clients, servers, repetitions, seed, order, settle, quiet, shrink    see `header`
    [testbed]                     one: the hosts
    [[filesystem]], [[workload]]  any number: what is compared
    [[event]]                     what happens to servers in each trial, see `events`
    [[meter]]                     by default the system's counters and, where CPUs are capped, modelled watts

Every table has a `kind` (the driver), an optional `label`, and the driver's options; a file system may have
options of the testbed for itself alone, see `pairs`. A list for an option that takes one value spans the
matrix: all combinations of a table's lists are measured. Several [[meter]] measure at once, not in turn.
"""

import itertools
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path as File

from pydantic import ValidationError

from perjoule import drivers
from perjoule.campaign.access import check_access
from perjoule.campaign.attachments import files_of
from perjoule.campaign.covered import check_covered
from perjoule.campaign.defaults import COUNTERS, MODEL
from perjoule.campaign.describe import (
    about,
    describe,
    example,
    example_text,
    headline,
    options,
    ports,
    top_keys,
)
from perjoule.campaign.devices import check_named
from perjoule.campaign.events import EVENT, check_possible, events, known_keys
from perjoule.campaign.header import TOP_KEYS, Header
from perjoule.campaign.labels import specs
from perjoule.campaign.layouts import impossible
from perjoule.campaign.lines import Path
from perjoule.campaign.making.playground import meters, playground
from perjoule.campaign.making.simulate import described, simulated
from perjoule.campaign.mixed_users import users
from perjoule.campaign.order import groups, most_repetitions
from perjoule.campaign.pairs import FileSystemPair, pairs, testbeds
from perjoule.campaign.passed import check_passwords
from perjoule.campaign.plan import Plan, PlannedTrial, plan
from perjoule.campaign.schema import schema
from perjoule.campaign.source import (
    CampaignSource,
    Table,
    is_list,
    is_table,
    override,
    owned_text_of,
    read_toml,
)
from perjoule.campaign.tables import (
    NAMES,
    TableRow,
    fields_of,
    kind_of,
    known_options,
    lists_users,
    rows,
)
from perjoule.drivers.protocols import Testbed
from perjoule.model import LEAST_COUNT, Campaign, Json, Spec, StopRule
from perjoule.model.errors import CampaignError, PerjouleError
from perjoule.model.validation import explained, instead, neighbour, written
from perjoule.papers import published

__all__ = [
    "Plan",
    "PlannedTrial",
    "about",
    "demo",
    "describe",
    "document",
    "example",
    "example_text",
    "headline",
    "impossible",
    "meters",
    "neighbour",
    "options",
    "own_options",
    "parse",
    "plan",
    "playground",
    "ports",
    "read",
    "schema",
    "top_keys",
]

MOST_TRIALS = 100_000
NO_FILES: Mapping[str, str] = {}
_UNTIL_COUNT = 5  # least repetitions, if a stop rule names no other number
# how the tables are written
BRACKETS = {name: "[testbed]" if name == "testbed" else f"[[{name}]]" for name in NAMES}


def read(path: File, overrides: Sequence[str] = (), given: Mapping[str, str] = NO_FILES) -> Campaign:
    """Read a campaign file; `overrides` look like "filesystem.goal=2", `given` is as for `parse`.

    Raises CampaignError.
    """
    text, owner = owned_text_of(path)
    return parse(text, source=path.name, overrides=overrides, folder=path.parent, given=given, owner=owner)


def demo(overrides: Sequence[str] = ()) -> Campaign:
    """Read the campaign of `perjoule demo`. Raises CampaignError if an override is wrong."""
    with as_file(files("perjoule.campaign") / "demo.toml") as file:
        return read(file, overrides)


def parse(
    text: str,
    *,
    source: str = "campaign",
    overrides: Sequence[str] = (),
    folder: File | None = None,
    given: Mapping[str, str] = NO_FILES,
    of_results: bool = False,
    owner: int | None = None,
) -> Campaign:
    """Read a campaign.

    Args:
        text: TOML.
        source: its name in errors, and the name of a campaign without one.
        overrides: "PATH=VALUE" from the command line, for every table of that name that has the option. The
            campaign holds them, and name and seed where the text has none: `parse(c.text,
            overrides=c.overrides)` gives the same campaign again.
        folder: the folder of files that the campaign names.
        given: texts of files that the user has elsewhere, by the names that overrides have for them.
        of_results: it is the campaign of results that are only read, and may pass on what would be refused
            if it were run.
        owner: the user (uid) whose file it is; None if it is no file, or who runs it is known to be its author.

    Raises:
        CampaignError: one sentence with the line of the error.
    """
    tables, place = document(
        text,
        source=source,
        overrides=overrides,
        folder=folder,
        given=given,
        of_results=of_results,
        owner=owner,
    )
    drawn = [f"name={File(source).stem}"] if "name" not in tables else []
    tables.setdefault("name", File(source).stem)
    header = _header({key: value for key, value in tables.items() if key not in (*NAMES, EVENT)}, place)
    if header.servers_count:
        _serve(tables["testbed"], header.servers_count, place)
    seed = secrets.randbelow(2**32) if header.seed is None else header.seed
    drawn += [f"seed={seed}"] if header.seed is None else []
    beds, of = testbeds(tables, place)
    rows_of = {"testbed": beds, **{name: _rows(name, tables, place, header) for name in NAMES[1:]}}
    parts = {name: specs(rows_of[name], place) for name in NAMES}
    check_access(rows_of["filesystem"], rows_of["workload"], place)
    paired = pairs(rows_of, parts, of)
    numbered = events(tables.get(EVENT, []), place)
    check_possible(numbered, parts, header.clients_count, place)
    check_covered(rows_of["meter"], parts["testbed"], header.clients_count, place)
    check_named(rows_of["filesystem"], header.overwrite, place)
    combinations_count = len(header.clients_count) * sum(len(pair.workloads) for pair in paired)
    trials_count = combinations_count * most_repetitions(header)
    if trials_count > MOST_TRIALS:
        raise CampaignError(
            f"{trials_count} trials are too many",
            where=source,
            next=f"a campaign has at most {MOST_TRIALS}: shorten the lists",
        )
    ordered_groups = groups(
        header, seed, paired, parts["meter"], events=tuple(event for event, _ in numbered)
    )
    return Campaign(
        name=header.name,
        description=described(header.description) if header.simulate else header.description,
        reproduces=header.reproduces,
        seed=seed,
        groups=simulated(ordered_groups) if header.simulate else ordered_groups,
        text=text,
        order=header.order,
        settle_s=header.settle_s,
        edp_weight=header.edp_weight,
        quiet_s=header.quiet_s,
        align_s=header.align_s,
        until=header.until
        and StopRule(header.until.metric, header.until.interval_ratio, header.until.max_count),
        least_count=header.repetitions_count,
        overwrite=header.overwrite,
        overrides=(*overrides, *drawn),
        files=files_of(itertools.chain.from_iterable(parts.values())),
        places=_places(rows_of["testbed"], parts["testbed"], paired, place),
    )


def document(
    text: str,
    *,
    source: str = "campaign",
    overrides: Sequence[str] = (),
    folder: File | None = None,
    given: Mapping[str, str] = NO_FILES,
    of_results: bool = False,
    owner: int | None = None,
) -> tuple[Table, CampaignSource]:
    """Read a campaign as TOML tables, with the overrides in them, and the meters that it gets where it names
    none.

    Raises:
        CampaignError: as `parse`, for whatever is wrong with its form.
    """
    tables, place = read_toml(text, source)
    place = replace(place, folder=folder, given=given, of_results=of_results, owner=owner)
    _check_shape(tables, place)
    place = _override(tables, [o for o in overrides if not o.startswith("meter.")], place)
    if "meter" not in tables:
        tables["meter"] = [{"kind": kind} for kind in _meters(tables["testbed"], place)]
    place = _override(tables, [o for o in overrides if o.startswith("meter.")], place)
    check_passwords(tables, place)
    return tables, place


def own_options(name: str, spec: Spec) -> Mapping[str, Json]:
    """Return the options of a driver ("filesystem", its spec) that are not its defaults; all if it no
    longer takes them.
    """
    try:
        driver, fields = drivers.build(f"{name}s", spec.kind, spec.options), fields_of(name, spec.kind)
        usual = {option: info.get_default(call_default_factory=True) for option, (_, info) in fields.items()}
        return {
            option: value
            for option, value in spec.options.items()
            if getattr(driver, fields[option][0]) != usual[option]
        }
    except (KeyError, ValueError, PerjouleError):
        return spec.options


def _meters(testbed: Table, place: CampaignSource) -> tuple[str, ...]:
    """The kinds of meters of a campaign that names none."""
    beds = (row.driver for row in rows("testbed", ("testbed",), testbed, place))
    modelled = all(isinstance(bed, Testbed) and bed.models_power for bed in beds)
    return (COUNTERS, MODEL) if modelled else (COUNTERS,)


def _check_shape(document: Table, place: CampaignSource) -> None:
    """Check that keys are known and tables are tables, before anything else is read."""
    for key, value in document.items():
        if key not in (*NAMES, EVENT, *TOP_KEYS):
            owners = [
                name
                for name in NAMES
                if any(key in fields_of(name, kind) for kind in drivers.usable(f"{name}s"))
            ]
            advice = (
                f"write it below {' or '.join(BRACKETS[owner] for owner in owners)}"
                if owners
                else instead(key, (*TOP_KEYS, *NAMES, EVENT))
            )
            raise place.error((key,), f'a campaign has no key "{key}"', advice)
        if key == "testbed" and not is_table(value):
            raise place.error(
                (key,), "a campaign has one testbed", "write it as [testbed], in single brackets"
            )
        if key in (*NAMES[1:], EVENT) and not (is_list(value) and all(map(is_table, value))):
            raise place.error(
                (key,), f"a campaign can have several {key}s", f"write it as [[{key}]], in double brackets"
            )
    for name in NAMES[:3]:
        if not document.get(name):
            advice = "`perjoule new local` writes a short one"
            raise CampaignError(f"{BRACKETS[name]} is missing", where=place.name, next=advice)
    if document.get("meter") == []:
        raise place.error(("meter",), "nothing would be measured", "name a meter, or remove meter")


def _places(
    beds: Sequence[TableRow],
    bed_specs: Sequence[Spec],
    paired: Sequence[FileSystemPair],
    place: CampaignSource,
) -> dict[tuple[str, str], str]:
    """Return the place of each testbed and file system, by what it is and its label in a trial."""
    testbed_places = {
        ("testbed", spec.label): place.location(row.path) for row, spec in zip(beds, bed_specs, strict=True)
    }
    return testbed_places | {
        ("filesystem", pair.filesystem.label): place.location(pair.path) for pair in paired
    }


def _override(document: Table, overrides: Sequence[str], place: CampaignSource) -> CampaignSource:
    options: dict[str, Sequence[Sequence[str]]] = {"": [tuple(TOP_KEYS)]}
    for name in NAMES:
        options[name] = [known_options(name, path, table, place) for path, table in _tables(name, document)]
    options[EVENT] = [known_keys(table) for table in document.get(EVENT, [])]
    overridden = {text.partition("=")[0].strip() for text in overrides}
    if "repetitions" in overridden and "until" not in overridden:  # a count on the command line is exact
        document.pop("until", None)
    return override(document, overrides, place, options)


def _header(keys: Table, place: CampaignSource) -> Header:
    if "until" in keys:
        keys.setdefault("repetitions", _UNTIL_COUNT)
    try:
        header = Header(**keys)
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0])
        if first["type"] == "string_pattern_mismatch":
            fault = f"{key} = {written(first['input'])} can't be the name of a folder"
            raise place.error((key,), fault, "use letters, digits, spaces and . _ + -") from None
        explanation = explained(error, Header, "a campaign")
        fault = explanation.what if is_list(keys[key]) else explanation.what.replace(f"{key} (number 1)", key)
        raise place.error((key,), fault, explanation.advice) from None
    if header.reproduces and header.reproduces not in published.names():
        fault = f'no paper is called "{header.reproduces}"'
        raise place.error(("reproduces",), fault, instead(header.reproduces, published.names()))
    if header.until and header.repetitions_count < LEAST_COUNT:
        fault = f"repetitions = {header.repetitions_count} is too few for the stop rule (until)"
        raise place.error(("repetitions",), fault, f"write {LEAST_COUNT} or more")
    for key, counts in (("clients", header.clients_count), ("servers", header.servers_count or ())):
        if twice := [n for n in counts if counts.count(n) > 1]:
            raise place.error((key,), f"{key} has {twice[0]} twice", "list each number once")
    return header


def _serve(testbed: Table, counts: Sequence[int], place: CampaignSource) -> None:
    """Make the testbed span these numbers of storage hosts."""
    able = [kind for kind in drivers.usable("testbeds") if "servers" in fields_of("testbed", kind)]
    if testbed["kind"] not in able:
        fault = f"testbed {testbed['kind']} has a fixed set of storage hosts"
        raise place.error(("servers",), fault, f"remove servers, or use testbed {' or '.join(able)}")
    if "servers" in testbed:
        raise place.error(
            ("testbed", "servers"), "servers is set twice", "remove it here, or above the tables"
        )
    testbed["servers"] = list(counts)


def _rows(name: str, document: Table, place: CampaignSource, header: Header) -> list[TableRow]:
    shrink_ratio = header.shrink_ratio if name == "workload" else 1.0
    table_rows: list[TableRow] = []
    for path, table in _tables(name, document):
        listing = lists_users(name, kind_of(name, path, table, place))
        if listing and listing[0] in table:  # its users shrink, each by itself
            table_rows += rows(
                name, path, users(path, *listing, table, place, header.clients_count, shrink_ratio), place
            )
        else:
            table_rows += rows(name, path, table, place, shrink_ratio)
    return table_rows


def _tables(name: str, document: Table) -> list[tuple[Path, Table]]:
    value = document.get(name, [])
    return [((name,), value)] if is_table(value) else [((name, n), table) for n, table in enumerate(value)]
