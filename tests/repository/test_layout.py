"""The tests lie as the package does: whoever changes a module finds its tests without a search."""

from pathlib import Path

import pytest

from places import SOURCES, TESTS

UNIT = TESTS / "unit"


@pytest.mark.parametrize("path", sorted(UNIT.rglob("test_*.py")), ids=lambda path: str(path.relative_to(UNIT)))
def test_unit_tests_lie_in_a_room_that_exists(path: Path) -> None:
    room = path.parent.relative_to(UNIT)
    assert path.parent != UNIT, "move it to the room of the module that it tests"
    assert (SOURCES / room).is_dir(), f"src/perjoule/{room} does not exist; move the test to where its module has moved"
