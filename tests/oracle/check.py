"""Hold what perjoule exports of a results folder against the second calculation."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from . import idle
from .events import events
from .folder import Attempt, attempts
from .modelled import modelled
from .numbers import directions, edp_weight, grade, numbers, timed, widening
from .rebuild import rebuild
from .students import interval

CELL = ["filesystem", "workload", "direction", "clients_count"]
TRIAL = ["trial", "direction", "metric"]
NUMBERS = ["value", "low", "high"]
TOLERANCE_RATIO = 1e-9


def exported(table: Path) -> pd.DataFrame:
    """Read what `perjoule export --csv` wrote, to the last bit."""
    found = pd.read_csv(table, dtype=str, keep_default_na=False)
    return found.assign(
        **{name: found[name].replace("", "nan").map(float) for name in NUMBERS},
        clients_count=found["clients_count"].astype(int),
    )


def compared(folder: Path, table: Path) -> pd.DataFrame:
    """A row for each number that either has: perjoule's as exported (`theirs`), the second calculation's
    (`own`).

    `difference_ratio` is relative; infinite where only one of the two has the number.
    """
    measured = attempts(folder)
    asked = (folder / "campaign.toml").read_text()
    rows = pd.DataFrame([row for attempt in measured for row in _rows(attempt, edp_weight(asked))])
    theirs = exported(table)
    rows = _without_refused(rows, theirs)
    trials = theirs[theirs["of"] == "trial"].merge(rows[[*TRIAL, "own"]], on=TRIAL, how="outer")
    cells = theirs[theirs["of"] == "cell"]
    # an end of an interval may lie near 0 by chance
    largest = cells[NUMBERS].abs().replace(np.inf, 0).max(axis=1)
    cells = cells.assign(largest=largest).melt([*CELL, "metric", "largest"], NUMBERS, "number", "theirs")
    joined = cells.merge(
        summaries(_without_partial(rows), widening(asked)), on=[*CELL, "metric", "number"], how="outer"
    )
    trials = trials.assign(number="value", theirs=trials["value"], largest=trials["value"].abs())
    power = pd.concat([modelled(attempt).assign(trial=attempt.name, number="sample") for attempt in measured])
    found = pd.concat([trials, joined, power.assign(largest=power["theirs"].abs())], ignore_index=True)
    return found.assign(
        difference_ratio=_difference_ratio(
            *(found[c].to_numpy(np.float64) for c in ("theirs", "own", "largest"))
        )
    )


def exports(folder: Path, table: Path) -> None:
    """Export a results folder as a user would."""
    perjoule = Path(sys.executable).with_name("perjoule")
    subprocess.run([perjoule, "export", folder, "--csv", table], check=True, stdout=subprocess.DEVNULL)


def checked(folder: Path, export: Callable[[Path, Path], None] = exports) -> pd.DataFrame:
    """Export a results folder into a table, and compare."""
    with tempfile.TemporaryDirectory() as made:
        table = Path(made) / "table.csv"
        export(folder, table)
        return compared(folder, table)


def apart(found: pd.DataFrame) -> pd.DataFrame:
    """The numbers that differ, in words enough to find them."""
    differing = found[~(found["difference_ratio"] <= TOLERANCE_RATIO)]
    return differing[["trial", *CELL, "metric", "number", "theirs", "own"]]


def recomputed(found: pd.DataFrame) -> pd.DataFrame:
    """The numbers that have a second calculation: all but uncertainties of joules, whose budgets are
    checked otherwise.
    """
    return found[
        ~found["metric"].str.contains("uncertainty") | found["metric"].str.match(r"cpu_\w+_s_per_byte")
    ]


def _without_refused(rows: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Leave out dynamic energies that perjoule refuses: its reason is an uncertainty, which has no second
    calculation.
    """
    there = pd.MultiIndex.from_frame(theirs.loc[theirs["of"] == "trial", TRIAL])
    refused = rows["metric"].str.startswith("dynamic_") & ~pd.MultiIndex.from_frame(rows[TRIAL]).isin(there)
    return rows[~refused]


def _without_partial(rows: pd.DataFrame) -> pd.DataFrame:
    """Leave out dynamic energies that not every repetition of a row has: the row omits them."""
    having, all_of_it = (rows.groupby(of)["trial"].transform("nunique") for of in ([*CELL, "metric"], CELL))
    return rows[~(rows["metric"].str.startswith("dynamic_") & (having < all_of_it))]


def _rows(attempt: Attempt, weight: int) -> list[dict[str, Any]]:
    trial = attempt.record["trial"]
    labels = {
        "filesystem": trial["filesystem"]["label"],
        "workload": trial["workload"]["label"],
        "trial": attempt.name,
    }
    labels |= {"clients_count": trial["clients_count"], "grade": grade(attempt), "timed": timed(attempt)}
    return [
        {
            **labels,
            **{"direction": direction, "moved": float(f"{sum(r['moved_bytes'] for r in results):.6g}")},
            **{"metric": metric, "own": value},
        }
        for direction, results in directions(attempt).items()
        for metric, value in _numbers(attempt, direction, results, weight).items()
    ]


def _numbers(
    attempt: Attempt, direction: str, results: list[dict[str, Any]], weight: int
) -> dict[str, float]:
    usual = (
        idle.numbers(attempt, results)
        if direction == "idle"
        else numbers(attempt, direction, results, weight)
    )
    hit = events(attempt, results) | rebuild(attempt, results)
    return usual | {key: value for key, value in hit.items() if not np.isnan(value)}


def summaries(rows: pd.DataFrame, wider: float = 1.0) -> pd.DataFrame:
    """Means with 95 % intervals over the repetitions that have a number."""
    found = [
        {**dict(zip([*CELL, "metric"], key, strict=True)), "number": number, "own": value}
        for key, group in rows.groupby([*CELL, "metric"])
        for number, value in zip(NUMBERS, interval(group["own"].to_numpy(), wider), strict=True)
    ]
    return pd.concat([pd.DataFrame(found), _edp_ratios(rows, wider)], ignore_index=True)


def _edp_ratios(rows: pd.DataFrame, wider: float) -> pd.DataFrame:
    """Energy-delay products over the lowest of the same work, where there is another of the same work."""
    edp = rows[rows["metric"] == "edp_js"]
    found: list[dict[str, Any]] = []
    for _, same in edp[~edp["timed"]].groupby([*CELL[1:], "grade", "moved"]):
        cells = {
            filesystem: interval(group["own"].to_numpy(), wider)
            for filesystem, group in same.groupby("filesystem")
        }
        best = min(mean for mean, _, _ in cells.values())
        for filesystem, ends in cells.items() if len(cells) > 1 else []:
            key = {"filesystem": filesystem, **same[CELL[1:]].iloc[0], "metric": "edp_ratio"}
            found += [
                {**key, "number": number, "own": end / best}
                for number, end in zip(NUMBERS, ends, strict=True)
            ]
    return pd.DataFrame(found, columns=[*CELL, "metric", "number", "own"])


def _difference_ratio(theirs: np.ndarray, own: np.ndarray, largest: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.abs(own - theirs) / largest
    return np.where(theirs == own, 0.0, np.where(np.isnan(ratio), np.inf, ratio))
