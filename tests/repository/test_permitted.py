"""The page of words that a campaign may pass on is written from the lists that decide."""

from setup import permitted


def test_the_page_names_what_the_lists_permit() -> None:
    assert permitted.PAGE.read_text("utf-8") == permitted.page(), "run: .venv/bin/python setup/permitted.py"


def test_a_table_of_values_is_named_with_its_argument() -> None:
    assert "`-d (agcount agsize" in permitted.page()


def test_a_word_that_is_switched_on_or_off_is_named_once() -> None:
    assert "[^]bigalloc" in permitted.page()
    assert "^bigalloc" not in permitted.page().replace("[^]bigalloc", "")
