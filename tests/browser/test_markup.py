"""Words of strangers on pages that we write: they are text, no script of theirs runs, and ours do under
each page's policy.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from attacks.pages import MARKUP, RAN, hostile_results
from chromium import Chrome, chromium, wait_drawn
from command.test_publishing import bundle_of
from perjoule import exporting, publishing, store
from perjoule.monitoring import server
from perjoule.monitoring.watching import ResultsWatch

INJECTED = f"""const script = document.createElement("script");
script.textContent = "{RAN}";
document.body.append(script);
document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='{RAN}'><a id=lure href='javascript:{RAN}'>x</a>");
document.getElementById("lure").click();
return new Promise((done) => setTimeout(() => done(window.ran), 300));"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with chromium(tmp_path_factory.mktemp("browser")) as chrome:
        yield chrome


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> store.Results:
    return hostile_results(tmp_path_factory.mktemp("hostile") / "results")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    room, words = tmp_path_factory.mktemp("site"), " ".join(MARKUP)
    said = exporting.Description(words, words, f"javascript:{RAN}//://x", tuple(MARKUP))
    publishing.add(bundle_of(room, "bundle", said=said, filesystem=words), room / "list")
    built = publishing.build(room / "list", room / "site")
    assert built.refused == ()
    return built.page


def check(browser: Chrome) -> None:
    """No word was a script, the page's own scripts met no obstacle, and nothing that is put into it runs."""
    assert browser.execute_script("return window.ran") is None
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []
    assert not browser.find_elements(By.CSS_SELECTOR, "a[href^='javascript:'], img, iframe, object, embed")
    assert browser.execute_script(INJECTED) is None
    assert browser.get_log("browser")  # the browser names what it refused


def test_words_of_a_campaign_are_text_in_its_report(browser: Chrome, results: store.Results) -> None:
    browser.get((results.folder / "report.html").as_uri())
    wait_drawn(browser)
    assert len(browser.find_elements(By.CSS_SELECTOR, "#efficiency svg .role-mark path")) > 0
    assert MARKUP[0] in browser.find_element(By.TAG_NAME, "main").text
    check(browser)


def test_words_of_a_bundle_are_text_on_the_site_of_a_list(browser: Chrome, site: Path) -> None:
    for page in (site, *site.parent.glob("entries/*/index.html")):
        browser.get(page.as_uri())
        assert MARKUP[0] in browser.find_element(By.TAG_NAME, "main").text
        browser.find_element(By.ID, "theme").click()  # the page's own script
        check(browser)


def test_words_of_a_run_are_text_on_its_live_page(browser: Chrome, results: store.Results) -> None:
    with server.serving(server.Page(ResultsWatch(results.folder).snapshot, "t" * 32), "127.0.0.1", 0) as url:
        browser.get(url)
        WebDriverWait(browser, 30).until(
            lambda _: "hostile" in browser.find_element(By.TAG_NAME, "body").text
        )
        check(browser)
