"""The rows of elbencho's CSV and JSON, by the names of the CSV's columns.

Columns are found by their labels, which each version may add to; a file may have several lines of labels. No
cell holds a comma: elbencho replaces those in labels and commands. The JSON has bytes where the CSV has whole
MiB, in columns of our own name: "bytes [last]", "bytes/s [last]".
"""

from collections.abc import Iterator, Mapping
from typing import Any

from perjoule.workloads._embedded import documents

Row = Mapping[str, str]
KEY = "phase_type"  # of the JSON
LABELS = "ISO date,"  # how the CSV's line of labels begins
_COLUMNS = (  # without which a row says too little
    "ISO date",
    "path type",
    "paths",
    "hosts",
    "threads",
    "file size",
    "block size",
    "direct IO",
    "random",
    "IO depth",
    "operation",
    "time ms [first]",
    "time ms [last]",
    "entries/s [last]",
    "IOPS [last]",
    "MiB/s [last]",
    "entries [last]",
    "MiB [last]",
)
_SWITCHES = {"true": "1", "false": "0"}
_ONE_COLUMN = "label"  # came with `version` and `command`, in elbencho 2.0-7


def rows(text: str) -> tuple[Row, ...]:
    """Return the rows of either format, in order. Raises ValueError, LookupError."""
    return tuple(_from_json(text) if text.lstrip().startswith("{") else _from_csv(text))


def _from_csv(text: str) -> Iterator[Row]:
    labels: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = line.split(",")
        if line.startswith(LABELS):
            labels = cells
            _check(labels)
        elif not line.strip():
            continue
        elif not labels:
            raise ValueError(
                f"line {number} comes before any line of labels (elbencho --nocsvlabels): add the one of its "
                "version"
            )
        elif len(cells) != len(labels):
            raise ValueError(
                f"line {number} has {len(cells)} columns and its labels {len(labels)}: it is truncated, or of "
                "another version than the labels"
            )
        else:
            if cells[-1].count('"') % 2:
                raise ValueError(f"line {number} is truncated")
            yield dict(zip(labels, cells, strict=True))


def _check(labels: list[str]) -> None:
    """Check that the columns are there that give a row its meaning. Raises ValueError."""
    if absent := [name for name in _COLUMNS if name not in labels]:
        raise ValueError(
            f'it has no column "{absent[0]}": import the file as elbencho wrote it, with its labels and units'
        )
    if len(set(labels)) != len(labels):
        raise ValueError("two of its columns have one label")
    if _ONE_COLUMN in labels and not {"version", "command"} <= set(labels):
        raise ValueError(
            'it has no columns "version" and "command", which say whether a date is the start of a phase or '
            "its end: import the file as elbencho wrote it"
        )


def _from_json(text: str) -> Iterator[Row]:
    for document in documents(text, KEY):
        if "config" not in document:
            raise ValueError(
                "it has no configuration, thus no number of hosts: use elbencho 3.0-37 or newer, or import its CSV"
            )
        config, last = document["config"], document["last_done"]
        config_of = {
            name: str(config.get(key, ""))
            for name, key in ((n, n.lower().replace(" ", "_")) for n in _CONFIG)
        }
        yield {
            **{name: _SWITCHES.get(value, value) for name, value in config_of.items()},
            "random": _SWITCHES[str(config["random_offsets"])],
            "truncate": _SWITCHES.get(str(config.get("truncate_files")), ""),
            "shared paths": _SWITCHES.get(str(config.get("shared_service_paths")), ""),
            "ISO date": str(document["iso_start_date"]),
            "operation": str(document[KEY]),
            "time ms [first]": str(document["first_done"]["elapsed_time_ms"]),
            "time ms [last]": str(last["elapsed_time_ms"]),
            **_counts("", last),
            **_counts("rwmix read ", last.get("rwmix_read", {})),
            **_latencies(last.get("latency", {})),
        }


_CONFIG = (
    *("path type", "paths", "hosts", "threads", "dirs", "files", "file size", "block size", "direct IO"),
    *("random aligned", "IO depth", "version", "command"),
)
_COUNTS = {
    "entries/s": "entries/s",
    "IOPS": "iops",
    "bytes/s": "bytes/s",
    "entries": "entries",
    "bytes": "bytes",
}


def _counts(prefix: str, counted: Mapping[str, Any]) -> Row:
    return {f"{prefix}{name} [last]": str(counted.get(key, "")) for name, key in _COUNTS.items()}


def _latencies(latencies: Mapping[str, Any]) -> Row:
    return {
        f"{prefix}{name} lat us [{end}]": str(of.get(f"{end}_us", ""))
        for name, key in (("Ent", "entries"), ("IO", "IO"))
        for prefix, of in (
            ("", latencies.get(key, {})),
            ("rwmix read ", latencies.get(key, {}).get("rwmix_read", {})),
        )
        for end in ("avg", "max")
    }
