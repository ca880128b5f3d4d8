"""Pages: what others wrote is text, in the page and in its data."""

import json

import pytest

from perjoule.figures import rendering
from perjoule.report.document import document, headline
from perjoule.results.table import Table

HOSTILE = ["<!--<script>", "</script><b>", "\u2028", '\' onclick="x"']


@pytest.fixture(autouse=True)
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "javascript", lambda: "")  # to make it takes seconds


@pytest.mark.parametrize("label", HOSTILE)
def test_no_label_takes_a_pages_data_away(label: str) -> None:
    page = document("frame.html", label, {})
    data = page.partition('<script id="data" type="application/json">')[2].partition("</script>")[0]
    assert json.loads(data)["name"] == label
    assert "<" not in data  # "<!--<script>" makes a browser look for two ends of the script


@pytest.mark.parametrize("label", HOSTILE)
def test_no_label_is_markup(label: str) -> None:
    plain, hostile = (
        document(
            "index.html", text, {}, laid=Table((text,), ((text,),)), links=[text], valid_count=1
        ).partition("<script")[0]
        for text in ("plain", label)
    )
    assert [hostile.count(sign) for sign in "<>\"'"] == [plain.count(sign) for sign in "<>\"'"]


def test_a_page_aligns_on_the_left_what_a_table_calls_words() -> None:
    laid = Table(("file system", "n", "verdict"), (("MooseFS", "3", "better"),), ("file system", "verdict"))
    page = document("index.html", "title", {}, laid=laid, links=["a"], valid_count=1).partition("<script")[0]
    assert [one.partition("</td>")[0] for one in page.split("<td")[1:]] == [
        ' class="word"><a href="a">MooseFS</a>',
        ">3",
        ' class="word">better',
    ]


def test_a_headline_counts_the_verdicts_that_there_are_in_the_order_of_their_words() -> None:
    said = {"worse": "worse", "better": "better", "still": "without a step"}
    assert headline(["still", "worse", "still"], said) == "3 numbers: 1 worse, 2 without a step"
    assert headline(["better"], said) == "1 number: 1 better"
