"""Another processor adds up in another order: what was kept verifies nevertheless, and a changed number is
found.
"""

import json
import math
import shutil
from collections.abc import Iterator
from dataclasses import fields
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perjoule import store
from perjoule.exporting.archive import open_archive, unpacked
from perjoule.machine.untrusted import from_json
from perjoule.model import Cell
from perjoule.results.likeness import MOMENTS, close, differing, differing_rows
from perjoule.results.table_likeness import differing_cells
from perjoule.results.verification import verify
from perjoule.store.journal import sha256
from perjoule.store.records import record_from, to_json
from places import ROOT

EARLIER = sorted(Path(__file__).with_name("earlier").iterdir())
GOLDEN = sorted((ROOT / "tests" / "unit" / "store" / "golden").iterdir())
# of 2 MB at most: the others have more trials of the same kinds, and verify in tests/browser/test_list.py
BUNDLES = [
    path for path in sorted((ROOT / "docs" / "list" / "bundles").glob("*.zip")) if path.stat().st_size < 2e6
]
ROUNDING = 4 * 2.0**-52


@pytest.fixture(params=[*GOLDEN, *EARLIER, *BUNDLES], ids=lambda path: path.stem)
def folder(request, tmp_path):
    """A copy of results as they were kept."""
    if request.param.suffix == ".zip":
        with open_archive(request.param) as archive, unpacked(archive) as inside:
            shutil.copytree(inside, tmp_path / "results")
    else:
        shutil.copytree(request.param, tmp_path / "results")
    return tmp_path / "results"


def rounded(value: Any, draw, scale: float) -> Any:
    """The same JSON, each float as another order of adding up could leave it: zeros and whatever is next
    to one, too.
    """
    match value:
        case float():
            return value * (1 + ROUNDING * draw.uniform(-1, 1)) + scale * 2.0**-52 * draw.choice([-1, 1])
        case list():
            return [rounded(one, draw, scale) for one in value]
        case {"$float": _}:
            return value
        case dict():
            return {
                name: one if name in MOMENTS else rounded(one, draw, scale) for name, one in value.items()
            }
        case _:
            return value


def vouch(folder):
    """Write the checksums of what lies there now into the journal."""
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    for line in lines:
        own = folder / "trials" / line["trial"] / f"attempt-{line['attempt']}"
        line["files"] = {name: sha256(own / name) for name in line["files"]}
    (folder / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_each_derived_number_may_differ_by_rounding(folder):
    before = verify(store.open_results(folder))
    draw = np.random.default_rng(7)
    table = json.loads((folder / "table.json").read_text())
    for cell in table["cells"]:
        cell["metrics"] = {
            name: rounded(one, draw, max(map(abs, one["values"]), default=0.0))
            for name, one in cell["metrics"].items()
        }
        cell["shared"] = rounded(cell.get("shared", {}), draw, 1e-2)
    (folder / "table.json").write_text(json.dumps(table))
    for path in folder.glob("trials/*/*/record.json"):
        record = json.loads(path.read_text())
        if record.get("outcome"):
            record["outcome"] = rounded(record["outcome"], draw, 0.0)
        if "energy_j" in record["facts"].get("aged", {}):
            record["facts"]["aged"] = rounded(record["facts"]["aged"], draw, 0.0)
        path.write_text(json.dumps(record))
    vouch(folder)
    after = verify(store.open_results(folder))
    assert set(map(where, after.differences)) <= set(map(where, before.differences))  # of older definitions
    assert after.checked_count == before.checked_count


def where(difference):
    return difference.split(" is ")[0]


def floats(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    match value:
        case float():
            yield path
        case list():
            for number, one in enumerate(value):
                yield from floats(one, (*path, number))
        case dict():
            for name, one in value.items():
                yield from floats(one, (*path, name))
        case _:
            pass


def changed(value: Any, path, by) -> Any:
    """The same JSON with one float changed."""
    if not path:
        return by(value)
    first, *rest = path
    if isinstance(value, list):
        return [changed(one, rest, by) if number == first else one for number, one in enumerate(value)]
    return {**value, first: changed(value[first], rest, by)}


def test_each_number_of_a_table_that_was_changed_by_a_millionth_is_found(folder):
    cells = [cell for cell in store.open_results(folder).table() or () if cell.metrics]
    missed = []
    for cell in cells:
        stored = to_json(cell)
        for paths in at_once(stored):
            forged: Any = stored
            for path in paths:
                forged = changed(forged, path, lambda x: x * (1 + 1e-6))
            hidden = {part_of(path): path for path in paths}
            for part, text in zip(
                compared(cell), differing_cells([from_json(Cell, forged)], [cell]), strict=True
            ):
                if text:
                    hidden.pop(part, None)
                if not hidden:
                    break
            missed += hidden.values()
    assert missed == []


def at_once(stored: Any) -> Iterator[list[tuple[Any, ...]]]:
    """Places of all numbers: one of each metric, as each is compared by itself, and of other columns alone."""
    parts = by_part(stored)
    metrics = [paths for part, paths in parts.items() if part[0] == "metrics"]
    for paths in zip_longest(*metrics):
        yield [path for path in paths if path]
    for part, paths in parts.items():
        yield from ([path] for path in paths if part[0] != "metrics")


def compared(cell: Cell) -> list[tuple[str, ...]]:
    """The columns of a row but that of the metrics, and the metrics, in the order in which they are compared."""
    columns = [(field.name,) for field in fields(Cell) if field.name != "metrics"]
    return [*columns, *(("metrics", name) for name in sorted(cell.metrics))]


def part_of(path: tuple[Any, ...]) -> tuple[Any, ...]:
    return path[: 2 if path[0] == "metrics" else 1]


def by_part(stored: Any) -> dict[tuple[Any, ...], list[tuple[Any, ...]]]:
    """Places of the numbers of a row that somebody could measure, by column or metric."""
    found: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for path in floats(stored):
        value: Any = stored
        for step in path:
            value = value[step]
        # of energies of 1000 J, and of shares, nothing that anybody measures
        if abs(value) >= 1e-8 and path[0] != "ran":
            found.setdefault(part_of(path), []).append(path)
    return found


def test_each_number_of_an_outcome_that_was_changed_by_a_millionth_is_found(folder):
    for path in folder.glob("trials/*/*/record.json"):
        record = record_from(path.read_text())
        stored = to_json(record.outcome) if record.outcome else {}
        for place in filter(None, floats(stored)):
            assert differing(changed(stored, place, lambda x: x * (1 + 1e-6) + 1e-12 * (x == 0)), stored)


def test_a_moment_may_be_a_few_steps_of_a_float_off_and_no_more():
    utc_s = 1.8e9
    assert differing({"began_s": utc_s}, {"began_s": math.nextafter(utc_s, 0)}) == ""
    assert differing({"results": [{"began_s": utc_s}]}, {"results": [{"began_s": utc_s + 0.001}]}) == (
        "results[0].began_s is 1800000000.0 and recomputed 1800000000.001"
    )


def test_noise_is_no_number_and_its_place_is_named_with_all_digits():
    assert differing({"energy_j": {"a": 1.1e-19}}, {"energy_j": {}}, path="shared") == ""
    assert differing({"energy_j": {"a": 1.1e-19}}, {"energy_j": {"a": -3e-18}}, path="shared") == ""
    assert (
        differing({"energy_j": {"a": 1e-4}}, {"energy_j": {}}, path="shared")
        == "shared.energy_j.a is 0.0001 and recomputed 0.0"
    )
    assert "0.30000000000000004" in differing({"x": 0.30000000000000004}, {"x": 0.31})
    assert close(1e-18, 0.0, 1.0) and not close(1e-6, 0.0, 1.0)
    assert close(math.inf, math.inf) and close(math.nan, math.nan) and not close(math.inf, 1.0)
    assert differing(5, 6) and differing(True, 1) and differing("a", "b") and differing([1], [1, 2])


def test_samples_are_compared_one_by_one(made):
    stored = made.series(made.channel(), [1.0, 2.0, 3.0], [10.0, 0.0, 12.0])
    assert (
        differing_rows(
            stored, made.series(made.channel(), [1.0, 2.0, 3.0], [10.0, 1e-15, 12.0 * (1 + 1e-15)])
        )
        == ""
    )
    assert differing_rows(stored, made.series(made.channel(), [1.0, 2.0, 3.0], [10.0, 0.0, 12.001])) == (
        "sample 3: value is 12.0 and recomputed 12.001"
    )
    assert (
        differing_rows(stored, made.series(made.channel(), [1.0, 2.0], [10.0, 0.0]))
        == "3 samples are stored and 2 recomputed"
    )


@pytest.mark.parametrize("path", EARLIER, ids=lambda path: path.name)
def test_results_of_an_earlier_format_verify_by_what_it_kept(path):
    found = verify(store.open_results(path))
    assert found.differences == ()
    assert any("results of format 1 do not have the latency" in note for note in found.notes)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_a_table_of_an_older_definition_is_said_to_be_one(path):
    found = verify(store.open_results(path))
    assert not any("table:" not in words for words in found.differences)
    if found.differences:
        assert any(
            "definitions of numbers changed since format 1 of table.json" in note for note in found.notes
        )
