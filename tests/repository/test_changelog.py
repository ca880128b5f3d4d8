"""A release is cut from "Unreleased" and the fragments, and each file that names it agrees."""

import shutil
from datetime import date
from pathlib import Path

import pytest

from places import ROOT
from setup import changelog

TEXT = """# Changelog

## Unreleased

### New

- A thing.

## 0.1.0 (2026-11-22)

### Numbers

- Old.
"""
DAY = date(2027, 1, 31)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "CHANGELOG.md").write_text(TEXT)
    (tmp_path / "changelog.d" / "README.md").write_text("# Fragments\n")
    (tmp_path / "changelog.d" / "watts.numbers.md").write_text("Watts were\nwrong.\n")
    (tmp_path / "changelog.d" / "other.new.md").write_text("Another thing.\n")
    (tmp_path / "src" / "perjoule").mkdir(parents=True)
    for name in ("pyproject.toml", "CITATION.cff", "src/perjoule/__init__.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_fragments_join_what_is_unreleased_by_section(root: Path) -> None:
    changelog.release(root, "0.2.0", DAY)
    assert (root / "CHANGELOG.md").read_text() == (
        "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2027-01-31)\n\n"
        "### Numbers that were wrong\n\n- Watts were wrong.\n\n"
        "### New\n\n- A thing.\n- Another thing.\n\n"
        "## 0.1.0 (2026-11-22)\n\n### Numbers\n\n- Old.\n"
    )
    assert [path.name for path in (root / "changelog.d").iterdir()] == ["README.md"]
    assert '\nversion = "0.2.0"\n' in (root / "pyproject.toml").read_text()
    assert '\n__version__ = "0.2.0"\n' in (root / "src" / "perjoule" / "__init__.py").read_text()
    assert '\nversion: 0.2.0\ndate-released: "2027-01-31"\n' in (root / "CITATION.cff").read_text()


def test_a_fragment_joins_the_group_that_it_names_and_others_stand_last(root: Path) -> None:
    grouped = "### New\n\nTo begin, one:\n\n| a | b |\n\n- Zero.\n\nMeters:\n\n- A: thing:\n"
    (root / "CHANGELOG.md").write_text(TEXT.replace("### New\n\n- A thing.\n", grouped))
    fragments = {"a": "More:\nMore.", "b": "To begin:\nFirst\none.", "c": "Meters:\nB."}
    for name, text in fragments.items():
        (root / "changelog.d" / f"{name}.new.md").write_text(text)
    changelog.release(root, "0.2.0", DAY)
    assert (root / "CHANGELOG.md").read_text().partition("### New\n\n")[2].partition("\n## ")[0] == (
        "To begin, one:\n\n| a | b |\n\n- Zero.\n- First one.\n\nMeters:\n\n- A: thing:\n- B.\n\nMore:\n\n- More.\n\n"
        "Besides:\n\n- Another thing.\n"
    )


def test_a_second_release_stands_above_the_first(root: Path) -> None:
    changelog.release(root, "0.2.0", DAY)
    (root / "changelog.d" / "more.fixed.md").write_text("More.")
    changelog.release(root, "0.10.0", DAY)
    text = (root / "CHANGELOG.md").read_text()
    assert (
        "## Unreleased\n\n## 0.10.0 (2027-01-31)\n\n### Fixed\n\n- More.\n\n## 0.2.0 (2027-01-31)\n\n### "
        "Numbers" in text
    )


@pytest.mark.parametrize("version", ["0.1.0", "0.0.9", "0.2", "v0.2.0", "0.2.0rc1"])
def test_no_release_that_is_not_newer_is_cut(root: Path, version: str) -> None:
    with pytest.raises(SystemExit, match=r"three numbers and newer than 0\.1\.0"):
        changelog.release(root, version, DAY)
    assert (root / "CHANGELOG.md").read_text() == TEXT
    assert len(changelog.fragments(root)) == 2


@pytest.mark.parametrize("name", ["watts.md", "watts.number.md", "a.b.new.md"])
def test_a_fragment_without_a_section_is_named(root: Path, name: str) -> None:
    (root / "changelog.d" / name).write_text("Watts.")
    with pytest.raises(SystemExit, match=f"{name}: name a fragment WHAT.SECTION.md"):
        changelog.release(root, "0.2.0", DAY)
    assert (root / "CHANGELOG.md").read_text() == TEXT


def test_our_own_fragments_and_changelog_can_be_cut() -> None:
    assert changelog.cut((ROOT / "CHANGELOG.md").read_text(), changelog.fragments(), "9999.0.0", DAY)
