"""What an event costs: docs/explanations/how-numbers-are-made.md, "Events"."""

import json
from typing import Any

import numpy as np
import pandas as pd

from .boundary import boundaries
from .folder import Attempt
from .latencies import percentile_s, returned
from .numbers import total

SHORTEST_S = 1.0


def events(attempt: Attempt, results: list[dict[str, Any]]) -> dict[str, float]:
    """Recompute the numbers of a trial whose servers were hit; none of another."""
    hit, scale = attempt.record.get("events") or [], attempt.record["scale"]
    if not hit:
        return {}
    first_s, last_s, healthy_s = hit[0]["began_s"], hit[-1]["ended_s"], healthy(attempt, hit[-1]["ended_s"])
    began_s, logs = (
        min(r["began_s"] for r in results),
        [_log(attempt, host) for host in sorted({r["host"] for r in results})],
    )
    logged = all(len(log) for log in logs)
    ends = [log["t_s"].iloc[-1] - log["duration_s"].iloc[-1] for log in logs if len(log) > 1]
    ended_s = max(ends) if logged and len(ends) == len(logs) else max(r["ended_s"] for r in results)
    stages = {
        "before": (began_s, first_s),
        "healing": (last_s, ended_s if np.isnan(healthy_s) else healthy_s),
    }
    stages["during"] = (first_s, last_s if len(hit) > 1 else first_s)
    stages["after"] = (healthy_s, ended_s)
    servers = boundaries(attempt)[""]
    logged, calls = logged and not _shared(attempt, results), returned(attempt, results)
    found = {"event_late_s": max(one["ended_s"] - one["planned_s"] for one in hit)}
    for name, (low_s, high_s) in stages.items():
        low_s, high_s = max(low_s, began_s), min(high_s, ended_s)
        if not high_s - low_s >= SHORTEST_S:
            continue
        moved = sum((log["value"] * _inside(log, low_s, high_s)).sum() for log in logs)
        found[f"event_{name}_bytes_per_s"] = moved / (high_s - low_s) / scale if logged else np.nan
        found[f"event_{name}_w"] = total(attempt, servers, low_s, high_s) / (high_s - low_s)
        for percent in (50, 99):  # what returns after the last whole samples is of the last stage
            took_s = percentile_s(calls, percent, low_s, np.inf if high_s == ended_s else high_s)
            found[f"event_{name}_latency_p{percent}_s"] = took_s * scale
    found["event_healing_s"] = (healthy_s - last_s) * scale
    found["event_healing_j"] = (
        np.nan if np.isnan(healthy_s) else total(attempt, servers, last_s, healthy_s) * scale
    )
    found["event_errors_count"] = errors_count(attempt)
    joined = [one["gained_bytes"] for one in hit if one.get("gained_bytes") is not None]
    if joined:
        found["event_gained_bytes"] = sum(joined)
        at_once = all(
            one["event"]["kind"] == "add" and one["event"]["at_s"] == hit[0]["event"]["at_s"] for one in hit
        )
        if at_once and all(one["direction"] == "idle" for one in results) and sum(joined):
            found["event_gained_per_byte_j"] = found["event_healing_j"] / sum(joined)
    if logged and first_s < ended_s:
        still = [_stalls(log, max(first_s, began_s), ended_s) for log in logs]
        found["event_stalled_s"] = float(np.mean([sum(own) for own in still])) * scale
        found["event_longest_stall_s"] = max([0.0, *(one for own in still for one in own)]) * scale
    return found


def errors_count(attempt: Attempt) -> float:
    """What fio or the S3 engine counted in each of its measured loads; unknown where none may continue after an
    error.
    """
    load = attempt.record["trial"]["workload"]
    if load["kind"] == "s3":
        logs = [
            (attempt.folder / "raw" / f"{one['host']}.log") for one in attempt.record["outcome"]["results"]
        ]
        counted = [json.loads(log.read_text().splitlines()[-1])["errors"] for log in logs]
        tolerant = load["options"].get("tolerate_errors", False)
        return float(sum(sum(one.values()) for one in counted)) if tolerant else np.nan
    reports = [
        path for path in attempt.folder.glob("raw/**/*.json") if not path.parent.name.startswith("full-")
    ]
    texts = [
        text[text.find("{") :] for text in (path.read_text() for path in reports) if '"fio version"' in text
    ]
    counts = [job["total_err"] for text in texts for job in json.loads(text)["jobs"] if "total_err" in job]
    return float(sum(counts)) if counts else np.nan


def healthy(attempt: Attempt, last_s: float) -> float:
    """The first of the answers at the end that say nothing is wrong, five at least, asked after the last
    event.
    """
    good = [one["words"] == "" and one["asked_s"] >= last_s for one in attempt.record["health"]]
    count = next((n for n, fine in enumerate(reversed(good)) if not fine), len(good))
    return attempt.record["health"][-count]["answered_s"] if count >= 5 else np.nan


def _shared(attempt: Attempt, results: list[dict[str, Any]]) -> bool:
    """Whether the log of a client of this row also has the bytes of another row."""
    rows: dict[str, int] = {}
    for one in attempt.record["outcome"]["results"]:
        rows[one["host"]] = rows.get(one["host"], 0) + 1
    own = [one["host"] for one in results]
    return any(rows[host] > own.count(host) for host in own)


def _log(attempt: Attempt, host: str) -> pd.DataFrame:
    return attempt.samples[(attempt.samples["quantity"] == "goodput") & (attempt.samples["host"] == host)]


def _inside(log: pd.DataFrame, low_s: float, high_s: float) -> pd.Series:
    begin_s = log["t_s"] - log["duration_s"]
    return (log["t_s"].clip(upper=high_s) - begin_s.clip(lower=low_s)).clip(lower=0)


def _stalls(log: pd.DataFrame, low_s: float, high_s: float) -> list[float]:
    """The lengths of the runs of samples without bytes, cut to a window."""
    lengths_s = _inside(log, low_s, high_s).to_numpy()
    found = [0.0]
    for length_s, rate in zip(lengths_s, log["value"], strict=True):
        if rate:
            found.append(0.0)
        else:
            found[-1] += length_s
    return found
