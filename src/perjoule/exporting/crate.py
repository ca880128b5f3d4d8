"""The description of a bundle: RO-Crate 1.1 (https://www.researchobject.org/ro-crate/specification/1.1/), a
citation file (https://citation-file-format.github.io) and checksums in the format of sha256sum.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from perjoule import __version__
from perjoule.model import Json, Record, least_real
from perjoule.results.limitations import SIMULATED

METADATA, CITATION, CHECKSUMS = "ro-crate-metadata.json", "CITATION.cff", "checksums.sha256"
SPECIFICATION = "https://w3id.org/ro/crate/1.1"
TYPES = {
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".toml": "application/toml",
    ".csv": "text/csv",
    ".html": "text/html",
    ".parquet": "application/vnd.apache.parquet",
    ".cff": "application/yaml",
    ".sha256": "text/plain",
    ".txt": "text/plain",
    ".log": "text/plain",
}
KNOWN = {
    "results.json": "Format version and name of these results",
    "campaign.toml": "The campaign that was run",
    "journal.jsonl": "The attempts that were kept, with checksums of their files",
    "table.json": "The table of the report",
    "report.html": "The report: tables, figures and methods in one page that works offline",
    "recalculated.json": "The table before the modelled watts were computed again, and what changed",
    "table.csv": "All metrics of trials and cells as one long table",
    CITATION: "How to cite these results",
    CHECKSUMS: "SHA-256 of every other file",
}
SUFFIXES = {
    "record.json": "Record of an attempt at a trial",
    "series.parquet": "Time series of an attempt, as read from the meters",
}


@dataclass(frozen=True)
class Description:
    """Information that the results lack."""

    name: str
    description: str = ""
    license: str = ""  # an SPDX identifier, or a URL
    authors: tuple[str, ...] = ()


@dataclass(frozen=True)
class File:
    """A file of the bundle."""

    size_bytes: int
    sha256: str  # "" if unknown, as for the checksums themselves


def metadata(description: Description, records: Sequence[Record], files: Mapping[str, File]) -> str:
    """Write ro-crate-metadata.json: a flat list of entities, the root with every file as a part of it.

    Args:
        said: name, license and the like.
        records: all attempts.
        files: every file except this one, by its path in the bundle.
    """
    people: list[Json] = [
        {"@id": _person(name), "@type": "Person", "name": name} for name in description.authors
    ]
    license_id = license_url(description.license)
    root: dict[str, Json] = {
        "@id": "./",
        "@type": "Dataset",
        "name": description.name,
        **(
            {"keywords": SIMULATED}
            if least_real(record.traits.reality for record in records) == "simulated"
            else {}
        ),
        "description": description.description
        or f"Measurements of the energy efficiency of storage: {description.name}",
        "datePublished": date(records),
        "hasPart": [{"@id": _id(path)} for path in sorted(files)],
        "mentions": [{"@id": "#measurement"}],
        **({"license": {"@id": license_id}} if license_id else {}),
        **({"author": [{"@id": _person(name)} for name in description.authors]} if people else {}),
    }
    began_s, ended_s = window(records)
    measurement: Json = {
        "@id": "#measurement",
        "@type": "CreateAction",
        "name": f"{len(records)} attempts at trials",
        "instrument": {"@id": "#perjoule"},
        "result": [{"@id": "./"}],
        **({"startTime": _iso(began_s), "endTime": _iso(ended_s)} if ended_s else {}),
    }
    tool: Json = {
        "@id": "#perjoule",
        "@type": "SoftwareApplication",
        "name": "perjoule",
        "softwareVersion": __version__,
    }
    licensed: list[Json] = (
        [{"@id": license_id, "@type": "CreativeWork", "name": description.license}] if license_id else []
    )
    descriptor: Json = {
        "@id": METADATA,
        "@type": "CreativeWork",
        "conformsTo": {"@id": SPECIFICATION},
        "about": {"@id": "./"},
    }
    parts = [_file(path, file) for path, file in sorted(files.items())]
    crate: Json = {
        "@context": [f"{SPECIFICATION}/context", {"sha256": "https://schema.org/sha256"}],
        "@graph": [descriptor, root, measurement, tool, *licensed, *people, *parts],
    }
    return json.dumps(crate, indent=1, ensure_ascii=False) + "\n"


def citation(description: Description, records: Sequence[Record]) -> str:
    """Write CITATION.cff; its strings are JSON, which YAML also reads."""
    lines = [
        "cff-version: 1.2.0",
        "type: dataset",
        'message: "If you use these results, please cite them as below."',
    ]
    lines += [f"title: {_text(description.name)}", "authors:"]
    lines += [f"  - name: {_text(name)}" for name in description.authors or ("unknown",)]
    lines += [f'date-released: "{date(records)}"']
    if description.license:
        key = "license-url" if "://" in description.license else "license"
        lines += [f"{key}: {_text(description.license)}"]
    return "\n".join(lines) + "\n"


def checksums(files: Mapping[str, File]) -> str:
    """Write the input of `sha256sum --check`."""
    return "".join(f"{file.sha256}  {path}\n" for path, file in sorted(files.items()))


def date(records: Sequence[Record]) -> str:
    """Return the day of the last measurement, so the same results give the same bytes."""
    _, ended_s = window(records)
    return datetime.fromtimestamp(ended_s, UTC).date().isoformat()


def license_url(text: str) -> str:
    """Return a license's URL; "" if it has none."""
    return text if not text or "://" in text else f"https://spdx.org/licenses/{quote(text)}"


def _file(path: str, file: File) -> Json:
    name = path.rsplit("/", 1)[-1]
    suffix = "." + name.rsplit(".", 1)[-1] if "." in name else ""
    meaning = KNOWN.get(path) or SUFFIXES.get(name) or ("Raw output of a tool" if "/raw/" in path else "")
    return {
        "@id": _id(path),
        "@type": "File",
        "name": path,
        **({"description": meaning} if meaning else {}),
        **({"encodingFormat": TYPES[suffix]} if suffix in TYPES else {}),
        "contentSize": str(file.size_bytes),
        **({"sha256": file.sha256} if file.sha256 else {}),
    }


def window(records: Sequence[Record]) -> tuple[float, float]:
    """Return the time from the first phase of all trials to the last, in seconds of UTC; (0, 0) without
    phases.
    """
    moments = [
        moment_s - record.clock.monotonic_s + record.clock.utc_s
        for record in records
        for phase in record.phases
        for moment_s in (phase.began_s, phase.ended_s)
    ] or [record.clock.utc_s for record in records]
    return min(moments, default=0.0), max(moments, default=0.0)


def _iso(utc_s: float) -> str:
    return datetime.fromtimestamp(utc_s, UTC).isoformat(timespec="seconds")


def _id(path: str) -> str:
    return quote(path)


def _person(name: str) -> str:
    return f"#{quote(name)}"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
