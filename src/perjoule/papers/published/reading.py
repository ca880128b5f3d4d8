"""A paper's TOML file to a frozen Paper; anything unknown in the file is refused."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from perjoule.model.errors import CampaignError
from perjoule.model.validation import explained
from perjoule.papers.published.figures import FigureText
from perjoule.papers.published.paper import BOUNDS, QUANTITIES, Claim, Fact, Paper, PrintedNumber, Uncertainty
from perjoule.papers.published.printed import half_unit, printed

_OWN_WORDS = ("id", "quantity", "printed", "unit", "statistic", "plus_minus", "derived", "unchecked", "note")
_Row = dict[str, Any]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Table(_Strict):
    """Numbers of one place: inline tables, or rows, which have the facts named in `row` and then a number
    for each column.
    """

    place: str
    source: str = Field("", pattern=r"^(https?://\S+)?$")
    date: str = Field("", pattern=r"^(\d{4}(-\d{2}){0,2})?$")
    common: _Row = {}
    number: list[_Row] = []
    row: list[str] = []
    columns: list[_Row] = []
    rows: list[list[str | int]] = []


def _bound(name: str) -> str:
    if name not in BOUNDS:
        raise ValueError(f'unknown bound "{name}" (known: {", ".join(BOUNDS)})')
    return name


class _Configuration(BaseModel):
    """Any facts, and the bounds on its throughputs."""

    model_config = ConfigDict(extra="allow", frozen=True)
    bounds: dict[Annotated[str, AfterValidator(_bound)], str] = {}


class _File(_Strict):
    kind: Literal["paper", "claims"] = "paper"
    title: str
    authors: str
    reference: str = Field(min_length=1)
    year: int | None = None
    doi: str = ""
    notes: list[str] = []
    configuration: dict[str, _Configuration] = {}
    table: list[_Table]
    figure: list[FigureText] = []
    claim: list[Claim] = []

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for table in self.table:
            if self.kind == "claims" and not (table.source and table.date):
                raise ValueError(
                    f'claims need the source and the date of each table; "{table.place}" lacks one'
                )
        for claim in self.claim:
            if claim.factors and len(claim.factors) != len(claim.pairs):
                counts = f"{len(claim.factors)} factors for {len(claim.pairs)} pairs"
                raise ValueError(f'the claim "{claim.text}" has {counts}')
        return self


def read(text: str, name: str) -> Paper:
    """Read a paper from the text of its TOML file.

    Raises:
        CampaignError: invalid TOML, an unknown key, quantity or unit, a duplicate id, or an unknown one.
    """
    place = f"published file {name}.toml"
    try:
        file = _File.model_validate(tomllib.loads(text))
        configurations: dict[str, dict[str, Fact]] = {
            name: configuration.model_extra or {} for name, configuration in file.configuration.items()
        }
        bounds = {name: configuration.bounds for name, configuration in file.configuration.items()}
        numbers = tuple(
            replace(_number(raw, table.place, configurations), source=table.source, date=table.date)
            for table in file.table
            for raw in _raw(table)
        )
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise CampaignError(f"not TOML: {error}", where=place) from error
    except ValidationError as error:
        found = explained(error, _File, "a paper")
        raise CampaignError(found.what, where=place, next=found.advice) from error
    except (LookupError, ValueError) as error:  # "{0}" in an id is an IndexError
        raise CampaignError(
            str(error.args[0]), where=place, next="see the papers that come with perjoule"
        ) from error
    _refuse_unknown_ids(numbers, file.claim, bounds, place)
    return Paper(
        name,
        file.title,
        file.authors,
        file.reference,
        file.year,
        file.doi,
        numbers,
        tuple(file.claim),
        configurations,
        bounds,
        tuple(file.notes),
        tuple(figure.read() for figure in file.figure),
        tuple(dict.fromkeys(t.place for t in file.table if t.rows or t.place.startswith("Table"))),
        file.kind,
    )


def _raw(table: _Table) -> Iterator[_Row]:
    yield from ({**table.common, **raw} for raw in table.number)
    for row in table.rows:
        facts = dict(zip(table.row, row, strict=False))
        cells = row[len(table.row) :]
        if len(cells) != len(table.columns):
            raise ValueError(
                f"{table.place}: {row} has {len(cells)} numbers for {len(table.columns)} columns"
            )
        for column, cell in zip(table.columns, cells, strict=True):
            if cell != "":
                yield {**table.common, **facts, **column, "printed": str(cell)}


def _number(raw: _Row, place: str, configurations: Mapping[str, Mapping[str, Fact]]) -> PrintedNumber:
    quantity, statistic = raw["quantity"], raw.get("statistic", "unknown")
    row_facts: dict[str, Fact] = {key: fact for key, fact in raw.items() if key not in _OWN_WORDS}
    id = re.sub(r"\W+", "_", str(raw["id"]).format(**row_facts))
    if quantity not in QUANTITIES:
        raise ValueError(f'{id}: unknown quantity "{quantity}" (known: {", ".join(QUANTITIES)})')
    of = row_facts.get("configuration")
    if of is not None and of not in configurations:
        raise ValueError(f'{id}: no configuration is called "{of}"')
    given: Mapping[str, Fact] = configurations[str(of)] if of is not None else {}
    facts, row_facts = (
        {**given, **row_facts},
        {key: fact for key, fact in row_facts.items() if given.get(key) != fact},
    )
    text = printed(
        raw["printed"],
        raw.get("unit", ""),
        exact=statistic == "nominal" or (quantity == "count" and "." not in raw["printed"]),
    )
    if text.unit not in QUANTITIES[quantity]:
        raise ValueError(
            f'{id}: unknown unit "{text.unit}" of {quantity} (known: {", ".join(QUANTITIES[quantity])})'
        )
    unit = QUANTITIES[quantity][text.unit]
    kinds = raw.get("plus_minus", [])
    if len(kinds) != len(text.uncertainties):
        raise ValueError(
            f"{id}: {raw['printed']!r} has {len(text.uncertainties)} uncertainties, and plus_minus names "
            f"{len(kinds)}"
        )
    low = 0.0 if text.sign == "<" else text.low
    high = float("inf") if text.sign == ">" else text.high
    return PrintedNumber(
        id=id,
        quantity=quantity,
        printed=raw["printed"]
        if raw["printed"].endswith(raw.get("unit", ""))
        else f"{raw['printed']} {raw['unit']}",
        value=text.value * unit,
        low=low * unit,
        high=high * unit,
        unit=unit,
        place=place,
        statistic=statistic,
        facts=facts,
        own=row_facts,
        uncertainties=tuple(
            _uncertainty(digits, unit, kind) for digits, kind in zip(text.uncertainties, kinds, strict=True)
        ),
        derived=raw.get("derived", ""),
        unchecked=raw.get("unchecked", ""),
        note=raw.get("note", ""),
    )


def _uncertainty(digits: str, unit: float, kind: str) -> Uncertainty:
    value, half = float(digits), half_unit(digits)
    return Uncertainty(value * unit, max(0.0, value - half) * unit, (value + half) * unit, kind)


def _refuse_unknown_ids(
    numbers: tuple[PrintedNumber, ...],
    claims: list[Claim],
    bounds: Mapping[str, Mapping[str, str]],
    place: str,
) -> None:
    ids = [number.id for number in numbers]
    ids_known = set(ids)
    if len(ids_known) < len(ids):
        twice = next(id for id in ids if ids.count(id) > 1)
        raise CampaignError(f'two numbers are called "{twice}"', where=place, next="name a fact in their id")
    texts = [
        *(number.derived for number in numbers),
        *(text for claim in claims for text in claim.expressions),
        *(id for of in bounds.values() for id in of.values()),
    ]
    for text in texts:
        for match in re.finditer(r"(?<!\w)\d*([A-Za-z_]\w*+)(?!\()", text):
            if (name := match[1]) not in ids_known:
                near = "".join(f'did you mean "{id}"?' for id in get_close_matches(name, ids, n=1))
                raise CampaignError(f'no number is called "{name}"', where=place, next=near)


@cache
def names() -> tuple[str, ...]:
    """List the papers that come with perjoule."""
    file_names = (path.name for path in files("perjoule.papers.published").iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in file_names if name.endswith(".toml")))


@cache
def paper(name: str) -> Paper:
    """Find a paper by name.

    Raises:
        CampaignError: there is no such paper; the message suggests the nearest name.
    """
    if name not in names():
        near = get_close_matches(name.lower(), names(), n=1, cutoff=0.4)
        hint = f'did you mean "{near[0]}"?' if near else f"known: {', '.join(names())}"
        raise CampaignError(f'no paper is called "{name}"', next=hint)
    return read(files("perjoule.papers.published").joinpath(f"{name}.toml").read_text("utf-8"), name)
