"""A demo that has just run: what another processor rounds otherwise verifies, and a number changed by a
millionth is found.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from perjoule import store
from perjoule.cli import cli
from perjoule.results.likeness import MOMENTS
from perjoule.results.verification import verify
from perjoule.store.journal import sha256

FEW = ("--set", "repetitions=3", "--set", "settle=20 ms")
NOISE_RATIO, ZERO = 1e-12, 1e-18
CHANGE_RATIO = 1e-6
FINDABLE = 1e-6  # of SI units: a thousandth of what the smallest number of the demo is
Place = tuple[str | int, ...]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rounded") / "demo"
    done = CliRunner().invoke(cli, ["demo", "--simulate", *FEW, "--into", str(folder)])
    assert done.exit_code == 0, done.output
    return folder


def floats(value: Any, place: Place = ()) -> Iterator[tuple[Place, float]]:
    """Every float of a JSON value but the moments, which do not scale, with its place."""
    if isinstance(value, float):
        yield place, value
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        if name not in MOMENTS:
            yield from floats(part, (*place, name))


def put(value: Any, place: Place, number: float) -> None:
    *above, last = place
    for name in above:
        value = value[name]
    value[last] = number


def derived(folder: Path) -> list[tuple[Path, Place, float]]:
    """Every number that was computed: in the table's metrics and shared errors, and in the outcomes of
    trials.
    """
    table = folder / "table.json"
    found = [
        (table, ("cells", n, part, *place), number)
        for n, cell in enumerate(json.loads(table.read_text())["cells"])
        for part in ("metrics", "shared")
        for place, number in floats(cell.get(part, {}))
    ]
    for path in sorted(folder.glob("trials/*/*/record.json")):
        found += [
            (path, ("outcome", *place), number)
            for place, number in floats(json.loads(path.read_text())["outcome"])
        ]
    return found


def write(folder: Path, numbers: Sequence[tuple[Path, Place, float]]) -> None:
    """Put numbers into their places, and vouch for their files in the journal."""
    for path in dict.fromkeys(path for path, *_ in numbers):
        content = json.loads(path.read_text())
        for other, place, number in numbers:
            if other == path:
                put(content, place, number)
        path.write_text(json.dumps(content))
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    for line in lines:
        attempt = folder / "trials" / line["trial"] / f"attempt-{line['attempt']}"
        line["files"] = {name: sha256(attempt / name) for name in line["files"]}
    (folder / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.slow  # by day: shipped bundles: tests/unit/results/test_rounding.py
@pytest.mark.heavy
def test_a_fresh_demo_verifies_after_rounding_and_a_millionth_is_found(demo: Path) -> None:
    fresh = verify(store.open_results(demo))
    assert fresh.differences == ()
    dice, numbers = np.random.default_rng(3), derived(demo)
    assert len(numbers) > 2000
    rounded = [
        (
            path,
            place,
            number * (1 + NOISE_RATIO * dice.uniform(-1, 1))
            if number
            else ZERO * float(dice.choice([-1, 1])),
        )
        for path, place, number in numbers
    ]
    write(demo, rounded)
    again = verify(store.open_results(demo))
    assert (again.differences, again.checked_count) == ((), fresh.checked_count)
    findable = [one for one in numbers if abs(one[2]) > FINDABLE and np.isfinite(one[2])]
    for number in dice.choice(len(findable), 4, replace=False):
        path, place, value = findable[number]
        write(demo, [(path, place, value * (1 + CHANGE_RATIO))])
        assert verify(store.open_results(demo)).differences, (path.name, place, value)
        write(demo, [(path, place, value)])
    assert verify(store.open_results(demo)).differences == ()
