"""The page of a plan as a reader sees it: Debian's chromium opens the file from disk."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from perjoule import planning
from perjoule.planning.exploring import page
from places import EXAMPLES

pytestmark = pytest.mark.live
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync")
CHECKS = Path(__file__).with_name("page_checks.js").read_text(encoding="utf-8")
DRAWN = "return document.documentElement.dataset.drawn === document.documentElement.dataset.theme"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("plan") / "plan.html"
    target.write_text(page(planning.answer(planning.read(EXAMPLES / "needs" / "archive.toml"), draws_count=50)), encoding="utf-8")
    return target


@pytest.fixture(scope="module", params=[1400, 390], ids=["desktop", "phone"])
def browser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, file: Path) -> Iterator[webdriver.Chrome]:
    os.environ["SE_OFFLINE"] = "true"  # selenium is to look nothing up
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    chrome = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    try:
        metrics = {"width": request.param, "height": 900, "deviceScaleFactor": 1, "mobile": request.param < 500}
        chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        chrome.get(file.as_uri())
        WebDriverWait(chrome, 60).until(lambda c: c.execute_script(DRAWN))
        yield chrome
    finally:
        chrome.quit()


@pytest.fixture(params=["light", "dark"])
def seen(request: pytest.FixtureRequest, browser: webdriver.Chrome) -> webdriver.Chrome:
    """The page in a theme."""
    if browser.execute_script("return document.documentElement.dataset.theme") != request.param:
        browser.execute_script("document.getElementById('theme').click()")
        WebDriverWait(browser, 60).until(lambda c: c.execute_script(DRAWN))
    return browser


@pytest.mark.parametrize("check", ["clipped", "overlaps", "pale", "inaccessible"])
def test_the_checks_of_the_report_find_nothing_here(seen: webdriver.Chrome, check: str) -> None:
    assert seen.execute_script(f"const checks = {CHECKS.strip()}; return checks.{check}()") == []


def test_the_page_does_not_scroll_sideways_and_says_nothing_to_the_console(browser: webdriver.Chrome) -> None:
    wide, there = browser.execute_script("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= there
    assert browser.get_log("browser") == []


def test_a_point_shows_its_details_and_bands(browser: webdriver.Chrome) -> None:
    browser.execute_script("document.querySelector('#scatter .point').dispatchEvent(new Event('click'))")
    assert "kWh in all years" in browser.find_element(By.ID, "chosen").text
    assert len(browser.find_elements(By.CSS_SELECTOR, "#scatter .band")) == 2
    browser.execute_script("document.querySelector('#scatter .point.chosen').dispatchEvent(new Event('click'))")
    assert browser.find_element(By.ID, "chosen").text == ""


def test_the_picture_and_the_best_follow_axes_filters_and_sliders(browser: webdriver.Chrome) -> None:
    before = browser.find_element(By.ID, "best").text
    points = len(browser.find_elements(By.CSS_SELECTOR, "#scatter .point"))
    assert points == len(browser.find_elements(By.CSS_SELECTOR, "tbody")[0].find_elements(By.CSS_SELECTOR, "tr"))
    place = "return [...document.querySelectorAll('#scatter .point')].map((one) => one.getAttribute('cx'))"
    was = browser.execute_script(place)
    Select(browser.find_element(By.ID, "x")).select_by_value("carbon")
    assert browser.execute_script(place) != was
    browser.execute_script("const one = document.getElementById('grid'); one.value = 0; one.dispatchEvent(new Event('input'))")
    assert browser.find_element(By.ID, "grid-now").text == "0 g/kWh"
    assert browser.find_element(By.ID, "best").text != before
    Select(browser.find_element(By.ID, "filesystem")).select_by_index(1)
    assert 0 < len(browser.find_elements(By.CSS_SELECTOR, "#scatter .point")) <= points
    browser.refresh()
    WebDriverWait(browser, 60).until(lambda c: c.execute_script(DRAWN))
