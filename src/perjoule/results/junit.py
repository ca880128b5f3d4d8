"""Judged rows as a JUnit report, which CI servers show: https://github.com/testmoapp/junitxml describes it."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from perjoule.model.format import ratio_text
from perjoule.model.metrics import metric_of
from perjoule.model.units import counted
from perjoule.results.comparison import ComparisonRow
from perjoule.results.comparison.limits import Limit
from perjoule.results.history import History, HistoryRow

# What no document can have: https://www.w3.org/TR/xml/#charsets
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class JunitCase:
    """One judged row."""

    group: str  # of what is judged alike
    name: str
    outcome: str  # "failure", "skipped" where the row can't be judged, or ""
    sentence: str = ""


def of_limits(rows: Sequence[ComparisonRow], limits: Sequence[Limit]) -> tuple[JunitCase, ...]:
    """Return a case for each limit and each row of its metric."""
    outcomes = {"broken": "failure", "can't tell": "skipped", "kept": ""}
    return tuple(
        JunitCase(limit.text, _place(row), outcomes[limit.judge(row)], row.verdict)
        for limit in limits
        for row in rows
        if row.metric == limit.metric
    )


def of_history(history: History) -> tuple[JunitCase, ...]:
    """Return a case for each row of a history: its newest level is no worse than the one before."""
    outcomes = {"worse": "failure", "too few campaigns": "skipped"}
    return tuple(
        JunitCase(
            metric_of(row.metric).label, _place(row), outcomes.get(row.verdict, ""), _step(history, row)
        )
        for row in history.rows
    )


def _place(row: ComparisonRow | HistoryRow) -> str:
    clients = counted(row.clients_count, "client")
    return ", ".join(filter(None, (row.filesystem, row.workload, row.direction, clients)))


def _step(history: History, row: HistoryRow) -> str:
    """Return the verdict, and the last step that it is on."""
    if not row.steps:
        return row.verdict
    step = row.steps[-1]
    return f"{row.verdict} since {history.moments[row.moments[step.at]].name}: {ratio_text(step.ratio)}"


def document(name: str, cases: Sequence[JunitCase]) -> str:
    """Return the report's XML."""
    counts = Counter(case.outcome for case in cases)
    tallies = {"tests": len(cases), "failures": counts["failure"], "errors": 0, "skipped": counts["skipped"]}
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(
        suites, "testsuite", {"name": name, **{key: str(count) for key, count in tallies.items()}}
    )
    for case in cases:
        element = ElementTree.SubElement(suite, "testcase", {"classname": case.group, "name": case.name})
        if case.outcome:
            ElementTree.SubElement(element, case.outcome, {"message": case.sentence})
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
