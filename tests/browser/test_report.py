"""The report as a reader sees it: Debian's chromium opens the file from disk."""

import csv
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from chromium import WITH_A_PHONE_BY_NIGHT, Chrome, complaints, in_turns, show, wait_drawn
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
CHECKS = ("clipped", "overlaps", "pale", "inaccessible")
FIGURES = ("throughput", "efficiency", "edp", "power", "cost", "overhead", "timeline", "capacity")
SPECIAL = {  # example -> figures that it has
    "events": ("power", "cost", "joules"),
    "idle": ("power", "idle"),
    "duty": ("power", "cost", "joules", "idle", "proportionality"),
    "aged": ("power", "joules", "ageing"),
    "failed": ("power", "events", "rebuild", "parts"),
}
TWICE = ("repetitions=2",)
SHORTER = {
    "idle": (*TWICE, "workload.duration=1 s", "workload.rest=0 s"),
    "duty": ("repetitions=1", "workload.duration=5 s"),
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


def opened(browser: Chrome, file: Path) -> Chrome:
    """The browser with a page open and drawn, which takes it seconds: it is left as it is where it is open."""
    if browser.current_url != file.as_uri():
        browser.get(file.as_uri())
        wait_drawn(browser)
    return browser


@pytest.fixture
def shown(browser: Chrome, report: Path) -> Chrome:
    """The report."""
    return opened(browser, report)


@pytest.fixture(params=["light", "dark"])
def seen(request: pytest.FixtureRequest, shown: Chrome) -> Chrome:
    """The report in a theme: all figures are drawn again where it changes."""
    show(shown, request.param)
    return shown


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


def test_all_can_be_read_by_eyes_and_ears_and_used_without_a_mouse(seen: Chrome) -> None:
    """Nothing is cut without a hint, no label of a figure lies over another, every word stands out from its
    background, every mark lies inside of its axes.
    """
    complained = {check: complaints(seen, check) for check in CHECKS}
    complained["outside"] = complaints(seen, "outside", ["throughput", "efficiency", "edp", "power"])
    assert not any(complained.values()), complained


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_axe_has_nothing_against_it(shown: Chrome, violations: Callable[[Chrome], list[str]]) -> None:
    """It takes seconds; what the themes change is their colours, which the checks above look at."""
    show(shown, "light")
    assert violations(shown) == []


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_the_checks_complain_of_what_they_are_for(shown: Chrome) -> None:
    """Each by a page that was broken for it."""
    shown.execute_script("""const asked = document.querySelector(".question");
        asked.style.cssText = "color: #777; background: #777; width: 3000px; max-width: none";
        asked.id = "theme";
        document.querySelectorAll("#throughput svg .role-axis-label text")[1].textContent = "long ".repeat(40);
        const wide = document.querySelector(".wide[data-more]"); if (wide) delete wide.dataset.more;""")
    try:
        assert any("beside the page" in one for one in complaints(shown, "clipped"))
        assert any("throughput" in one for one in complaints(shown, "overlaps"))
        assert complaints(shown, "pale")
        assert any("duplicate-id" in one for one in complaints(shown, "inaccessible"))
    finally:
        shown.refresh()
        wait_drawn(shown)


def test_the_answer_is_on_the_first_screen(shown: Chrome) -> None:
    shown.execute_script("scrollTo(0, 0)")
    bottom = "return document.querySelector(arguments[0]).getBoundingClientRect().bottom"
    assert shown.execute_script(bottom, ".answers li:first-child") < 900
    assert shown.execute_script(bottom, ".facts") < 900
    if shown.execute_script("return innerWidth") > 1000:
        assert shown.execute_script(bottom, "#answer figure svg") < 900
    headline, sentence = (
        shown.execute_script(f"return document.querySelector('.answers b').{what}")
        for what in ("textContent", "nextSibling.textContent")
    )
    assert re.fullmatch("No clear winner|.+ wins", headline)
    assert "MiB/s" in sentence and sentence.endswith(".")


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_keys_alone_sort_a_table_and_show_where_they_are(shown: Chrome) -> None:
    shown.execute_script("const top = document.querySelector('h1'); top.tabIndex = -1; top.focus()")
    ActionChains(shown).send_keys(Keys.TAB).perform()
    assert shown.switch_to.active_element.get_attribute("id") == "theme"
    for _ in range(30):
        if shown.execute_script("return document.activeElement.matches('th button')"):
            break
        ActionChains(shown).send_keys(Keys.TAB).perform()
    head = shown.execute_script("return document.activeElement.closest('th')")
    assert shown.execute_script("return getComputedStyle(document.activeElement).outlineStyle") != "none"
    before = head.get_attribute("aria-sort")
    ActionChains(shown).send_keys(Keys.ENTER).perform()
    assert head.get_attribute("aria-sort") in {"ascending", "descending"} - {before}


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_every_figure_is_drawn(shown: Chrome) -> None:
    for name in FIGURES:
        assert len(shown.find_elements(By.CSS_SELECTOR, f"#{name} svg .role-mark path")) > 3, name


def test_the_page_does_not_scroll_sideways(shown: Chrome) -> None:
    wide, there = shown.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide <= there


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_a_point_shows_its_value_and_interval(shown: Chrome) -> None:
    points = shown.find_elements(By.CSS_SELECTOR, "#throughput svg .role-mark.mark-symbol path")
    large = max(points, key=lambda p: p.rect["width"])
    shown.execute_script("arguments[0].scrollIntoView({block: 'center'})", large)
    ActionChains(shown).move_to_element(large).perform()
    tooltip = WebDriverWait(shown, 10).until(
        lambda c: c.find_element(By.CSS_SELECTOR, "#vg-tooltip-element.visible")
    )
    assert "MiB/s" in tooltip.text
    assert re.search("95 % interval|this repetition", tooltip.text)


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_the_theme_changes_the_figures_too(shown: Chrome) -> None:
    ink = "return document.querySelector('#throughput svg .role-axis-label text').getAttribute('fill')"
    before = shown.execute_script(ink)
    shown.find_element(By.ID, "theme").click()
    wait_drawn(shown)
    assert shown.execute_script(ink) != before


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_a_column_sorts_the_table(shown: Chrome) -> None:
    head = next(
        h for h in shown.find_elements(By.CSS_SELECTOR, "table.sortable th") if h.text.startswith("MiB/s")
    )
    rows = """return [...document.querySelector("table.sortable").tBodies[0].rows]
        .map(row => parseFloat(row.cells[arguments[0]].textContent))"""
    column = shown.execute_script("return arguments[0].cellIndex", head)
    shown.execute_script("arguments[0].click()", head)
    values = shown.execute_script(rows, column)
    assert values == sorted(values)
    assert len(set(values)) > 1


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_another_trial_can_be_chosen(shown: Chrome) -> None:
    def drawing(page: Chrome) -> str | None:
        return page.find_element(By.CSS_SELECTOR, "#timeline .drawing").get_attribute("innerHTML")

    before = drawing(shown)
    shown.execute_script(
        "const s = document.getElementById('trial'); s.selectedIndex = 5; s.dispatchEvent(new "
        "Event('change'))"
    )
    WebDriverWait(shown, 30).until(lambda page: drawing(page) != before)
    assert "attempt-1" in (shown.find_element(By.ID, "files").get_attribute("href") or "")


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_a_figure_is_saved_as_svg(shown: Chrome) -> None:
    shown.execute_script("document.querySelector('button[data-save=efficiency]').click()")
    saved = shown.downloads / "demo-efficiency.svg"
    WebDriverWait(shown, 30).until(lambda _: saved.exists() and saved.stat().st_size > 1000)
    assert saved.read_text().startswith("<svg")
    assert "#ffffff" in saved.read_text()  # the light theme, whatever the page shows


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_the_data_of_each_figure_are_a_click_away(shown: Chrome) -> None:
    names = shown.execute_script("return [...document.querySelectorAll('figure')].map(({id}) => id)")
    buttons = "return [...document.querySelectorAll('button[data-table]')].map(({dataset}) => dataset.table)"
    assert shown.execute_script(buttons) == names and names
    shown.find_element(By.CSS_SELECTOR, "button[data-table=efficiency]").click()
    saved = shown.downloads / "demo-efficiency.csv"
    WebDriverWait(shown, 30).until(lambda _: saved.exists() and saved.stat().st_size > 100)
    rows = list(csv.DictReader(saved.read_text().splitlines()))
    data = json.loads(shown.execute_script("return document.getElementById('data').textContent"))
    panels = data["figures"]["efficiency"]["concat"]
    drawn = [point["centre"] for panel in panels for point in panel["data"]["values"]]
    assert sorted(float(row["centre"]) for row in rows if row["centre"]) == sorted(drawn)


def test_a_phone_shows_a_number_of_the_results_before_anything_is_scrolled(shown: Chrome) -> None:
    heads, right, edge = shown.execute_script("""
        const box = document.getElementById("results").nextElementSibling.querySelector(".scroll");
        return [[...box.querySelectorAll("th")].map((head) => head.textContent.trim()),
            [...box.querySelector("tbody tr").cells].map((cell) => cell.getBoundingClientRect().right),
            box.getBoundingClientRect().right]""")
    assert right[heads.index("MiB/s")] <= edge + 1


def test_nothing_is_requested_from_the_network_and_nothing_goes_wrong(shown: Chrome) -> None:
    requests = [
        entry["message"] for entry in shown.get_log("performance") if "requestWillBeSent" in entry["message"]
    ]
    assert not [r for r in requests if '"url":"http' in r]
    assert not [entry for entry in shown.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_an_index_over_campaigns_is_readable_sorts_and_changes_its_theme(
    browser: Chrome, report: Path, tmp_path: Path
) -> None:
    campaigns = tmp_path / "campaigns"
    shutil.copytree(report.parent, campaigns / "demo")
    subprocess.run([PERJOULE, "report", campaigns], check=True, capture_output=True, timeout=300)
    opened(browser, campaigns / "index.html")
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


@pytest.mark.slow  # by day: tests/unit/papers and tests/command/test_reproduce.py
def test_a_papers_figures_and_tables_with_ours_are_one_click_away(
    browser: Chrome, reproduction: Path
) -> None:
    opened(browser, reproduction)
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
    for check in CHECKS:
        assert complaints(browser, check) == []
    assert (
        complaints(
            browser, "outside", ["paper-figure-2", "paper-figure-3", "paper-figure-4", "paper-figure-5"]
        )
        == []
    )


@pytest.fixture
def special(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a campaign with sections that no other has, run once for all processes."""
    if name == "failed":
        return once(tmp_path_factory, name, failed) / name / "report.html"

    def measure(folder: Path) -> None:
        few = ("settle=20 ms", "quiet=0", *SHORTER.get(name, TWICE))
        options = [word for option in few for word in ("--set", option)]
        command = [
            PERJOULE,
            "run",
            EXAMPLES / f"{name}.toml",
            "--simulate",
            "--into",
            folder / name,
            *options,
        ]
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


# The failed has most figures of the others; what they show is held in tests/pipeline.
@pytest.mark.parametrize(
    ("browser", "name"), in_turns(*SPECIAL, night=("idle", "duty", "aged", "events")), indirect=["browser"]
)
def test_sections_that_only_some_campaigns_have_are_as_readable(
    browser: Chrome, special: Path, name: str
) -> None:
    opened(browser, special)
    show(browser, "light")
    for check in CHECKS:
        assert complaints(browser, check) == [], check
    assert complaints(browser, "outside", list(SPECIAL[name])) == []
    show(browser, "dark")  # what the themes change is their colours
    assert complaints(browser, "pale") == []
    for figure in SPECIAL[name]:
        least_count = 1 if figure == "parts" else 4  # one drive is metered
        assert len(browser.find_elements(By.CSS_SELECTOR, f"#{figure} svg .role-mark path")) >= least_count, (
            figure
        )


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_a_timeline_shows_the_rows_that_have_data(browser: Chrome, tmp_path: Path) -> None:
    results = measured(tmp_path / "results", 'repetitions = 1\nsettle = "30 ms"', size="4 MiB", meter=STEADY)
    opened(browser, write(results, tmp_path / "report.html"))
    titles = [
        title.text for title in browser.find_elements(By.CSS_SELECTOR, "#timeline svg .role-axis-title text")
    ]
    assert sorted(titles) == ["MiB/s by client", "W by component", "seconds since the first client's start"]
