"""The documents have no more words than `setup/words.py` allows, and the command exits with 1 if they do."""

from pathlib import Path

import pytest

from setup import words


def test_the_documents_have_no_more_words_than_they_may() -> None:
    assert sum(words.counted().values()) <= words.MOST, (
        "shorten pages, and link what another page says: setup/words.py --pages"
    )


def test_words_are_counted_by_page_and_folder(tmp_path: Path) -> None:
    (tmp_path / "docs" / "new").mkdir(parents=True)
    (tmp_path / "README.md").write_text("one two three\n")
    (tmp_path / "docs" / "new" / "page.md").write_text("# A page\n")
    (tmp_path / "docs" / "new" / "other.md").write_text("| a | table |\n")
    (tmp_path / "CHANGELOG.md").write_text("not counted\n")
    found = words.counted(tmp_path)
    assert found == {"README.md": 3, "docs/new/page.md": 3, "docs/new/other.md": 5}
    assert words.by_folder(found) == {".": 3, "docs/new": 8}


def test_the_command_fails_where_there_is_a_word_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words.sys, "argv", ["words.py"])
    monkeypatch.setattr(words, "MOST", sum(words.counted().values()))
    words.main()
    monkeypatch.setattr(words, "MOST", words.MOST - 1)
    with pytest.raises(SystemExit, match="too many words"):
        words.main()
