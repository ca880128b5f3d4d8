"""Options of campaigns, and values within tables."""

import pytest

from perjoule.model import Json, value_at

FACTS: Json = {
    "testbed": {"run": "1ec067e1", "caps": {"storage-1": 2}},
    "version": "3.0",
    "list": [{"run": 1}],
    "none": None,
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("testbed", "run"), "1ec067e1"),
        (("testbed", "caps", "storage-1"), 2),
        (("testbed", "caps"), {"storage-1": 2}),
        (("testbed", "lost"), None),
        (("lost", "run"), None),
        (("version", "run"), None),
        (("list", "run"), None),
        (("none", "run"), None),
    ],
)
def test_a_value_is_found_by_its_path_or_is_none(path: tuple[str, ...], value: Json) -> None:
    assert value_at(FACTS, *path) == value
