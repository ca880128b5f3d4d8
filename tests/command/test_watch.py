"""A run is watched from outside: while it runs, after it was killed, and after it was resumed; at one
address.
"""

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import commanded
from perjoule import store
from perjoule.results.verification import verify
from perjoule.store import progress
from places import ROOT

PERJOULE = Path(sys.executable).with_name("perjoule")
PATIENCE_S = 60.0
CAMPAIGN = """
name = "tried"
repetitions = {repetitions}
seed = 1
settle = "{settle_ms} ms"
quiet = 0
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
throughput = "100 MiB/s"
[[workload]]
kind = "simulated"
size = "2 MiB"
[[meter]]
kind = "system"
rate = "100 Hz"
[[meter]]
kind = "modelled"
rate = "100 Hz"
"""


def written(folder: Path, *, repetitions: int, settle_ms: int = 5) -> Path:
    path = folder / "tried.toml"
    path.write_text(CAMPAIGN.format(repetitions=repetitions, settle_ms=settle_ms))
    return path


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return commanded.command(*words)


@contextmanager
def started(*words: object) -> Generator[tuple[subprocess.Popen[str], str]]:
    """Start the command, and wait for the address that it prints."""
    said = ""
    with subprocess.Popen(
        [PERJOULE, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                said += line
                if found := re.search(r"http://127\.0\.0\.\d:\d+/\?token=[\w-]{32}", line):
                    yield process, found[0]
                    return
            raise AssertionError(said)
        finally:
            process.kill()


def data(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url.replace("/?", "/data?"), timeout=20) as answer:
        return json.load(answer)


def until(url: str, wanted: Any) -> dict[str, Any]:
    """Ask until something is seen."""
    end_s = time.monotonic() + PATIENCE_S
    seen: dict[str, Any] = {}
    while time.monotonic() < end_s:
        seen = data(url)
        if wanted(seen):
            return seen
        time.sleep(0.1)
    raise AssertionError(json.dumps(seen)[:2000])


@pytest.mark.slow  # by day: a killed run, and one whose page it serves, below
def test_a_run_is_watched_while_it_runs_after_a_kill_and_after_it_was_resumed(tmp_path: Path) -> None:
    campaign, folder = written(tmp_path, repetitions=5, settle_ms=800), tmp_path / "r"
    first = subprocess.Popen(
        [PERJOULE, "run", campaign, "--into", folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        end_s = time.monotonic() + PATIENCE_S
        while not (folder / progress.NAME).exists() and time.monotonic() < end_s:
            time.sleep(0.05)
        with started("watch", folder) as (watching, url):
            seen = until(
                url,
                lambda now: (
                    now["state"] == "running" and now["kept_count"] >= 1 and now["rate"] and now["watts"]
                ),
            )
            assert seen["trials_count"] == 5 and seen["left"]
            assert seen["measured"]["results"]["rows"]
            assert {chart["title"] for chart in seen["charts"]} >= {
                "Network of each client",
                "Power of the servers",
            }
            first.send_signal(signal.SIGKILL)
            first.wait()
            killed = until(url, lambda now: now["state"] == "killed")
            assert f"perjoule resume {folder}" in killed["said"] and not killed["watts"]
            before = killed["kept_count"]
            resumed = subprocess.Popen(
                [PERJOULE, "resume", folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            assert until(url, lambda now: now["state"] == "running")["kept_count"] >= before
            assert resumed.wait(PATIENCE_S) == 0
            done = until(url, lambda now: now["state"] == "done" and now["measured"]["report"])
            assert (done["kept_count"], done["trials_count"], done["measured"]["kept_count"]) == (5, 5, 5)
            watching.send_signal(signal.SIGINT)
            assert watching.wait(PATIENCE_S) == 0
        with started("watch", folder) as (_, again):
            assert again == url  # an open page continues
    finally:
        first.kill()
        first.wait()
    # what a watcher reads is not part of the results
    assert not verify(store.open_results(folder)).differences
    bundled = run("export", folder, "--bundle", tmp_path / "r.zip")
    assert bundled.returncode == 0, bundled.stderr
    assert progress.NAME.encode() not in (tmp_path / "r.zip").read_bytes()


@pytest.mark.slow  # by day: a page that a run serves elsewhere, below
def test_a_run_with_a_live_page_ends_with_its_page(tmp_path: Path) -> None:
    campaign, folder = written(tmp_path, repetitions=3, settle_ms=400), tmp_path / "r"
    with started("run", campaign, "--into", folder, "--live") as (process, url):
        assert until(url, lambda now: now["state"] in ("running", "done"))["name"] == "tried"
        (page,) = [pid for pid in children(process.pid) if "watch" in command(pid)]
        until(url, lambda now: now["state"] == "done")
        assert process.wait(PATIENCE_S) == 0
        assert not command(page)


def test_a_runs_page_is_served_at_the_requested_address(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.2", 0)) as taken:
        port = taken.getsockname()[1]
    campaign = written(tmp_path, repetitions=2, settle_ms=400)
    with started(
        "run", campaign, "--into", tmp_path / "r", "--live", "--address", "127.0.0.2", "--port", str(port)
    ) as (
        process,
        url,
    ):
        assert url.startswith(f"http://127.0.0.2:{port}/?token=")
        until(url, lambda now: now["state"] == "done")
        assert process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("options", [("--port", "9619"), ("--address", "0.0.0.0")])
def test_a_page_that_is_not_served_has_no_address(tmp_path: Path, options: tuple[str, str]) -> None:
    said = run("run", written(tmp_path, repetitions=1), "--into", tmp_path / "r", *options)
    assert said.returncode == 2 and "add --live" in said.stderr
    assert not (tmp_path / "r").exists()


def test_the_page_of_a_killed_run_shows_that_and_ends(tmp_path: Path) -> None:
    campaign, folder = written(tmp_path, repetitions=12, settle_ms=400), tmp_path / "r"
    with started("run", campaign, "--into", folder, "--live") as (process, url):
        until(url, lambda now: now["state"] == "running")
        (page,) = [pid for pid in children(process.pid) if "watch" in command(pid)]
        process.kill()
        process.wait()
        until(url, lambda now: now["state"] == "killed")
        end_s = time.monotonic() + PATIENCE_S
        while command(page) and time.monotonic() < end_s:
            time.sleep(0.05)
        assert not command(page)


def test_the_state_is_printed_once(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    assert run("run", written(tmp_path, repetitions=2), "--into", folder).returncode == 0
    said = run("watch", folder, "--once")
    assert said.returncode == 0, said.stderr
    assert "tried: the run is complete" in said.stdout and "2 of 2 trials kept" in said.stdout


def test_what_is_not_a_results_folder_is_refused() -> None:
    said = run("watch", ROOT)
    assert said.returncode == 3 and "not a results folder" in said.stderr


def children(pid: int) -> list[int]:
    listed = (path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    return [int(child) for found in listed for child in found]


def command(pid: int) -> str:
    """Return the command line of a process; "" if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""
