"""The live page as a watcher sees it, in Debian's chromium: while a run continues, with a hostile name,
and when it is gone.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from chromium import WITH_A_PHONE_BY_NIGHT, Chrome, complaints
from perjoule import store
from perjoule.machine import processes
from perjoule.model import Channel
from perjoule.monitoring import server
from perjoule.monitoring.watching import ResultsWatch
from perjoule.store import progress
from perjoule.store.progress import Line, LoadHost, ProgressFile, RunningLoad, RunProcess, State

EVIL = "<img src=x onerror=document.title='owned'>"
POWER = Channel("m", "storage-1", "all", "power", "W", "instantaneous", "wall")
SENT = [
    Channel("system", f"client-{number}", "all", "network_sent", "B", "counter", "counter")
    for number in range(4)
]
CLIENTS = tuple(channel.host for channel in SENT)
LOAD = RunningLoad(
    EVIL,
    "t-1",
    EVIL,
    "write",
    4,
    1,
    1.0,
    tuple(LoadHost(name, "client", 4.0) for name in CLIENTS),
    CLIENTS,
    ("storage-1",),
)


class Told:
    """A run that a test makes."""

    def __init__(self, file: ProgressFile) -> None:
        self.file, self.t_s = file, 0.0
        file.append(Line(run=RunProcess(progress.VERSION, processes.own(), EVIL, time.time())))
        file.append(Line(load=LOAD))
        file.append(Line(channels=(POWER, *SENT)))
        for _ in range(120):
            self.go_on()

    def go_on(self) -> None:
        self.t_s += 1.0
        samples = (
            (0, self.t_s, 40 + self.t_s % 7),
            *((n, self.t_s, self.t_s * n * 2**20) for n in range(1, 5)),
        )
        self.file.append(
            Line(state=State(self.t_s, time.time(), "measure", 1.0, 3, 8, 90.0, samples, ("a doubt",)))
        )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store.create(tmp_path / "results", "name = 'x'", "x")
    return tmp_path / "results"


@pytest.fixture
def told(folder: Path) -> Iterator[Told]:
    with closing(ProgressFile(folder)) as file:
        yield Told(file)


@pytest.mark.parametrize("browser", WITH_A_PHONE_BY_NIGHT, indirect=True)
def test_the_page_shows_a_run_and_says_when_it_is_lost_and_continues(
    browser: Chrome, folder: Path, told: Told, violations: Callable[[Chrome], list[str]]
) -> None:
    def text(of: str) -> str:
        return browser.find_element(By.ID, of).text

    def state_is(wanted: str) -> None:
        WebDriverWait(browser, 30).until(
            lambda c: c.execute_script("return document.documentElement.dataset.state") == wanted
        )

    page = server.Page(ResultsWatch(folder).snapshot, "t" * 32)
    with server.serving(page, "127.0.0.1", 0) as url:
        browser.get(url)
        state_is("running")
        assert (
            text("name") == EVIL
            and browser.title != "owned"
            and not browser.find_elements(By.CSS_SELECTOR, "main img")
        )
        assert text("rate") == "10.00 MiB/s" and text("watts").endswith(" W")
        assert text("count") == "3 of 8" and "a doubt" in text("doubts")
        heads = browser.find_elements(By.CSS_SELECTOR, "#hosts th.word, #meters th.word")
        assert [one.get_attribute("textContent") for one in heads] == [
            "host",
            "role",
            "meter",
            "host",
            "component",
            "grade",
        ]
        assert len(browser.find_elements(By.CSS_SELECTOR, "#charts figure:first-child > svg path")) == 4
        wide, there = browser.execute_script(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert wide <= there
        for theme in ("light", "dark"):
            if browser.execute_script("return document.documentElement.dataset.theme") != theme:
                browser.find_element(By.ID, "theme").click()
            assert violations(browser) == []
            for check in ("clipped", "overlaps", "pale"):
                assert complaints(browser, check) == [], check
        before = text("watts")
        told.go_on()
        WebDriverWait(browser, 30).until(lambda _: text("watts") != before)
        assert not [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    state_is("lost")
    assert "no answer since" in text("said") and text("count") == "3 of 8"
    killed = replace(processes.own(), birth_ticks=1)
    told.file.append(Line(run=RunProcess(progress.VERSION, killed, EVIL, time.time())))
    port = int(url.partition("127.0.0.1:")[2].partition("/")[0])
    with server.serving(page, "127.0.0.1", port):
        state_is("killed")
        assert "perjoule resume" in text("said") and text("watts") == "–"
