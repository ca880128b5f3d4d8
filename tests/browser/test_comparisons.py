"""The pages that compare campaigns, as a reader sees them: a history, two results folders, an index, a
paper beside.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from selenium import webdriver
from selenium.webdriver.common.by import By

from chromium import Chrome, complaints, in_turns, show, wait_drawn
from command.test_history import measure
from perjoule.cli import cli

CHECKS = ("clipped", "overlaps", "pale", "inaccessible")
NIGHTS_COUNT, SLOW_FROM = 6, 3
HEADLINES = {"history": "worse", "comparison": "significantly worse"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages over six nights, of which the last three have a file system of half the speed."""
    folder = tmp_path_factory.mktemp("pages")
    nights = [folder / "nights" / f"night-{n}" for n in range(NIGHTS_COUNT)]
    for n, night in enumerate(nights):
        measure(night, n, 100 if n < SLOW_FROM else 50)
    change = ("--change", "filesystem", "--report")
    for words in (
        ("history", folder / "nights", "--report", folder / "history.html"),
        ("compare", nights[0], nights[-1], *change, folder / "comparison.html"),
        ("report", folder / "nights"),
    ):
        done = CliRunner().invoke(cli, [*map(str, words)])
        assert done.exit_code == 0, done.output or done.exception
    (folder / "nights" / "index.html").rename(folder / "index.html")
    return folder


@pytest.mark.parametrize(
    ("browser", "name"), in_turns("comparison", "history", "index"), indirect=["browser"]
)
def test_each_can_be_read_and_used_in_both_themes(
    browser: Chrome, pages: Path, name: str, violations: Callable[[Chrome], list[str]]
) -> None:
    browser.get((pages / f"{name}.html").as_uri())
    wait_drawn(browser)
    for theme in ("light", "dark"):
        show(browser, theme)
        assert [one for check in CHECKS for one in complaints(browser, check)] == []
        if theme == "light":
            assert violations(browser) == []  # which takes seconds; what the themes change is their colours
    assert len(browser.find_elements(By.CSS_SELECTOR, "figure svg .role-mark path")) > 1
    wide, there = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide <= there
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []


@pytest.mark.parametrize(("name", "wanted"), HEADLINES.items())
def test_the_first_screen_says_what_became_of_the_numbers(
    browser: webdriver.Chrome, pages: Path, name: str, wanted: str
) -> None:
    browser.get((pages / f"{name}.html").as_uri())
    wait_drawn(browser)
    said = browser.find_element(By.CSS_SELECTOR, ".headline")
    assert wanted in said.text
    assert browser.execute_script("return arguments[0].getBoundingClientRect().bottom", said) < 300


def test_a_history_draws_each_campaign_and_each_level(browser: webdriver.Chrome, pages: Path) -> None:
    browser.get((pages / "history.html").as_uri())
    wait_drawn(browser)
    assert len(browser.find_elements(By.CSS_SELECTOR, "#history-1 svg .mark-symbol path")) == NIGHTS_COUNT
    titles = [one.text for one in browser.find_elements(By.CSS_SELECTOR, "figure svg .role-axis-title text")]
    assert {"MiB/s", "MiB/J"} <= set(titles)


def test_a_verdict_wraps_before_it_is_out_of_sight(browser: webdriver.Chrome, pages: Path) -> None:
    browser.get((pages / "comparison.html").as_uri())
    heads, wraps = browser.execute_script("""
        return [[...document.querySelectorAll("th")].map((head) => head.textContent.trim()),
            [...document.querySelector("tbody tr").cells].map((cell) => getComputedStyle(cell).whiteSpace)]""")
    assert [head for head, wrap in zip(heads, wraps, strict=True) if wrap == "normal"] == ["verdict"]


def test_tables_keep_their_heads_on_paper_and_nothing_that_is_clicked(browser: Chrome, pages: Path) -> None:
    browser.get((pages / "comparison.html").as_uri())
    wait_drawn(browser)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        heads, notes, clicked = browser.execute_script("""
            return [[...document.querySelectorAll("th")].map((head) => head.innerText.trim()),
                [...document.querySelectorAll(".wide")].map((box) => getComputedStyle(box, "::before").display),
                [...document.querySelectorAll(":not(th) > button")].map((button) => button.offsetWidth)]""")
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert heads and all(heads)
    assert set(notes) == {"none"}
    assert set(clicked) == {0}
