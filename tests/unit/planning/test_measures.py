"""No module of planning but its registry spells a unit, a factor or a key of what a plan computes."""

import ast
import json
import re
from collections.abc import Iterator

import pytest

from perjoule import planning
from perjoule.model.metrics import Unit
from perjoule.planning import measures
from perjoule.planning.measures import AXES, Measure
from perjoule.planning.need import Need
from perjoule.planning.texts import HEADERS, as_data
from places import SOURCES

ROOM = SOURCES / "planning"
MODULES = sorted({*ROOM.glob("*.py")} - {ROOM / "measures.py"})
ALL = [one for one in vars(measures).values() if isinstance(one, Measure)]
UNITS = {one for one in vars(measures).values() if isinstance(one, Unit)} | {one.unit for one in ALL}
SYMBOL = re.compile(rf"(?<![\w/])({'|'.join(re.escape(one.symbol) for one in UNITS if one.symbol)})(?![\w/])")
KEYS = {one.key for one in ALL} - {"rack_units"}  # which is also what a limit and a part are called
FACTORS = {one.per for one in UNITS} - {1.0, 1e3}  # counts have these, too


def spelled(text: str) -> Iterator[str]:
    tree = ast.parse(text)
    described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(said)) if id(node) not in described and (
                said in KEYS or SYMBOL.search(said)
            ):
                yield f"line {node.lineno}: {said!r}"
            case ast.Constant(value=int() | float() as number) if number in FACTORS:
                yield f"line {node.lineno}: {number!r}"
            case _:
                pass


@pytest.mark.parametrize("name", [path.name for path in MODULES])
def test_no_other_module_spells_a_unit_a_factor_or_a_key(name: str) -> None:
    assert list(spelled((ROOM / name).read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("name", ["plan.html", "plan.js"])
def test_the_page_does_not_either(name: str) -> None:
    text = (ROOM / "page" / name).read_text(encoding="utf-8")
    assert [key for key in KEYS - set(Need.__annotations__) if re.search(rf"\b{key}\b", text)] == []
    assert SYMBOL.search(text) is None and re.search(r"3\.6e6|1e12", text) is None


@pytest.mark.parametrize(
    "text",
    [
        "x = value / 1e12",
        "x = 3.6e6 * y",
        'f"{value} kWh"',
        '("idle_w", 1)',
        'x = "12 W idle"',
        'x = "300 g/kWh"',
        'x = "MiB/s"',
    ],
)
def test_each_way_to_spell_one_is_found(text: str) -> None:
    assert len(list(spelled(f"said = ({text})" if "=" not in text else text))) == 1
    assert list(spelled(f'"""{text.replace(chr(34), "")}"""')) == []


def test_each_measure_has_a_key_of_its_own_and_each_axis_a_name_and_a_label() -> None:
    assert len(ALL) > 15 and len(KEYS) == len(ALL) - 1
    assert len({one.name for one in AXES}) == len({one.label for one in AXES}) == len(AXES)
    assert all(one.name for one in AXES)


def test_every_measure_reaches_json_and_the_table_has_the_units_of_all_objectives(small: str) -> None:
    found = planning.answer(planning.parse(small), draws_count=5)
    (row, *_) = json.loads(json.dumps(as_data(found), default=vars))["rows"]
    assert set(row["values"]) == {one.key for one in ALL}
    assert {one.unit.symbol for one in measures.OBJECTIVES} <= set(HEADERS)


@pytest.mark.parametrize(
    ("what", "value", "text"),
    [
        (measures.ENERGY, 3.6e6 * 1234.4, "1 230 kWh"),
        (measures.CAPACITY, 2.5e12, "2.5 TB"),
        (measures.THROUGHPUT, 3 * 2**20, "3 MiB/s"),
        (measures.MOVED, 4.5e3, "4.5 kJ per TiB"),
        (measures.STORED, 7e6, "7 MJ per TB-year"),
        (measures.CARBON, 0.25, "0.25 kgCO2e"),
    ],
)
def test_a_value_is_printed_in_its_unit(what: Measure, value: float, text: str) -> None:
    assert what.text(value) == text
