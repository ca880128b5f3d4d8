"""What candidates store, from the options of their file systems."""

import pytest

from perjoule import planning
from perjoule.planning.answer import Row
from perjoule.planning.measures import CAPACITY
from places import EXAMPLES


def _rows(options: str) -> dict[tuple[object, ...], Row]:
    text = (EXAMPLES / "needs" / "archive.toml").read_text()
    text += f'\n[choose]\nfilesystems = ["moosefs"]\nservers = ["odroid-hc4"]\n[filesystem.moosefs]\noptions = [{options}]\n'
    found = planning.answer(planning.parse(text), draws_count=5)
    return {(row.servers_count, row.machine): row for row in found.rows}


def test_mirrors_beneath_halve_what_a_candidate_holds() -> None:
    single, double = _rows("{goal = 2}"), _rows('{goal = 2, beneath = {kind = "ext4", mirror = "md"}}')
    assert {row.choice.text for row in double.values()} == {"MooseFS 2 copies, mirrored disks"}
    assert set(single) & set(double)
    for alike in set(single) & set(double):
        held, mirrored = (of[alike].values[CAPACITY].value for of in (single, double))
        assert mirrored == pytest.approx(held / 2)
