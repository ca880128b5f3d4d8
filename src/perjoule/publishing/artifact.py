"""What a reviewer of a paper gets: the results as a bundle, the campaign, an appendix in the order of the
artifact descriptions of ACM and SC, and a script that recomputes every number without the hardware and ends
in PASS.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from perjoule import __version__
from perjoule.exporting import Description, write_bundle, write_zip
from perjoule.exporting.crate import window
from perjoule.machine import removal
from perjoule.model import Channel, Record, Specification
from perjoule.model.calibration import calibrations
from perjoule.model.format import any_number, number
from perjoule.model.units import bytes_text, counted, seconds_text
from perjoule.report.methods import methods
from perjoule.results.table import INTERVALS, Table, best_first, graded_table
from perjoule.views.content import Content

BUNDLE, CAMPAIGN, APPENDIX, REPLAY = "results.zip", "campaign.toml", "README.md", "replay.sh"
# What makes links, images, code and markup of a text; at its begin also headings, lists, quotes, fences.
# https://spec.commonmark.org/0.31.2/#backslash-escapes
_MARKUP = re.compile(r"[\\`*<\[\]]|^[-+=#>~_]")
REPLAY_SCRIPT = f"""#!/bin/sh
# Recompute every number of {BUNDLE} from its raw data: needs no root and no hardware, and ends in PASS or FAIL.
cd "$(dirname "$0")" || exit 2
command -v perjoule > /dev/null || {{ echo "perjoule is missing; README.md says how to install it" >&2; exit 2; }}
perjoule verify {BUNDLE}
code=$?
case $code in
    0) echo PASS ;;
    1) echo FAIL ;;
    *) echo "NOT CHECKED: perjoule says above why it can't read {BUNDLE}" >&2 ;;
esac
exit $code
"""


def write_artifact(content: Content, target: Path, csv: str, description: Description) -> int:
    """Write an artifact to hand in as a zip file; return the number of files of its bundle.

    Args:
        content: of a results folder with its report.
        target: replaced if it exists.
        csv: all metrics as CSV.
        description: who made it, and under which license.

    Raises:
        MachineError, OSError: as for a bundle.
    """
    with removal.scratch("perjoule-artifact-") as folder:
        bundle, campaign = folder / BUNDLE, content.results.folder / CAMPAIGN
        count = write_bundle(content.results, bundle, csv, description)
        text = appendix(content, description, bundle.stat().st_size)
        write_zip(
            target,
            {BUNDLE: bundle, CAMPAIGN: campaign, REPLAY: REPLAY_SCRIPT},
            {APPENDIX: text},
        )
    return count


def appendix(content: Content, description: Description, bundle_bytes: int) -> str:
    """Write the appendix, in Markdown."""
    sections = (
        (f"# Artifact: {_plain(description.name)}", _abstract(description)),
        ("## Check it without the hardware", _replay(bundle_bytes)),
        ("## Results", f"{INTERVALS}\n\n{_table(graded_table(best_first(content.cells)))}"),
        ("## How it was measured", "\n\n".join(map(_plain, methods(content)))),
        ("## Meters", _table(_meters(content))),
        ("## Software", "\n".join(_software(content.records))),
        ("## Repeat it on hardware", "\n\n".join(_again(content))),
    )
    return "\n\n".join(f"{heading}\n\n{text}" for heading, text in sections if text) + "\n"


def _abstract(description: Description) -> str:
    authors = f"By {_plain(', '.join(description.authors))}. " if description.authors else ""
    license_text = f"License: {_plain(description.license)}. " if description.license else ""
    contents = (
        f"`{BUNDLE}` has raw data, time series of all meters, the report and checksums, described as an RO-Crate; "
        f"`{CAMPAIGN}` is the whole measurement as one file; `{REPLAY}` checks."
    )
    paragraphs = (_plain(description.description), f"{authors}{license_text}{contents}")
    return "\n\n".join(filter(None, paragraphs))


def _replay(bundle_bytes: int) -> str:
    return f"""Needs Linux, Python 3.11 or later, and {bytes_text(bundle_bytes)} several times over on disk; no root.

    python3 -m venv venv
    venv/bin/pip install 'perjoule[figures]=={__version__}'
    PATH="$PWD/venv/bin:$PATH" sh {REPLAY}

Every checksum is compared, and every number computed again from the raw data. It ends in PASS, or in FAIL and the
numbers that differ."""


def _meters(content: Content) -> Table:
    """A row for each kind of channel of power or energy: its boundary, and what is known of its errors."""
    kinds = {spec.label: spec.kind for record in content.records for spec in record.trial.meters}
    calibrated = calibrations(content.records)
    rows: dict[tuple[str, ...], set[str]] = {}
    for channel, period_s in content.channels.items():
        row = (
            channel.meter,
            kinds.get(channel.meter, "–"),
            channel.grade,
            channel.component,
            *_specified(channel),
            f"{number(period_s)} s" if period_s > 0 else "–",
            calibrated.get(channel.meter, "not stated"),
        )
        rows.setdefault(row, set()).update(channel.covers or [channel.host or "–"])
    errors = ("largest error", "resolution", "a sample every", "calibrated")
    headers = ("meter", "driver", "grade", "component", *errors, "of")
    return Table(headers, tuple((*row, ", ".join(sorted(hosts))) for row, hosts in rows.items()))


def _specified(channel: Channel) -> tuple[str, str]:
    """The largest error and the resolution, as stated by the meter, its maker or the campaign."""
    specification: Specification = channel.specification
    parts = [
        *([f"{100 * specification.gain_ratio:g} %"] if specification.gain_ratio is not None else []),
        *([f"{any_number(specification.offset)} {channel.unit}"] if specification.offset else []),
    ]
    sigma = (
        f"standard uncertainty {any_number(specification.sigma)} {channel.unit}"
        if specification.sigma
        else "of its coefficients"
        if channel.grade == "modelled"
        else "not stated"
    )
    resolution = (
        f"{any_number(specification.resolution)} {channel.unit}" if specification.resolution else "not stated"
    )
    return " + ".join(parts) or sigma, resolution


def _software(records: Sequence[Record]) -> Iterator[str]:
    """A line for each program and package, in the versions that were used; all where they differ."""
    versions: dict[str, dict[str, None]] = {}
    for record in records:
        for key in ("distribution", "kernel", "python", "cpu_model"):
            if value := record.environment.get(key):
                versions.setdefault(key.replace("_", " "), {})[str(value)] = None
        for key in ("modules", "packages"):
            packages = record.environment.get(key)
            for name, version in packages.items() if isinstance(packages, dict) else ():
                versions.setdefault(name, {})[str(version)] = None
    return (f"- {_plain(name)}: {_plain(', '.join(texts))}" for name, texts in versions.items())


def _again(content: Content) -> Iterator[str]:
    """What a repetition needs, by what it took."""
    if any(record.imported for record in content.records):
        yield (
            "The trials were imported, so perjoule can't run them again: repeat them with the programs above and their "
            "options, and import what these print (`perjoule docs import`)."
        )
        return
    began_s, ended_s = window(content.records)
    moved_bytes = sum(
        result.moved_bytes
        for record in content.records
        if record.outcome
        for result in record.outcome.results
    )
    took = f", from first to last {seconds_text(ended_s - began_s)}"
    yield (
        f"It took {counted(len(content.records), 'trial')}{took}, and moved {bytes_text(moved_bytes)}. Adapt hosts and "
        f"meters in `{CAMPAIGN}` to yours, then:"
    )
    yield f"    perjoule check {CAMPAIGN} --connect\n    perjoule run {CAMPAIGN} --into again"
    yield (
        "`perjoule compare` says, with intervals, where `again` differs from the results here (unpacked from "
        f"`{BUNDLE}`)."
    )


def _table(rows: Table) -> str:
    """A table of Markdown; "" without rows."""
    if not rows.rows:
        return ""
    headers, *lines = (
        f"| {' | '.join(_plain(cell).replace('|', '/') for cell in line)} |"
        for line in (rows.headers, *rows.rows)
    )
    return "\n".join((headers, f"|{' --- |' * len(rows.headers)}", *lines))


def _plain(text: str) -> str:
    """Write a text of the campaign's, or of whoever hands over results, so that Markdown shows it as it is."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.split()))
