"""Points that may be decimals or separators of thousands: a German export and a program that prints three
decimals.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from perjoule.meters import csv
from perjoule.meters.csv import Csv
from perjoule.meters.csv.grouped import doubtful
from perjoule.model import Clock
from perjoule.model.errors import CampaignError
from typed import as_written

DECLARED = {
    "path": "log.csv",
    "unit": "W",
    "semantics": "instantaneous",
    "grade": "wall",
    "value": "P",
    "clock": "unix",
}


def text(cells: Sequence[str]) -> str:
    return "time,P\n" + "".join(f'{1_700_000_000 + n},"{cell}"\n' for n, cell in enumerate(cells))


def watts(cells: Sequence[str], **options: Any) -> list[float]:
    return [
        row.value for row in as_written(Csv, **{**DECLARED, **options}).samples(text(cells), Clock(0.0, 0.0))
    ]


EITHER = {
    "all above a thousand": ["1.234", "1.199", "2.000", "11.420"],
    "some below a thousand": ["950", "1.234", "0", "1.003", "999", "1.120"],
    "tens of kilowatts beside some below": ["120.500", "950", "118.250", "119.999"],
    "gaps between them": ["1.234", "", "n/a", "1.199", "1.500"],
    "power that flows back": ["-1.234", "1.199", "1.001"],
}
DECIMAL = {
    "a number below 1": ["1.234", "1.199", "0.950", "1.001"],
    "zeros that are not printed": ["1.25", "1.234", "1.199", "1.001"],
    "more decimals": ["1.2345", "1.234", "1.199", "1.001"],
    "thousands without a point": ["1234", "1.234", "1.199", "1.001"],
    "another number of digits before": ["1234.567", "1.234", "1.199", "1.001"],
    "hundreds of kilowatts, all of them": ["101.250", "99.875", "100.001"],
    "a separator of another kind": ["1,234.567", "1.234", "1.199", "1.001"],
    "an exponent": ["1.234e0", "1.234", "1.199", "1.001"],
    "two by chance": ["1.234", "950", "1.199"],
    "none with a point": ["950", "951", "120", "999"],
}


@pytest.mark.parametrize("cells", EITHER.values(), ids=EITHER)
def test_a_log_that_may_be_read_both_ways_is_refused_until_its_separators_are_declared(
    cells: list[str],
) -> None:
    with pytest.raises(CampaignError, match=r'separator of thousands.*set decimal = "\."'):
        watts(cells)
    as_decimals, as_thousands = watts(cells, decimal="."), watts(cells, thousands=".")
    numbers = [cell for cell in cells if any(map(str.isdigit, cell))]
    assert [w for w in as_decimals if w == w] == [float(cell) for cell in numbers]
    assert [w for w in as_thousands if w == w] == [float(cell.replace(".", "")) for cell in numbers]


@pytest.mark.parametrize("cells", DECIMAL.values(), ids=DECIMAL)
def test_a_log_that_can_be_read_one_way_needs_no_declaration(cells: list[str]) -> None:
    assert watts(cells) == [float(cell.replace(",", "")) for cell in cells]


def test_kilowatts_have_decimals() -> None:
    assert watts(["1.234", "1.199", "1.001"], unit="kW") == pytest.approx([1234, 1199, 1001])


def test_beside_thousands_with_points_decimals_have_commas() -> None:
    assert watts(["1.234,5", "950,25", "1.001"], thousands=".") == [1234.5, 950.25, 1001]


@pytest.mark.parametrize(
    ("cells", "refused"),
    [(["950"] * 60 + ["1.234"] * 60, True), (["1.234"] * 60 + ["0.950"] * 60, False), (["950"] * 120, False)],
    ids=["points far behind", "settled far behind", "whole numbers"],
)
def test_a_long_log_that_is_read_at_once_is_held_to_the_same(
    cells: list[str], refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv, "_LONG_BYTES", 200)
    meter, content = as_written(Csv, **DECLARED), text(cells).replace('"', "").encode()
    found = meter.plain(content)
    assert (found is None) == refused == doubtful(np.array([float(cell) for cell in cells]))
    if refused:
        with pytest.raises(CampaignError, match="separator of thousands"):
            list(meter.samples(content.decode(), Clock(0.0, 0.0)))
    elif found is not None:
        assert found[1] == pytest.approx([float(cell) for cell in cells])
