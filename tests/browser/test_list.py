"""Our own public list: what its bundles say, and its site as a reader sees it, which Debian's chromium opens
from disk.
"""

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from chromium import WITH_A_PHONE_BY_NIGHT, Chrome, complaints
from command.test_publishing import shared_key, total
from day import by_day
from perjoule import publishing
from perjoule.model import Cell
from perjoule.publishing import entry as entries
from perjoule.publishing.ranking import groups
from perjoule.publishing.site import Built
from perjoule.results import table
from places import ROOT

LIST = ROOT / "docs" / "list"
# To check those that are not looked at by day takes three quarters of the time.
PUBLICATIONS_BY_DAY = ("green-storage", "hep", "hep-pc", "stores")
PUBLICATIONS = (*PUBLICATIONS_BY_DAY, "access-patterns", "cubieboard", "ssd-vs-hdd")
CHECKS = ("clipped", "pale", "inaccessible")
ROWS = """return [...document.querySelectorAll("tbody tr")].map((row) => arguments[0].map(
    (name) => row.querySelector(`[data-label="${name}"]`).firstChild.textContent.trim()))"""
DIRECTIONS = (
    "return [...document.querySelectorAll('tbody tr')].filter((one) => !one.hidden).map((one) => "
    "one.dataset.direction)"
)
BOUNDARIES = DIRECTIONS.replace("direction", "boundary")
COLUMN = (
    "return [...document.querySelectorAll('tbody tr:not([hidden])')].map((one) => "
    'one.querySelector(`[data-label="${arguments[0]}"]`).textContent)'
)


class OurList(NamedTuple):
    built: Built
    publications: Sequence[str]
    cells: list[Cell]


@pytest.fixture(scope="module", params=by_day(["some", "all"], "some"))
def ours(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> OurList:
    """Our list with the cells of its numbers: to check the bundles takes longer than all of these tests."""
    publications = PUBLICATIONS_BY_DAY if request.param == "some" else PUBLICATIONS
    folder = tmp_path_factory.mktemp("list")
    (folder / "bundles").mkdir()
    for bundle in publishing.bundles(LIST):
        if bundle.stem.rpartition("-")[0] in publications:
            shutil.copy(bundle, folder / "bundles")
    with mock.patch.object(entries, "_rows", wraps=entries._rows) as rows:
        built = publishing.build(folder, folder / "site")
    cells = [cell for call in rows.call_args_list for cell in call.args[0]]
    return OurList(built, publications, cells)


@pytest.fixture(scope="module")
def site(ours: OurList) -> Path:
    return ours.built.page


def test_our_own_list_verifies_and_says_what_each_load_is(ours: OurList) -> None:
    assert ours.built.refused == ()
    by_title = {entry.title: entry for entry in ours.built.entries}
    assert by_title.keys() == {*ours.publications}
    assert {bundle.stem.rpartition("-")[0] for bundle in publishing.bundles(LIST)} == {*PUBLICATIONS}
    assert {row.pattern for row in by_title["green-storage"].rows} == {"sequential, 4 MiB"}
    assert {row.pattern for row in by_title["hep"].rows} == {"hep"}
    ranked = groups([by_title["green-storage"]])
    assert list(dict.fromkeys(group.boundary for group in ranked)) == ["net", "gross", "clients", "all"]
    places = {
        title: [place for group in groups([by_title[title]]) for place in group.places]
        for title in ("green-storage", "hep")
    }
    assert all((place.rank is None) == bool(place.row.objections) for of in places.values() for place in of)
    assert {place.row.workload for place in places["hep"] if place.rank is None} == {"where the data lie"}


def test_its_efficiencies_have_the_total_interval_of_a_second_calculation(ours: OurList) -> None:
    larger_count = 0
    for cell in ours.cells:
        for metric in (
            key for key in cell.metrics if key.endswith("efficiency_bytes_per_j") and "burst" not in key
        ):
            shared = cell.metrics[shared_key(metric)].values if shared_key(metric) in cell.metrics else (0.0,)
            mean, scatter, meter, whole = total(cell.metrics[metric].values, shared)
            assert table.total_ends(cell, metric) == pytest.approx((mean - whole, mean + whole), rel=1e-9)
            larger_count += meter > scatter
    assert larger_count > 5, "where the meter's uncertainty is what decides"


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_every_page_can_be_read_and_used_in_both_themes(browser: webdriver.Chrome, site: Path) -> None:
    browser.get(site.as_uri())
    browser.find_element(By.CSS_SELECTOR, "td a").click()
    number = browser.find_element(By.CSS_SELECTOR, "section:target b").text
    assert "±" in number and "MiB/J" in number
    for address in (browser.current_url, site.as_uri()):
        browser.get(address)
        browser.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
        assert [one for check in CHECKS for one in complaints(browser, check)] == []
        browser.find_element(By.ID, "theme").click()
        assert complaints(browser, "pale") == []
        wide, there = browser.execute_script(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert wide <= there
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []


# Of the pages of publications, which have one template, the shortest by day: it takes seconds, the longest minutes.
@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
@pytest.mark.parametrize("name", by_day(["list", "hep", "all others"], "list", "hep"))
def test_axe_has_nothing_against_it(
    browser: Chrome, ours: OurList, name: str, violations: Callable[[Chrome], list[str]]
) -> None:
    pages = {
        entry.title: ours.built.page.parent / "entries" / entry.id / "index.html"
        for entry in ours.built.entries
    }
    looked_at = {"list": [ours.built.page], "hep": [pages.pop("hep")]}
    for page in looked_at.get(name, pages.values()):
        browser.get(page.as_uri())
        browser.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
        assert violations(browser) == []  # what the themes change is their colours


def test_each_number_of_a_publication_has_a_heading_of_its_own(ours: OurList) -> None:
    for entry in ours.built.entries:
        page = (ours.built.page.parent / "entries" / entry.id / "index.html").read_text(encoding="utf-8")
        headings = re.findall(r'class="number">\n<h3>(.+)</h3>', page)
        assert len(headings) == len(entry.rows)
        assert len({*headings}) == len(headings), entry.title


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_data_hosts_are_those_with_bricks_or_chunkservers_whatever_their_role(
    browser: webdriver.Chrome, site: Path
) -> None:
    browser.get(site.as_uri())
    rows = browser.execute_script(ROWS, ["publication", "file system", "data hosts"])
    assert {tuple(row) for row in rows if row[0] in ("green-storage", "hep")} >= {
        ("green-storage", "MooseFS", "4"),
        ("green-storage", "GlusterFS", "5"),
        ("hep", "MooseFS", "4"),
        ("hep", "GlusterFS", "4"),
    }


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_a_number_leads_to_a_trial_and_that_to_its_raw_files(browser: webdriver.Chrome, site: Path) -> None:
    browser.get(site.as_uri())
    browser.find_element(By.CSS_SELECTOR, "td a").click()
    browser.find_element(By.CSS_SELECTOR, "section:target a[href^='#trial-']").click()
    trial = browser.find_element(By.CSS_SELECTOR, "section.trial:target")
    files = trial.find_elements(By.TAG_NAME, "details")[1]
    files.find_element(By.TAG_NAME, "summary").click()
    files.find_element(By.LINK_TEXT, "record.json").click()
    assert '"status": "valid"' in browser.find_element(By.TAG_NAME, "body").text


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_filters_leave_what_fits(browser: webdriver.Chrome, site: Path) -> None:
    browser.get(site.as_uri())
    assert set(browser.execute_script(DIRECTIONS)) == {"read", "write"}
    assert set(browser.execute_script(BOUNDARIES)) == {"net"}, "the headline's, until one asks for others"
    Select(browser.find_element(By.CSS_SELECTOR, "[data-filter=boundary]")).select_by_visible_text("all")
    assert {"net", "gross"} < set(browser.execute_script(BOUNDARIES))
    Select(browser.find_element(By.CSS_SELECTOR, "[data-filter=direction]")).select_by_visible_text("read")
    assert set(browser.execute_script(DIRECTIONS)) == {"read"}
    browser.find_element(By.CSS_SELECTOR, "[data-filter=text]").send_keys("nobody's file system")
    assert browser.execute_script(DIRECTIONS) == []
    assert browser.find_element(By.ID, "none").is_displayed()


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_a_column_sorts_and_a_rank_is_shown_among_several(browser: webdriver.Chrome, site: Path) -> None:
    browser.get(site.as_uri())
    ranks = browser.execute_script(COLUMN, "rank")
    assert {"1 of 2", "2 of 2"} <= set(ranks) and "1 of 1" not in ranks
    sort = "document.querySelectorAll('#results th button')[3].click()"  # a phone shows no headers
    for descending in (False, True):
        browser.execute_script(sort)
        numbers = [float(text.split()[0]) for text in browser.execute_script(COLUMN, "work per joule")]
        assert len(numbers) > 4
        assert numbers == sorted(numbers, reverse=descending)
