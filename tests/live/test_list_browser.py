"""The site of a public list as a reader sees it: Debian's chromium opens our own list from disk."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from chromium import WIDTHS, Chrome, chromium, complaints, themed, violations, widths
from perjoule import publishing
from places import ROOT

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return publishing.build(ROOT / "docs" / "list", tmp_path_factory.mktemp("list") / "site").page


@pytest.fixture(scope="module", params=WIDTHS.values(), ids=WIDTHS)
def browser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, site: Path) -> Iterator[Chrome]:
    with chromium(tmp_path_factory.mktemp("browser"), request.param) as chrome:
        yield chrome


@pytest.mark.parametrize("page", ["list", "entry"])
def test_everybody_can_read_and_use_each_page(browser: Chrome, site: Path, page: str) -> None:
    browser.get(site.as_uri())
    if page == "entry":
        browser.find_element(By.CSS_SELECTOR, "td a").click()
    for theme in ("light", "dark"):
        themed(browser, theme)
        for check in ("clipped", "pale", "inaccessible"):
            assert complaints(browser, check) == [], check
        assert violations(browser) == []
    wide, there = widths(browser)
    assert wide <= there
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []


def test_filters_leave_what_fits(browser: Chrome, site: Path) -> None:
    browser.get(site.as_uri())
    groups = "return [...document.querySelectorAll('.group')].filter((one) => !one.hidden).map((one) => one.dataset.direction)"
    assert set(browser.execute_script(groups)) == {"read", "write"}
    Select(browser.find_element(By.CSS_SELECTOR, "[data-filter=direction]")).select_by_value("read")
    assert set(browser.execute_script(groups)) == {"read"}
    browser.find_element(By.CSS_SELECTOR, "[data-filter=text]").send_keys("nobody's file system")
    assert browser.execute_script(groups) == []
    assert browser.find_element(By.ID, "none").is_displayed()
