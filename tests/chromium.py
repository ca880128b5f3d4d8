"""Debian's chromium without a screen, for tests that look at a page as a reader does."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from places import TESTS

WIDTHS = {"desktop": 1400, "phone": 390}  # pixels
WITH_A_PHONE_BY_NIGHT = [
    pytest.param(pixels, id=width, marks=[] if width == "desktop" else [pytest.mark.slow])
    for width, pixels in WIDTHS.items()
]
"""For tests of the fixture `browser` that take long."""


def in_turns(*names: str, night: Sequence[str] = ()) -> list[object]:
    """For tests of the fixture `browser` and a page: each page in both widths, by day in one of them, and
    those of `night` in none.
    """
    return [
        pytest.param(
            pixels,
            name,
            id=f"{width}-{name}",
            marks=[] if (n + m) % 2 and name not in night else [pytest.mark.slow],
        )
        for n, name in enumerate(names)
        for m, (width, pixels) in enumerate(WIDTHS.items())
    ]


FLAGS = (
    *(
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
    ),
    *("--disable-component-update", "--disable-sync"),
)
# All checks of the longest page take two minutes alone, and many times that beside other tests.
SCRIPT_TIMEOUT_S = 900
AXE = """const [contrast, done] = arguments;
axe.run(document, {resultTypes: ["violations"], rules: {"color-contrast": {enabled: contrast}}}).then(
    ({violations}) => done(violations.flatMap(({id, nodes}) => nodes.map(({html}) => `${id}: ${html.slice(0, 120)}`))),
    (error) => done([String(error)]));"""
CHECKS = (TESTS / "browser" / "page_checks.js").read_text(encoding="utf-8")


class Chrome(webdriver.Chrome):
    """A browser that logs what pages say and request."""

    downloads: Path


@contextmanager
def chromium(folder: Path, width: int = WIDTHS["desktop"]) -> Generator[Chrome]:
    """A browser as wide as that, a phone's if it is narrow; its profile and downloads are in the folder."""
    os.environ["SE_OFFLINE"] = "true"  # selenium is to look nothing up
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    options.add_experimental_option("prefs", {"download.default_directory": str(folder / "downloads")})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    chrome = Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    try:
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        chrome.set_script_timeout(SCRIPT_TIMEOUT_S)
        chrome.downloads = folder / "downloads"
        yield chrome
    finally:
        chrome.quit()


def wait_drawn(page: webdriver.Chrome) -> None:
    """Wait until the figures of a page are drawn in its theme."""
    drawn = "return document.documentElement.dataset.drawn === document.documentElement.dataset.theme"
    WebDriverWait(page, 60).until(lambda chrome: chrome.execute_script(drawn))


def show(page: webdriver.Chrome, theme: str) -> None:
    """Have a page drawn in a theme."""
    if page.execute_script("return document.documentElement.dataset.theme") != theme:
        page.execute_script("document.getElementById('theme').click()")
        wait_drawn(page)


def complaints(page: webdriver.Chrome, check: str, *given: object) -> list[str]:
    """What one of the checks in `page_checks.js` finds wrong."""
    return page.execute_script(
        f"const checks = {CHECKS.strip()}; return checks.{check}(...arguments)", *given
    )


def violations(page: webdriver.Chrome, *, contrast: bool = True) -> list[str]:
    """What axe-core has against a page, by all of its rules, or by all but the one about contrast."""
    page.execute_script((files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8"))
    return page.execute_async_script(AXE, contrast)
