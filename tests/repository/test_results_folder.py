"""The page of the results folder has every file of a run, every key of a record, and every column of its
Parquet files.
"""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

import pyarrow.parquet as pq
import pytest

from measured import measured
from perjoule import exporting, report
from perjoule.exporting.archive import open_archive, unpacked
from perjoule.model import Channel, Specification
from perjoule.model.series import Grade, Quantity, Semantics
from perjoule.store import Results
from perjoule.summary import summary
from places import ROOT

PAGE = (ROOT / "docs" / "reference" / "results-folder.md").read_text(encoding="utf-8")
ATTEMPT = "trials/TRIAL/attempt-N/"
TYPES = {
    "dictionary<values=string, indices=int32, ordered=0>": "text",
    "string": "text",
    "double": "float64",
    "int64": "int64",
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    found = measured(
        tmp_path_factory.mktemp("folder") / "results",
        'repetitions = 1\nsettle = "5 ms"\nquiet = 0',
        size="1 MiB",
    )
    report.write(found, found.folder / "report.html")
    return found


def rows(heading: str) -> dict[str, tuple[str, str]]:
    """What is in parentheses after each name of the list below a heading, and what is said of it."""
    (section,) = re.findall(rf"^#+ {heading}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    found: dict[str, tuple[str, str]] = {}
    for line in re.findall(r"^- (`.*)$", re.sub(r"\n +", " ", section), re.MULTILINE):
        first, _, meaning = line.partition(": ")
        names, _, of = first.partition(" (")
        found |= dict.fromkeys(re.findall(r"`([^`]+)`", names), (of.removesuffix(")"), meaning))
    return found


def columns(path: Path) -> dict[str, str]:
    schema = cast("Any", pq).read_schema(path)
    return {field.name: TYPES[str(field.type)] for field in schema}


def test_it_lists_every_file_that_a_run_writes(results: Results) -> None:
    listed = [name.replace(".../", ATTEMPT) for name in rows("Files") if name != ATTEMPT]
    written = {
        re.sub(r"trials/[^/]+/attempt-\d+/", ATTEMPT, str(path.relative_to(results.folder)))
        for path in results.folder.rglob("*")
        if path.is_file()
    }
    assert f"{ATTEMPT}record.json" in written
    missing = [
        one
        for one in written
        if not any(one == name or (name.endswith("/") and one.startswith(name)) for name in listed)
    ]
    assert missing == []


def test_it_lists_the_columns_of_series_with_their_types_in_order(results: Results) -> None:
    (path,) = results.folder.glob("trials/*/attempt-1/series.parquet")
    typed = {name: (of.partition(", ")[0], meaning) for name, (of, meaning) in rows("Series").items()}
    described = {name: meaning for name, (of, meaning) in typed.items() if of in TYPES.values()}
    assert [(name, typed[name][0]) for name in described] == list(columns(path).items())
    for name, values in (("quantity", Quantity), ("semantics", Semantics), ("grade", Grade)):
        assert tuple(re.findall(r"`([^`]+)`", described[name])) == get_args(values)
    units = re.findall(r"`([^`]+)`", described["unit"])
    assert sorted(units) == sorted(["value", *get_args(get_type_hints(Channel)["unit"])])
    specified = [name for name in typed if name not in described]
    assert specified == [field.name for field in fields(Specification)]


def test_it_lists_the_keys_of_a_record(results: Results) -> None:
    (path,) = results.folder.glob("trials/*/attempt-1/record.json")
    assert sorted(rows("The record")) == sorted(json.loads(path.read_text(encoding="utf-8")))


def test_it_lists_the_columns_of_the_exported_table(results: Results, tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    exporting.write_parquet(list(exporting.rows(results, summary(results).cells)), path)
    assert [(name, of) for name, (of, _) in rows("The exported table").items()] == list(columns(path).items())


def test_it_lists_what_a_bundle_adds(results: Results, tmp_path: Path) -> None:
    exporting.write_bundle(results, tmp_path / "x.zip", "", exporting.Description("small"))
    with open_archive(tmp_path / "x.zip") as archive, unpacked(archive) as folder:
        added = {path.name for path in folder.iterdir()} - {path.name for path in results.folder.iterdir()}
        left_out = {path.name for path in results.folder.iterdir()} - {path.name for path in folder.iterdir()}
    assert added == set(rows("What a bundle contains"))
    (sentence,) = re.findall(r"except (.*?)\. It adds", PAGE, re.DOTALL)
    assert left_out <= set(re.findall(r"`([^`]+?)/?`", sentence))
