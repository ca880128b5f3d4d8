"""The documents have no more words than `setup/words.py` allows, and the command says where there are too many."""

from pathlib import Path

from setup import words


def test_no_folder_has_more_words_than_its_limit() -> None:
    assert words.too_long(words.counted(), words.LIMITS) == []


def test_each_limit_is_of_a_folder_with_pages() -> None:
    assert set(words.LIMITS) == set(words.by_folder(words.counted()))


def test_a_folder_with_a_word_too_many_and_one_without_a_limit_are_named(tmp_path: Path) -> None:
    (tmp_path / "docs" / "new").mkdir(parents=True)
    (tmp_path / "README.md").write_text("one two three\n")
    (tmp_path / "docs" / "new" / "page.md").write_text("# A page\n")
    (tmp_path / "CHANGELOG.md").write_text("not counted\n")
    found = words.counted(tmp_path)
    assert found == {"README.md": 3, "docs/new/page.md": 3}
    assert words.too_long(found, {".": 3, "docs/new": 3}) == []
    assert [sentence.partition(";")[0] for sentence in words.too_long(found, {".": 2})] == [
        ".: 3 words, at most 2",
        "docs/new: 3 words, at most 0",
    ]
