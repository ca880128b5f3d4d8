"""Each decision fits a page and has a date and a status; its file names it, and the site lists all."""

import re

import pytest

from places import ROOT

PAGES = sorted((ROOT / "docs" / "explanations" / "decisions").glob("[0-9]*.md"))
WORDS_COUNT = 600
DATE = re.compile(r"\b20\d\d-[01]\d-[0-3]\d\b")
STATUS = re.compile(r"\b(?:[Aa]ccepted|(?:[Pp]artly )?[Rr]eplaced by \[\d+\]\((\d{4}-[\w-]+\.md)\))")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem[:4])
def test_a_decision_is_a_page_with_a_date_and_a_status(page) -> None:
    text = page.read_text()
    title, _, rest = text.partition("\n\n")
    assert re.fullmatch(rf"# {int(page.stem[:4])}\. [^\n]+", title)
    head = rest.partition("\n\n")[0]
    assert DATE.search(head), "say below the title when it was decided"
    status = STATUS.search(head)
    assert status, 'say below the title whether it is "accepted", "replaced by [N](...)" or "partly replaced by [N](...)"'
    assert len(text.split()) <= WORDS_COUNT, "figures that are measured again stand in benchmarks/README.md"
