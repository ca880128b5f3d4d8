"""A plugin of pytest that tells coverage.py which test runs, in processes that tests start, and in those of
xdist, too; for `benchmarks/mutation.py`.

What fixtures do counts for all tests of a file. What became of each test, and how long it took, is written
where MUTATION_TOOK says.
"""

import json
import os
from pathlib import Path

import pytest
from coverage import Coverage

_took_s: dict[str, float] = {}
_failed: set[str] = set()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    _during(item.nodeid.partition("::")[0])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    _during(item.nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _took_s[report.nodeid] = _took_s.get(report.nodeid, 0.0) + report.duration
    if report.failed:
        _failed.add(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _failed.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Save what was seen: a process of xdist ends without doing so itself."""
    if hasattr(session.config, "workerinput"):
        running = Coverage.current()
        assert running is not None
        running.stop()
        running.save()
    else:
        passed_s = {name: took_s for name, took_s in _took_s.items() if name not in _failed}
        Path(os.environ["MUTATION_TOOK"]).write_text(
            json.dumps({"took_s": passed_s, "failed": sorted(_failed)})
        )


def _during(context: str) -> None:
    running = Coverage.current()
    assert running is not None
    running.switch_context(context)
    os.environ |= {"COVERAGE_PROCESS_START": os.environ["MUTATION_SETTINGS"], "MUTATION_TEST": context}
