"""The JSON Schema of needs: it takes what `perjoule plan` takes, and an editor reports a typo once."""

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest

from editor import faults
from perjoule.planning.schema import schema
from places import EXAMPLES, ROOT, SOURCES

NEEDS = EXAMPLES / "needs"
SHIPPED = sorted((SOURCES / "catalogue" / "parts").glob("*.toml"))
TOML = re.compile(r"```toml\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema())


def test_the_schema_is_one_and_takes_examples_and_documented_needs(
    validator: jsonschema.Draft202012Validator,
) -> None:
    validator.check_schema(validator.schema)
    documented = TOML.findall((ROOT / "docs" / "how-to" / "plan.md").read_text())
    examples = [path.read_text() for path in NEEDS.glob("*.toml")]
    assert documented and examples
    for text in (*documented, *examples):
        assert not list(validator.iter_errors(tomllib.loads(text))), text


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_need_may_hold_every_table_that_perjoule_ships(
    validator: jsonschema.Draft202012Validator, path: Path
) -> None:
    parts = tomllib.loads(path.read_text())
    assert not list(validator.iter_errors({"capacity": "1 TB", "write": "1 MiB/s", **parts}))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('capacity = "2.3 TB"', ""),
        ('capacity = "2.3 TB"', "capacity = 5"),
        ("years = 2", "years = 0"),
        ('read = "50 MB/s"\nwrite = "20 MB/s"', ""),
        ('idle_at_wall = "10 W"', 'idle_at_wall = "10 kg"'),
        ('price = "100 USD"', 'price = { low = "2 USD" }'),
        ('price = "100 USD"', 'price = { value = "2 USD", status = "guessed" }'),
        ('grid = "360 g/kWh"', 'grid = "360 g/MWh"'),
    ],
)
def test_the_schema_refuses_what_the_command_refuses(
    validator: jsonschema.Draft202012Validator, small: str, old: str, new: str
) -> None:
    assert old in small
    assert validator.is_valid(tomllib.loads(small))
    assert not validator.is_valid(tomllib.loads(small.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", []),
        ('read = "400 MiB/s"', 'raed = "400 MiB/s"', ["'raed' was unexpected"]),
        ('read = "4 h"', 'raed = "4 h"', ["'raed' was unexpected"]),
        ("failures = 1", "failures = 9", ["9 is greater than the maximum of 8"]),
    ],
)
def test_an_editor_reports_one_fault_for_a_typo(tmp_path: Path, old: str, new: str, said: list[str]) -> None:
    text = (NEEDS / "archive.toml").read_text().replace(old, new, 1)
    found = faults(tmp_path, "need.schema.json", schema(), text)
    assert len(found) == len(said), found
    assert all(words in fault for words, fault in zip(said, found, strict=True)), found


def test_each_example_names_the_schema_beside_it_which_is_that_of_this_version() -> None:
    written = json.loads((NEEDS / "need.schema.json").read_text())
    assert written == json.loads(json.dumps(schema())), (
        "perjoule plan --schema > examples/needs/need.schema.json"
    )
    first = {path.name: path.read_text().partition("\n")[0] for path in NEEDS.glob("*.toml")}
    assert set(first.values()) == {"#:schema ./need.schema.json"}, first
