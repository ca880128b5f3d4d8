"""CPU time by byte of whole trials over that of the window in which bytes moved: what start, report and idle
daemons added.

usage: .venv/bin/python benchmarks/cpu_windows.py [RESULTS or BUNDLE ...]

Without arguments, of the bundles that come with perjoule, and of its profiles, whose points keep CPU work of
whole trials. What their servers did in the window follows from their modelled watts, which are linear in it
(the disks' by the layout's bytes).
"""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from perjoule import prediction, store
from perjoule.energy.hosts import roles
from perjoule.exporting.archive import open_archive, unpacked
from perjoule.measures.overhead import CPU
from perjoule.model import Record, Series
from perjoule.prediction.identification import counted_ratios
from perjoule.trial.counters import edges_error, total, window
from perjoule.trial.reading import Reading

BUNDLES = sorted((Path(__file__).parents[1] / "docs" / "list" / "bundles").glob("*.zip"))
Row = tuple[str, str, str, str]  # file system, workload, direction, role


def ratios(record: Record, series: Sequence[Series]) -> Iterator[tuple[Row, float, float]]:
    """Return, for each direction and role of a trial, the ratio, and how well the window's CPU time is
    known.
    """
    for direction, span in Reading(record).windows.items():
        for role, names in roles(record).items():
            whole_s = total(series, CPU, names, *window(record, span.began_s, span.ended_s)).value
            inside_s = total(series, CPU, names, span.began_s, span.ended_s).value
            if whole_s and inside_s:
                error_s = edges_error(series, CPU, names, span.began_s, span.ended_s)
                row = (record.trial.filesystem.label, record.trial.workload.label, direction, role)
                yield row, whole_s / inside_s, error_s / inside_s


def of_folder(folder: Path) -> None:
    """Print the ratios of a results folder."""
    rows: dict[Row, list[tuple[float, float]]] = {}
    results = store.open_results(folder)
    for record in results.latest():
        for row, ratio, error in ratios(record, results.series(record)) if record.outcome else ():
            rows.setdefault(row, []).append((ratio, error))
    for row, found in rows.items():
        whole, error = np.median(np.array(found), axis=0)
        print(
            f"{' '.join(row):60} whole trial / window {whole:5.2f}   window known to {100 * error:4.0f} %   "
            f"of {len(found)}"
        )


def of_profiles() -> None:
    """Print the ratios of the servers of the shipped profiles."""
    for name in prediction.names():
        for direction in (profile := prediction.shipped(name)).known:
            found = counted_ratios(profile, direction)
            if found.size:
                low, middle, high = np.quantile(found, [0.05, 0.5, 0.95])
                print(
                    f"{f'{name} {direction}, servers':60} whole trial / window {middle:5.2f}   90 % "
                    f"{low:.2f} to {high:.2f}"
                )


def main() -> None:
    """Print the ratios."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("places", nargs="*", type=Path)
    places: list[Path] = asked.parse_args().places
    for place in places or BUNDLES:
        print(place.name)
        with ExitStack() as stack:
            archive = place.suffix == ".zip"
            of_folder(
                stack.enter_context(unpacked(stack.enter_context(open_archive(place)))) if archive else place
            )
    if not places:
        print("profiles, by their modelled watts")
        of_profiles()


if __name__ == "__main__":
    main()
