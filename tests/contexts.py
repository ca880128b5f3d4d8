"""A plugin of pytest that tells coverage.py which test runs, in processes that tests start, too; for
`benchmarks/mutation.py`.

What fixtures do counts for all tests of a file. How long each test took is written where MUTATION_TOOK says.
"""

import json
import os
from pathlib import Path

import pytest
from coverage import Coverage

_took_s: dict[str, float] = {}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    _during(item.nodeid.partition("::")[0])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    _during(item.nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _took_s[report.nodeid] = _took_s.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish() -> None:
    Path(os.environ["MUTATION_TOOK"]).write_text(json.dumps(_took_s))


def _during(context: str) -> None:
    running = Coverage.current()
    assert running is not None
    running.switch_context(context)
    os.environ |= {"COVERAGE_PROCESS_START": os.environ["MUTATION_SETTINGS"], "MUTATION_TEST": context}
