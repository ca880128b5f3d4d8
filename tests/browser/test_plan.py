"""The page of a plan as a reader sees it: Debian's chromium opens the file from disk."""

from collections.abc import Callable
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from chromium import WITH_A_PHONE_BY_NIGHT, Chrome, complaints, show, wait_drawn
from perjoule import planning
from perjoule.planning.exploring import page
from places import EXAMPLES


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("plan") / "plan.html"
    target.write_text(
        page(planning.answer(planning.read(EXAMPLES / "needs" / "archive.toml"), draws_count=50)),
        encoding="utf-8",
    )
    return target


@pytest.fixture(scope="module")
def browser(browser: Chrome, file: Path) -> Chrome:
    """With the page open."""
    browser.get(file.as_uri())
    wait_drawn(browser)
    return browser


@pytest.fixture(params=["light", "dark"])
def seen(request: pytest.FixtureRequest, browser: Chrome) -> Chrome:
    """The page in a theme."""
    show(browser, request.param)
    return browser


@pytest.mark.parametrize("check", ["clipped", "overlaps", "pale", "inaccessible"])
def test_the_checks_of_the_report_find_nothing_here(seen: webdriver.Chrome, check: str) -> None:
    assert complaints(seen, check) == []


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_axe_finds_nothing(browser: Chrome, violations: Callable[[Chrome], list[str]]) -> None:
    assert violations(browser) == []


def test_the_page_does_not_scroll_sideways_and_says_nothing_to_the_console(browser: webdriver.Chrome) -> None:
    wide, there = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide <= there
    assert browser.get_log("browser") == []


def test_a_point_shows_its_details_and_bands(browser: webdriver.Chrome) -> None:
    browser.execute_script("document.querySelector('#scatter .point').dispatchEvent(new Event('click'))")
    assert "kWh in all years" in browser.find_element(By.ID, "chosen").text
    assert len(browser.find_elements(By.CSS_SELECTOR, "#scatter .band")) == 2
    browser.execute_script(
        "document.querySelector('#scatter .point.chosen').dispatchEvent(new Event('click'))"
    )
    assert browser.find_element(By.ID, "chosen").text == ""


def test_the_picture_and_the_best_follow_axes_filters_and_sliders(browser: webdriver.Chrome) -> None:
    before = browser.find_element(By.ID, "best").text
    points = len(browser.find_elements(By.CSS_SELECTOR, "#scatter .point"))
    assert points == len(
        browser.find_elements(By.CSS_SELECTOR, "tbody")[0].find_elements(By.CSS_SELECTOR, "tr")
    )
    place = "return [...document.querySelectorAll('#scatter .point')].map((one) => one.getAttribute('cx'))"
    was = browser.execute_script(place)
    Select(browser.find_element(By.ID, "x")).select_by_value("carbon")
    assert browser.execute_script(place) != was
    browser.execute_script(
        "const one = document.getElementById('grid'); one.value = 0; one.dispatchEvent(new Event('input'))"
    )
    assert browser.find_element(By.ID, "grid-now").text == "0 g/kWh"
    assert browser.find_element(By.ID, "best").text != before
    browser.execute_script("document.querySelector('#scatter .point').dispatchEvent(new Event('click'))")
    assert "at 0.30 USD/kWh and 0 g/kWh, as the sliders are: " in browser.find_element(By.ID, "chosen").text
    assert len(browser.find_elements(By.CSS_SELECTOR, "#scatter .band")) == 1, (
        "of throughput: that of carbon is for another grid"
    )
    Select(browser.find_element(By.ID, "filesystem")).select_by_index(1)
    assert 0 < len(browser.find_elements(By.CSS_SELECTOR, "#scatter .point")) <= points
    browser.refresh()
    wait_drawn(browser)
