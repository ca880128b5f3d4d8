"""Prometheus's formats: https://prometheus.io/docs/instrumenting/exposition_formats/ and
https://prometheus.io/docs/prometheus/latest/querying/api/

Only lines of the wanted metric are parsed (docs/explanations/dependencies.md compares this with the parser of
prometheus-client), and a page that was cut inside a number is an error.
"""

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = re.compile(r'\s*([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|\Z)')
_SELECTOR = re.compile(rf"\s*({_NAME})\s*(?:\{{(.*)\}}\s*)?")
_LINE = re.compile(rf'({_NAME})(?:\s*\{{((?:[^"}}]|"(?:[^"\\]|\\.)*")*)\}})?\s+([^\s_]+)(?:\s+(-?\d+))?')
_BEGIN = re.compile(_NAME)
_UNIT_OF_HELP = re.compile(r".*\bin (\w+)\W*")  # "Total energy consumption since boot (in mJ)."
_ESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


@dataclass(frozen=True)
class ExposedNumber:
    """One number of one series; `utc_s` if the exporter dates it."""

    value: float
    utc_s: float | None = None


def selector(text: str) -> tuple[str, Mapping[str, str]]:
    """Parse `name{label="value"}` into name and labels.

    Raises:
        ValueError: it has another form.
    """
    match = _SELECTOR.fullmatch(text)
    labels = _labels(match[2] or "") if match else None
    if match is None or labels is None:
        raise ValueError(f'{text!r} names no metric (write name or name{{label="value"}})')
    return match[1], labels


def exposed(text: str, name: str, labels: Mapping[str, str]) -> tuple[ExposedNumber, str, str]:
    """Return the one series of this name with these labels on an exporter's page, its type ("gauge", "counter", "")
    and the unit that its description ends with, or "".

    Raises:
        ValueError: it is missing, is not unique or malformed, or the page is cut off.
    """
    if not text.endswith(("\n", "# EOF")):
        raise ValueError(
            f"the page is truncated: no line feed after its last line {text.rpartition(chr(10))[2][:60]!r}"
        )
    matching: list[tuple[ExposedNumber, Mapping[str, str]]] = []
    kind = unit = ""
    for line in map(str.strip, io.StringIO(text)):  # a list of all lines may be many times as large
        if name not in line:
            continue
        if line.startswith("#"):
            fields = line.split()
            if fields[2:3] == [name]:
                if fields[1] == "TYPE":
                    kind = "".join(fields[3:4])
                elif fields[1] == "UNIT":
                    unit = "".join(fields[3:4])
                elif fields[1] == "HELP" and (described := _UNIT_OF_HELP.fullmatch(line)):
                    unit = unit or described[1]
            continue
        begin = _BEGIN.match(line)
        if begin is None or begin[0] != name:
            continue
        match = _LINE.fullmatch(line)
        line_labels = _labels(match[2] or "") if match else None
        if match is None or line_labels is None:
            raise ValueError(f"the exporter's line is malformed: {line[:60]!r}")
        if labels.items() <= line_labels.items():
            matching.append(
                (ExposedNumber(float(match[3]), int(match[4]) / 1e3 if match[4] else None), line_labels)
            )
    if len(matching) != 1:
        raise ValueError(_count_words(name, [series_labels for _, series_labels in matching]))
    return matching[0][0], kind, unit


def queried(answer: Mapping[str, Any]) -> list[ExposedNumber]:
    """Return the samples of the one series in a server's answer to a range selector, oldest first.

    Raises:
        ValueError: the query failed, the answer has another form, or it does not have exactly one series.
    """
    if answer.get("status") != "success":
        raise ValueError(f"the query failed: {answer.get('error', 'no message')}")
    try:
        content: Mapping[str, Any] = answer["data"]
        if content.get("resultType") != "matrix":
            raise ValueError(f"the answer is a {content.get('resultType')}, not samples of a series")
        result: list[Mapping[str, Any]] = content["result"]
        if len(result) != 1:
            raise ValueError(_count_words("the metric", [series["metric"] for series in result]))
        return [ExposedNumber(float(value), float(utc_s)) for utc_s, value in result[0]["values"]]
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError("the answer does not have the form of the query API") from error


def _labels(text: str) -> dict[str, str] | None:
    labels: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _LABEL.match(text, at)
        if match is None:
            return None if text[at:].strip() else labels
        if match[1] in labels:
            return None
        labels[match[1]] = re.sub(r"\\.", lambda escape: _ESCAPED.get(escape[0], escape[0]), match[2])
        at = match.end()
    return labels


def _count_words(name: str, series: list[Mapping[str, str]]) -> str:
    if not series:
        return f"no series of {name} has these labels"
    listed = "; ".join(
        ", ".join(f'{k}="{v}"' for k, v in labels.items() if k != "__name__") for labels in series[:4]
    )
    return f"{len(series)} series of {name} have these labels; choose exactly one: {listed}"
