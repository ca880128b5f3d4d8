"""The report as a reader sees it: Debian's chromium opens the file from disk."""

import csv
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from chromium import WIDTHS, Chrome, complaints, show, violations, wait_drawn
from measured import STEADY, changed, measured
from once import once
from perjoule.model.waveform import Waveform
from perjoule.papers import facts as paper_facts
from perjoule.papers import published
from perjoule.papers.claims import judged
from perjoule.papers.comparison import held
from perjoule.report import write
from perjoule.report.page import page
from perjoule.simulators import quarch
from perjoule.simulators._behaviour import Behaviour
from perjoule.store import open_results
from perjoule.views.content import Content
from places import EXAMPLES

PERJOULE = Path(sys.executable).with_name("perjoule")
FIGURES = ("throughput", "efficiency", "edp", "power", "cost", "overhead", "timeline", "capacity")
SPECIAL = {  # example -> figures that it has
    "events": ("power", "cost", "joules"),
    "idle": ("power", "idle"),
    "duty": ("power", "cost", "joules", "idle", "proportionality"),
    "aged": ("power", "joules", "ageing"),
    "failed": ("power", "events", "rebuild", "parts"),
}
FAILED = """
name = "failed"
clients = [1]
repetitions = 2
settle = "20 ms"
quiet = "10 s"
[testbed]
kind = "simulated"
cluster = "odroid-hc4"
[[filesystem]]
kind = "simulated"
copies = 2
rebuild = "1200 ms"
[[workload]]
kind = "idle"
data = "16 MiB"
rest = "0 s"
duration = "6 s"
[[event]]
at = "1200 ms"
kind = "fail"
host = "storage-1"
[[event]]
at = "2500 ms"
kind = "back"
host = "storage-1"
[[meter]]
kind = "system"
rate = "50 Hz"
[[meter]]
kind = "modelled"
rate = "50 Hz"
"""


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the demo, run once for all processes."""

    def measure(folder: Path) -> None:
        few = ["--set", "settle=20 ms", "--set", "repetitions=2"]
        command = [PERJOULE, "demo", "--simulate", "--into", folder / "results" / "demo", *few]
        subprocess.run(command, check=True, capture_output=True, timeout=300)

    return once(tmp_path_factory, "report", measure) / "results" / "demo" / "report.html"


@pytest.fixture(scope="module")
def browser(browser: Chrome, report: Path) -> Chrome:
    """With the page open."""
    browser.get(report.as_uri())
    wait_drawn(browser)
    return browser


@pytest.fixture(params=["light", "dark"])
def seen(request: pytest.FixtureRequest, browser: Chrome) -> Chrome:
    """The page in a theme, from its top."""
    show(browser, request.param)
    browser.execute_script("scrollTo(0, 0); document.activeElement.blur()")
    return browser


@pytest.fixture(scope="session")
def reproduction(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a paper's study with numbers of the paper beside, made once for all processes."""
    return once(tmp_path_factory, "reproduction", reproduced) / "report.html"


def reproduced(folder: Path) -> None:
    """Reproduce it: what was simulated stands for what it is called."""
    written = folder / "green.toml"
    first = [PERJOULE, "reproduce", "green-storage", "--simulate", "--repetitions", "2", "--write", written]
    few = ["--set", "settle=20 ms", "--set", "clients=[1, 4]", "--shrink", "100000"]
    for command in (first, [PERJOULE, "run", written, "--into", folder / "results", *few]):
        subprocess.run(command, check=True, capture_output=True, timeout=300)
    found = Content(open_results(folder / "results"))
    paper = published.paper(found.reproduces)
    own = [
        replace(one, facts={**one.facts, "filesystem": one.cell.filesystem.lower()}, simulated=False)
        for one in paper_facts.measured(found.records, found.cells)
    ]
    pairs = paper_facts.beside(paper, own)
    beside = held(
        paper, [pair for pair in pairs if pair.measured.quantity != "share"], found.records, found.cells
    )
    (folder / "report.html").write_text(
        page(changed(found, pairs=pairs, held=beside, claims=judged(paper, own)), "results")
    )


def test_nothing_is_cut_without_a_hint(seen: Chrome) -> None:
    assert complaints(seen, "clipped") == []


def test_no_label_of_a_figure_lies_over_another(seen: Chrome) -> None:
    assert complaints(seen, "overlaps") == []


def test_every_word_stands_out_from_its_background(seen: Chrome) -> None:
    assert complaints(seen, "pale") == []


def test_every_mark_lies_inside_of_its_axes(seen: Chrome) -> None:
    assert complaints(seen, "outside", ["throughput", "efficiency", "edp", "power"]) == []


def test_people_who_hear_the_page_or_use_no_mouse_can_use_it(seen: Chrome) -> None:
    assert complaints(seen, "inaccessible") == []
    if seen.execute_script("return document.documentElement.dataset.theme") == "light":
        assert violations(seen) == []  # which takes seconds; what the themes change is their colours


def test_the_checks_complain_of_what_they_are_for(seen: Chrome) -> None:
    """Each by a page that was broken for it."""
    seen.execute_script("""const asked = document.querySelector(".question");
        asked.style.cssText = "color: #777; background: #777; width: 3000px; max-width: none";
        asked.id = "theme";
        document.querySelectorAll("#throughput svg .role-axis-label text")[1].textContent = "long ".repeat(40);
        const wide = document.querySelector(".wide[data-more]"); if (wide) delete wide.dataset.more;""")
    try:
        assert any("beside the page" in one for one in complaints(seen, "clipped"))
        assert any("throughput" in one for one in complaints(seen, "overlaps"))
        assert complaints(seen, "pale")
        assert any("duplicate-id" in one for one in complaints(seen, "inaccessible"))
    finally:
        seen.refresh()
        wait_drawn(seen)


def test_the_answer_is_on_the_first_screen(seen: Chrome) -> None:
    bottom = "return document.querySelector(arguments[0]).getBoundingClientRect().bottom"
    assert seen.execute_script(bottom, ".answers li:first-child") < 900
    assert seen.execute_script(bottom, ".facts") < 900
    if seen.execute_script("return innerWidth") > 1000:
        assert seen.execute_script(bottom, "#answer figure svg") < 900
    headline, sentence = (
        seen.execute_script(f"return document.querySelector('.answers b').{what}")
        for what in ("textContent", "nextSibling.textContent")
    )
    assert re.fullmatch("No clear winner|.+ wins", headline)
    assert "MiB/s" in sentence and sentence.endswith(".")


def test_keys_alone_sort_a_table_and_show_where_they_are(seen: Chrome) -> None:
    seen.execute_script("const top = document.querySelector('h1'); top.tabIndex = -1; top.focus()")
    ActionChains(seen).send_keys(Keys.TAB).perform()
    assert seen.switch_to.active_element.get_attribute("id") == "theme"
    for _ in range(30):
        if seen.execute_script("return document.activeElement.matches('th button')"):
            break
        ActionChains(seen).send_keys(Keys.TAB).perform()
    head = seen.execute_script("return document.activeElement.closest('th')")
    assert seen.execute_script("return getComputedStyle(document.activeElement).outlineStyle") != "none"
    before = head.get_attribute("aria-sort")
    ActionChains(seen).send_keys(Keys.ENTER).perform()
    assert head.get_attribute("aria-sort") in {"ascending", "descending"} - {before}


def test_every_figure_is_drawn(browser: webdriver.Chrome) -> None:
    for name in FIGURES:
        assert len(browser.find_elements(By.CSS_SELECTOR, f"#{name} svg .role-mark path")) > 3, name


def test_the_page_does_not_scroll_sideways(browser: webdriver.Chrome) -> None:
    wide, there = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide <= there


def test_a_point_shows_its_value_and_interval(browser: webdriver.Chrome) -> None:
    points = browser.find_elements(By.CSS_SELECTOR, "#throughput svg .role-mark.mark-symbol path")
    large = max(points, key=lambda p: p.rect["width"])
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", large)
    ActionChains(browser).move_to_element(large).perform()
    tooltip = WebDriverWait(browser, 10).until(
        lambda c: c.find_element(By.CSS_SELECTOR, "#vg-tooltip-element.visible")
    )
    assert "MiB/s" in tooltip.text
    assert re.search("95 % interval|this repetition", tooltip.text)


def test_the_theme_changes_the_figures_too(browser: webdriver.Chrome) -> None:
    ink = "return document.querySelector('#throughput svg .role-axis-label text').getAttribute('fill')"
    before = browser.execute_script(ink)
    browser.find_element(By.ID, "theme").click()
    wait_drawn(browser)
    assert browser.execute_script(ink) != before


def test_a_column_sorts_the_table(browser: webdriver.Chrome) -> None:
    head = next(
        h for h in browser.find_elements(By.CSS_SELECTOR, "table.sortable th") if h.text.startswith("MiB/s")
    )
    rows = """return [...document.querySelector("table.sortable").tBodies[0].rows]
        .map(row => parseFloat(row.cells[arguments[0]].textContent))"""
    column = browser.execute_script("return arguments[0].cellIndex", head)
    browser.execute_script("arguments[0].click()", head)
    values = browser.execute_script(rows, column)
    assert values == sorted(values)
    assert len(set(values)) > 1


def test_another_trial_can_be_chosen(browser: webdriver.Chrome) -> None:
    def drawing(page: webdriver.Chrome) -> str | None:
        return page.find_element(By.CSS_SELECTOR, "#timeline .drawing").get_attribute("innerHTML")

    before = drawing(browser)
    browser.execute_script(
        "const s = document.getElementById('trial'); s.selectedIndex = 5; s.dispatchEvent(new "
        "Event('change'))"
    )
    WebDriverWait(browser, 30).until(lambda page: drawing(page) != before)
    assert "attempt-1" in (browser.find_element(By.ID, "files").get_attribute("href") or "")


def test_a_figure_is_saved_as_svg(browser: Chrome) -> None:
    browser.execute_script("document.querySelector('button[data-save=efficiency]').click()")
    saved = browser.downloads / "demo-efficiency.svg"
    WebDriverWait(browser, 30).until(lambda _: saved.exists() and saved.stat().st_size > 1000)
    assert saved.read_text().startswith("<svg")
    assert "#ffffff" in saved.read_text()  # the light theme, whatever the page shows


def test_the_data_of_each_figure_are_a_click_away(browser: Chrome) -> None:
    names = browser.execute_script("return [...document.querySelectorAll('figure')].map(({id}) => id)")
    buttons = "return [...document.querySelectorAll('button[data-table]')].map(({dataset}) => dataset.table)"
    assert browser.execute_script(buttons) == names and names
    browser.find_element(By.CSS_SELECTOR, "button[data-table=efficiency]").click()
    saved = browser.downloads / "demo-efficiency.csv"
    WebDriverWait(browser, 30).until(lambda _: saved.exists() and saved.stat().st_size > 100)
    rows = list(csv.DictReader(saved.read_text().splitlines()))
    data = json.loads(browser.execute_script("return document.getElementById('data').textContent"))
    panels = data["figures"]["efficiency"]["concat"]
    drawn = [point["mean"] for panel in panels for point in panel["data"]["values"]]
    assert sorted(float(row["mean"]) for row in rows if row["mean"]) == sorted(drawn)


def test_a_phone_shows_a_number_of_the_results_before_anything_is_scrolled(browser: Chrome) -> None:
    heads, right, edge = browser.execute_script("""
        const box = document.getElementById("results").nextElementSibling.querySelector(".scroll");
        return [[...box.querySelectorAll("th")].map((head) => head.textContent.trim()),
            [...box.querySelector("tbody tr").cells].map((cell) => cell.getBoundingClientRect().right),
            box.getBoundingClientRect().right]""")
    assert right[heads.index("MiB/s")] <= edge + 1


def test_nothing_is_requested_from_the_network_and_nothing_goes_wrong(browser: webdriver.Chrome) -> None:
    requests = [
        entry["message"]
        for entry in browser.get_log("performance")
        if "requestWillBeSent" in entry["message"]
    ]
    assert not [r for r in requests if '"url":"http' in r]
    assert not [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def test_an_index_over_campaigns_is_readable_sorts_and_changes_its_theme(
    browser: webdriver.Chrome, report: Path, tmp_path: Path
) -> None:
    campaigns = tmp_path / "campaigns"
    shutil.copytree(report.parent, campaigns / "demo")
    subprocess.run([PERJOULE, "report", campaigns], check=True, capture_output=True, timeout=300)
    browser.get((campaigns / "index.html").as_uri())
    wait_drawn(browser)
    wide, there = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide <= there
    for name in ("throughput", "efficiency"):
        assert len(browser.find_elements(By.CSS_SELECTOR, f"#{name} svg .role-mark path")) > 0, name
    link = browser.find_element(By.CSS_SELECTOR, "td a")
    assert link.get_attribute("href") == (campaigns / "demo" / "report.html").as_uri()
    heading = browser.find_element(By.CSS_SELECTOR, "th")
    heading.click()
    assert heading.get_attribute("aria-sort") == "ascending"
    before = browser.execute_script("return document.documentElement.dataset.theme")
    browser.find_element(By.ID, "theme").click()
    assert browser.execute_script("return document.documentElement.dataset.theme") != before
    browser.get(report.as_uri())
    wait_drawn(browser)


def test_a_papers_figures_and_tables_with_ours_are_one_click_away(
    browser: webdriver.Chrome, reproduction: Path, report: Path
) -> None:
    browser.get(reproduction.as_uri())
    wait_drawn(browser)
    link = browser.find_element(By.CSS_SELECTOR, "#answer a[href='#paper']")
    assert link.text.startswith("Figure 2, Figure 3, Figure 4, Figure 5 and Table II")
    link.click()
    top = "return document.getElementById('paper').getBoundingClientRect().top"
    WebDriverWait(browser, 10).until(lambda page: 0 <= page.execute_script(top) < 100)
    for name in ("paper-figure-2", "paper-figure-3", "paper-figure-4", "paper-figure-5"):
        assert len(browser.find_elements(By.CSS_SELECTOR, f"#{name} svg .role-mark path")) > 3, name
    bars = "#paper-figure-2 svg .role-mark.mark-rect path"
    assert len(browser.find_elements(By.CSS_SELECTOR, bars)) == 6  # three file systems, read and written
    table = browser.find_element(By.CSS_SELECTOR, "[aria-label='Table II'] tbody")
    assert "365.57 MiB/s" in (table.get_attribute("textContent") or "")
    for check in ("clipped", "overlaps", "pale", "inaccessible"):
        assert complaints(browser, check) == []
    assert (
        complaints(
            browser, "outside", ["paper-figure-2", "paper-figure-3", "paper-figure-4", "paper-figure-5"]
        )
        == []
    )
    browser.get(report.as_uri())
    wait_drawn(browser)


@pytest.fixture
def special(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a campaign with sections that no other has, run once for all processes."""
    if name == "failed":
        return once(tmp_path_factory, name, failed) / name / "report.html"

    def measure(folder: Path) -> None:
        few = ["--simulate", "--set", "settle=20 ms", "--set", "repetitions=2"]
        command = [PERJOULE, "run", EXAMPLES / f"{name}.toml", "--into", folder / name, *few]
        subprocess.run(command, check=True, capture_output=True, timeout=300)

    return once(tmp_path_factory, f"special-{name}", measure) / name / "report.html"


def failed(folder: Path) -> None:
    """A campaign in which a disk fails, one drive of which has a meter."""
    with quarch.serve(Behaviour(Waveform("constant", high_w=6.0))) as table:
        drive = (
            f'kind = "quarch"\naddress = "{table["address"]}"\ndrives = {{"{quarch.MODULE}" = '
            f'"storage-1/nvme0"}}\n'
        )
        (folder / "failed.toml").write_text(f"{FAILED}[[meter]]\n{drive}")
        command = [PERJOULE, "run", folder / "failed.toml", "--into", folder / "failed"]
        subprocess.run(command, check=True, capture_output=True, timeout=300)


def by_width() -> Iterator[object]:
    """Each campaign by day in one of both widths, in turns."""
    for number, name in enumerate(SPECIAL):
        for place, (width, pixels) in enumerate(WIDTHS.items()):
            night = [] if (number + place) % 2 else [pytest.mark.slow]
            yield pytest.param(pixels, name, id=f"{width}-{name}", marks=night)


@pytest.mark.parametrize(("browser", "name"), [*by_width()], indirect=["browser"])
def test_sections_that_only_some_campaigns_have_are_as_readable(
    browser: webdriver.Chrome, special: Path, report: Path, name: str
) -> None:
    browser.get(special.as_uri())
    wait_drawn(browser)
    for _ in ("light", "dark"):
        for check in ("clipped", "overlaps", "pale", "inaccessible"):
            assert complaints(browser, check) == [], check
        assert complaints(browser, "outside", list(SPECIAL[name])) == []
        browser.execute_script("document.getElementById('theme').click()")
        wait_drawn(browser)
    for figure in SPECIAL[name]:
        least_count = 1 if figure == "parts" else 4  # one drive is metered
        assert len(browser.find_elements(By.CSS_SELECTOR, f"#{figure} svg .role-mark path")) >= least_count, (
            figure
        )
    browser.get(report.as_uri())
    wait_drawn(browser)


def test_a_timeline_shows_the_rows_that_have_data(
    browser: webdriver.Chrome, tmp_path: Path, report: Path
) -> None:
    results = measured(tmp_path / "results", 'repetitions = 1\nsettle = "30 ms"', size="4 MiB", meter=STEADY)
    browser.get(write(results, tmp_path / "report.html").as_uri())
    wait_drawn(browser)
    titles = [
        title.text for title in browser.find_elements(By.CSS_SELECTOR, "#timeline svg .role-axis-title text")
    ]
    assert sorted(titles) == ["MiB/s by client", "W by component", "seconds since the first client's start"]
    browser.get(report.as_uri())
    wait_drawn(browser)
