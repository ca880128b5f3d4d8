"""What took long to compute is kept, and never read where it isn't what would be computed again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from perjoule.machine import kept


def test_what_was_kept_is_read_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "x"
    assert kept.read(path, "of this") is None
    kept.write(path, "of this", b"long\ntext")
    assert kept.read(path, "of this") == b"long\ntext"
    assert kept.read(path, "of that") is None
    kept.write(path, "of that", b"")
    assert (kept.read(path, "of this"), kept.read(path, "of that")) == (None, b"")
    assert [one.name for one in path.parent.iterdir()] == ["x"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace(b"long", b"Long"),
        lambda text: text[:-1],
        lambda text: text + b"\n",
        lambda text: text[1:],
        lambda text: b"",
    ],
)
def test_what_was_changed_or_cut_is_not_read(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    kept.write(tmp_path / "x", "of this", b"long text")
    (tmp_path / "x").write_bytes(damage((tmp_path / "x").read_bytes()))
    assert kept.read(tmp_path / "x", "of this") is None


def test_what_is_too_long_for_what_is_kept_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.write(tmp_path / "x", "of this", b"text")
    monkeypatch.setattr(kept, "MOST_BYTES", 60)
    assert kept.read(tmp_path / "x", "of this") is None


def test_if_nothing_can_be_kept_nothing_is_printed(tmp_path: Path) -> None:
    (tmp_path / "in the way").write_text("mine")
    kept.write(tmp_path / "in the way" / "x", "of this", b"text")
    (tmp_path / "folder").mkdir()
    kept.write(tmp_path / "folder", "of this", b"text")
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["folder", "in the way"]


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    kept.write(tmp_path / "link" / "x", "of this", b"text")
    assert list((tmp_path / "elsewhere").iterdir()) == []
    (tmp_path / "theirs").write_text("theirs")
    (tmp_path / "x").symlink_to(tmp_path / "theirs")
    kept.write(tmp_path / "x", "of this", b"text")
    assert (tmp_path / "theirs").read_text() == "theirs"


def test_what_concerns_a_user_is_in_the_folder_that_the_user_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kept.in_home("x") == tmp_path / "perjoule" / "x"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert kept.in_home("x") == Path("/home/someone/.cache/perjoule/x")
