"""The documentation as a site: whole, offline, and with a search that works from disk."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from chromium import WIDTHS, Chrome, chromium, violations
from perjoule import drivers, prediction
from perjoule.cli import cli
from perjoule.cli.pages import LAID_OUT
from places import ROOT

LOADED = re.compile(
    r"<(?:script|img|iframe)[^>]* src=[\"']?(?:https?:)?//|<link[^>]*stylesheet[^>]*href=[\"']?(?:https?:)?//"
)


def called(function: str, *paths: Path) -> "subprocess.CompletedProcess[str]":
    """Call a function of setup/site_pages.py."""
    script = f"import sys, pathlib, site_pages; site_pages.{function}(*map(pathlib.Path, sys.argv[1:]))"
    argv = [sys.executable, "-c", script, *paths]
    return subprocess.run(argv, cwd=ROOT / "setup", capture_output=True, text=True, timeout=300, check=False)


# The whole site is built by night; by day tests/repository/test_docs.py follows each link.
@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    done = called("build", target)
    assert done.returncode == 0, done.stderr
    return target


@pytest.mark.slow
def test_every_page_and_every_driver_is_there(site: Path) -> None:
    pages = {page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")}
    kinds = [(part.removesuffix("s"), kind) for part in drivers.PROTOCOLS for kind in drivers.kinds(part)]
    pages |= {Path("reference", "drivers", f"{name}-{kind}.html") for name, kind in kinds}
    pages |= {Path("reference", f"{name}.html") for name in LAID_OUT}
    assert [str(page) for page in sorted(pages) if not (site / page).is_file()] == []
    assert len(kinds) > 40


@pytest.mark.slow
def test_a_page_that_names_what_the_code_lays_out_links_it(site: Path) -> None:
    text = (site / "explanations" / "threat-model.html").read_text(encoding="utf-8")
    assert re.search(r'href="\.\./reference/permitted\.html"[^>]*><span[^>]*><code[^>]*>.*?permitted', text)
    assert "mirror beneath: zfs" in (site / "reference" / "platforms.html").read_text(encoding="utf-8")
    assert 'href="reference/metrics.html"' in (site / "README.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_driver_is_shown_with_its_options_and_an_example(site: Path) -> None:
    text = (site / "reference" / "drivers" / "filesystem-cephfs.html").read_text(encoding="utf-8")
    words = re.sub(r"<[^>]+>", "", text)
    for wanted in (
        "placement_groups",
        "client_cache",
        '"32 MiB"',
        "Object cache of each ceph-fuse",
        "[[filesystem]]",
    ):
        assert wanted in words.replace("&quot;", '"'), wanted


def cells_of(text: str) -> list[str]:
    return [
        re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", text, re.DOTALL)
    ]


@pytest.mark.slow
def test_the_ledger_is_a_page_with_errors_by_level_beside_simpler_models_and_the_coverage_of_bands(
    site: Path,
) -> None:
    text, _, published = (
        (site / "reference" / "ledger.html").read_text(encoding="utf-8").partition("<h2>Published clusters")
    )
    cells = cells_of(text)
    profiles = [prediction.shipped(name) for name in prediction.names()]
    for level in ("clients", "redundancy", "hardware"):
        tested = [one for one in profiles if any(known.errors(level) for known in one.known.values())]
        assert cells.count(level) == 1 + len(tested) >= 4
    assert {"bands hold", "constant", "linear", "USL", "bound", "published", *prediction.names()} <= set(
        cells
    )
    assert {"green-storage", "cubieboard", "ceph-1tib", "reference-2"} <= set(cells_of(published))
    _, _, told = CliRunner().invoke(cli, ["ledger"]).output.partition("bound\n")
    rows, _, _ = told.partition("median and")
    shown = cells[cells.index("bound") + 1 :]
    assert [cell for cell in shown if "%" in cell] == re.findall(r"[0-9.]+ %", rows)
    assert "ledger.html" in (site / "README.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_our_own_results_verify_and_are_ranked(site: Path) -> None:
    pages = site / "list" / "ranked"
    words = (pages / "index.html").read_text(encoding="utf-8")
    assert "MooseFS" in words
    assert "GlusterFS" in words
    assert 'href="ranked/index.html"' in (site / "list" / "README.html").read_text(encoding="utf-8")
    bundles = {path.read_bytes() for path in (ROOT / "docs" / "list" / "bundles").glob("*.zip")}
    assert {path.read_bytes() for path in pages.rglob("*.zip")} == bundles != set()


def test_a_list_with_a_damaged_bundle_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "list" / "bundles").mkdir(parents=True)
    (tmp_path / "list" / "bundles" / "one.zip").write_bytes(b"no bundle")
    done = called("publish", tmp_path / "list", tmp_path / "pages")
    assert done.returncode == 1
    assert "one.zip" in done.stderr


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loading = [str(page) for page in site.rglob("*.html") if LOADED.search(page.read_text(encoding="utf-8"))]
    assert loading == []


def test_a_link_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    pages = tmp_path / "docs"
    pages.mkdir()
    shutil.copy(ROOT / "docs" / "conf.py", pages)
    (pages / "extra").mkdir()
    (pages / "README.md").write_text("# Documentation\n\n[Gone](how-to/gone.md)\n")
    done = called("lay_out", pages, tmp_path / "site")
    assert done.returncode != 0
    assert "gone" in done.stderr
    (pages / "README.md").write_text("# Documentation\n")
    assert called("lay_out", pages, tmp_path / "site").returncode == 0


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chrome]:
    with chromium(tmp_path) as chrome:
        yield chrome


@pytest.mark.slow
def test_the_search_finds_an_option_from_disk(site: Path, browser: webdriver.Chrome) -> None:
    browser.get(f"{(site / 'search.html').as_uri()}?q=placement_groups")
    WebDriverWait(browser, 60).until(
        lambda c: c.find_elements(By.CSS_SELECTOR, "#search-results ul.search li a")
    )
    found = [link.text for link in browser.find_elements(By.CSS_SELECTOR, "#search-results ul.search li a")]
    assert any("cephfs" in title for title in found), found


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_pages_can_be_heard_and_used_without_a_mouse_in_both_themes(
    site: Path, tmp_path: Path, width: str
) -> None:
    """A page with a wide table and code, one of a driver, the first one, and the search: by axe-core's
    rules.
    """
    pages = ("index", "how-to/compare", "reference/drivers/filesystem-cephfs", "search")
    with chromium(tmp_path, WIDTHS[width]) as browser:
        for page in pages:
            browser.get((site / f"{page}.html").as_uri())
            for theme in ("light", "dark"):
                browser.execute_script("document.body.dataset.theme = arguments[0]", theme)
                assert violations(browser) == [], (page, theme)
