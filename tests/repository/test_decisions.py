"""Each decision fits a page and has a date and a status; its file names it."""

import re

from places import ROOT

PAGES = sorted((ROOT / "docs" / "explanations" / "decisions").glob("[0-9]*.md"))
MOST_WORDS = 350
TITLE = r"# {}\. [^\n]+"
DATE = re.compile(r"\b20\d\d-[01]\d-[0-3]\d\b")
STATUS = re.compile(r"\b(?:[Aa]ccepted|(?:[Pp]artly )?[Rr]eplaced by \[\d+\]\((\d{4}-[\w-]+\.md)\))")


def fault(number: int, text: str) -> str:
    """What a decision lacks; "" if nothing."""
    title, _, rest = text.partition("\n\n")
    head = rest.partition("\n\n")[0]
    if not re.fullmatch(TITLE.format(number), title):
        return "the title must have the file's number"
    if not DATE.search(head):
        return "say below the title when it was decided"
    if not STATUS.search(head):
        return (
            'say below the title whether it is "accepted", "replaced by [N](...)" or "partly replaced by '
            '[N](...)"'
        )
    return "shorten it: context, decision, consequence" if len(text.split()) > MOST_WORDS else ""


def test_a_decision_is_a_page_with_a_date_and_a_status() -> None:
    assert len(PAGES) > 70
    faults = {page.name: fault(int(page.stem[:4]), page.read_text()) for page in PAGES}
    assert {name: lack for name, lack in faults.items() if lack} == {}


def test_what_a_decision_lacks_is_named() -> None:
    text = "# 7. Figures\n\nDate: 2026-11-21. Status: accepted.\n\nWhy."
    assert fault(7, text) == ""
    assert fault(8, text).startswith("the title")
    assert "when" in fault(7, text.replace("2026-11-21", "today"))
    assert "whether" in fault(7, text.replace("accepted", "open"))
    assert fault(7, text + " word" * 400).startswith("shorten")
