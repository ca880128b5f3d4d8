"""Names say what they stand for: `setup/names.py` counts those that would fit anything, and its limit
only falls.
"""

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest

from places import ROOT
from setup import names


@pytest.fixture(scope="module")
def trees() -> Mapping[Path, ast.Module]:
    """Parsed where these tests run: every process imports this file."""
    return names.parsed(ROOT / "src")


def test_no_more_bindings_are_vague_than_may_be(trees: Mapping[Path, ast.Module]) -> None:
    assert names.share(names.shares(trees)) <= names.MOST_RATIO, (
        "call it by its content: setup/names.py --where ROOM"
    )


def test_no_two_public_classes_share_a_name(trees: Mapping[Path, ast.Module]) -> None:
    assert names.repeated(trees) == {}


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("found = 1", ["found"]),
        ("found: int = 1", ["found"]),
        ("found += 1", ["found"]),
        ("a, (b, *c) = d", ["a", "b", "c"]),
        ("if found := read(): pass", ["found"]),
        ("for key, one in them: pass", ["key", "one"]),
        ("[one for one in them]", ["one"]),
        ("with opened() as file: pass", ["file"]),
        ("try: pass\nexcept ValueError as error: pass", ["error"]),
        ("def said(self, what, *own, told=1, **rest): pass", ["said", "what", "told", "own", "rest"]),
        ("class Found:\n    def __init__(self): self.found = 1", ["Found"]),
        ("match it:\n    case [first, *rest] as whole: pass", ["whole", "rest", "first"]),
        ("lambda _, one: one", ["one"]),
        ("from a import b\nprint(found)\nfound.one = 1", []),
    ],
)
def test_every_kind_of_binding_is_found(text: str, bound: list[str]) -> None:
    assert sorted(binding.name for binding in names.bindings(ast.parse(text))) == sorted(bound)


def test_shares_are_of_a_room_and_of_all() -> None:
    trees = {
        Path("room/a.py"): ast.parse("found = size = 1"),
        Path("other/b.py"): ast.parse("size = told = cost = name = 1"),
    }
    counts = names.shares(trees)
    assert counts == {"room": (1, 2), "other": (1, 4)}
    assert names.share(counts) == pytest.approx(1 / 3)


def test_public_classes_that_share_a_name_are_listed_with_their_places() -> None:
    trees = {
        Path("a.py"): ast.parse("class Row: pass\nclass _Own: pass"),
        Path("b.py"): ast.parse("class Row: pass\nclass _Own: pass"),
    }
    assert names.repeated(trees) == {"Row": ["a.py:1", "b.py:1"]}


def test_the_command_prints_shares_or_the_places_of_a_room(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "perjoule" / "room").mkdir(parents=True)
    (tmp_path / "perjoule" / "room" / "a.py").write_text("size = 1\nfound = 2\n")
    monkeypatch.setattr("sys.argv", ["names.py", str(tmp_path)])
    names.main()
    assert "50.0%     1 of     2 room" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["names.py", str(tmp_path), "--where", "room"])
    names.main()
    assert capsys.readouterr().out == "room/a.py:2: found\n"
