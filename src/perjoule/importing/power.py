"""Power logs, joined by the time of day: CSV with declared columns, InfluxDB's line protocol, or the output of
`perjoule meters record`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from perjoule import campaign
from perjoule.drivers.boundary import boundary
from perjoule.drivers.protocols import Hosts
from perjoule.importing import line_protocol
from perjoule.importing.sources import content_of, packed, require_portable, text_of
from perjoule.meters.csv import Csv, contradiction, doubts
from perjoule.model import Clock, Series
from perjoule.model.doubts import Doubt
from perjoule.model.errors import CampaignError
from perjoule.model.series import Floats
from perjoule.store.recordings import HEADINGS, read_recording
from perjoule.workloads.imported import outputs_of

EVERYTHING: tuple[str, ...] = ()
_COLUMNS = ("value", "by", "window_column")  # options of a column, which may be a number
_JSON = re.compile(r"\s*(?:\{\s*\"|\[\s*[\[{])")
UTC_CLOCK = Clock(0.0, 0.0)  # monotonic seconds are those of UTC


@dataclass(frozen=True)
class Log:
    """A log with its samples in seconds of UTC."""

    path: Path
    meter: Csv | None  # None: a recording, whose channels say what they cover
    covers: tuple[str, ...]  # EVERYTHING, or names of hosts, "servers", "clients", "switch"
    series: tuple[Series, ...]
    zone_assumed: bool = False  # its dates have no zone, and none was declared
    doubts: tuple[Doubt, ...] = ()

    def of(self, roles: Mapping[str, str]) -> tuple[Series, ...]:
        """Return its series for the hosts of a trial.

        Args:
            roles: the role of each host.

        Raises:
            CampaignError: there is no such host.
        """
        if self.meter is None:
            return self.series
        placed = boundary(
            self.meter.label, _covered(self.covers, roles, self.path), Hosts(()), self.meter.component
        )
        return tuple(replace(series, channel=self.meter.declared(placed)) for series in self.series)


def logs(path: Path, declared: Sequence[str], covers: Sequence[str], zone: str) -> tuple[Log, ...]:
    """Read a log, or those that the [[meter]] tables of a TOML file name.

    Args:
        path: CSV, a recording of perjoule, or TOML with tables of kind "csv".
        declared: "OPTION=VALUE" of the meter `csv`: "unit=W".
        covers: what it covers; everything if empty.
        zone: for dates without a time zone.

    Raises:
        CampaignError: it is not as declared.
        MachineError: it can't be read.
    """
    tables = path.suffix == ".toml"
    if not path.is_file():
        raise CampaignError("no such power log", where=str(path), next="see `perjoule docs import`")
    require_portable(path)
    _require_unpacked(path)
    if not tables and text_of(path).partition("\n")[0].strip().split(",")[:3] == HEADINGS[:3]:
        return (Log(path, None, EVERYTHING, read_recording(path)),)
    names = [str(path)] if tables else ["csv"]
    options = [*map(_quoted, declared), *((f"path={json.dumps(str(path))}",) if not tables else ())]
    assumed = not tables and not any(text.startswith("zone=") for text in options)
    options += [f"zone={json.dumps(zone)}"] if assumed else []
    return tuple(_log(meter, covers, tables, assumed) for meter in campaign.meters(names, options))


def near(series: Series, began_s: float, ended_s: float) -> Series | None:
    """Return the samples of a window and some around it; None if it has none inside."""
    before, after = series.t_s > began_s, series.t_s - series.duration_s < ended_s
    if not (before & after).any() and not (before.any() and (~before).any()):
        return None
    low = max(0, int(np.searchsorted(series.t_s, began_s)) - AROUND_COUNT)
    high = int(np.searchsorted(series.t_s - series.duration_s, ended_s)) + AROUND_COUNT
    return series.at(slice(low, high))


AROUND_COUNT = 10  # samples before and after a window: a trapezoid needs one, an average a few


def _log(meter: object, covers: Sequence[str], tables: bool, assumed: bool) -> Log:
    if not isinstance(meter, Csv):
        raise CampaignError("only logs can be imported", where="[[meter]]", next='set kind = "csv"')
    if meter.clock in ("monotonic", "beginning"):
        problem = f'times with clock = "{meter.clock}" can\'t be joined with anything'
        raise CampaignError(
            problem, where=str(meter.path), next='a log needs times of day: clock = "date" or "unix"'
        )
    path = meter.path.expanduser()
    _require_unpacked(path)
    t_s, values, duration_s = _samples(meter, path)
    if not len(t_s):
        raise CampaignError("the log has no rows", where=str(path), next="check that it is the right file")
    if len(t_s) > 1 and t_s[0] == t_s[-1]:
        advice = "name all columns of the time, with all its digits"
        raise CampaignError("all its rows have the same time", where=str(path), next=advice)
    if not np.isfinite(values).any():
        fault = f'no row has a number in column "{meter.value}"'
        raise CampaignError(fault, where=str(path), next="set value to the column with the numbers")
    fault, advice = contradiction(meter, values)
    if fault:
        raise CampaignError(fault, where=str(path), next=advice)
    covered = tuple(covers) or (tuple(meter.covers) if tables else EVERYTHING)
    alone = boundary(meter.label, ("servers",), Hosts(()))
    series = Series(meter.declared(alone), t_s, duration_s, values)
    zone_assumed = assumed and meter.clock == "date"
    return Log(path, meter, covered, (series,), zone_assumed, doubts(meter, t_s, values))


def _require_unpacked(path: Path) -> None:
    """Check that rows can lie in a file. Raises CampaignError, MachineError."""
    package, advice = packed(path)
    if package:
        raise CampaignError(f"the log is {package}", where=str(path), next=advice)


def _samples(meter: Csv, path: Path) -> tuple[Floats, Floats, Floats]:
    """Return the times (seconds of UTC), values and windows of a log."""
    content = content_of(path)
    plain = meter.plain(content)
    if plain is not None:
        return (*plain, np.broadcast_to(meter.window_s or 0.0, len(plain[0])))
    text = text_of(path, encoding=meter.encoding)
    if _JSON.match(text):
        raise CampaignError(
            "the log is JSON, and power is read from rows",
            where=str(path),
            next="write rows: `jq -r '.data.result[0].values[] | @csv'` does so from Prometheus",
        )
    if line_protocol.is_it(text):
        meter, text = line_protocol.table(text, meter)
    if not meter.names_columns(text):
        outputs = outputs_of(text)  # without what a launcher, or another log, puts before each line
        text = next(iter(outputs.values())) if len(outputs) == 1 else text
    rows = np.array(list(meter.samples(text, UTC_CLOCK)), dtype=np.float64).reshape(-1, 3)
    return rows[:, 0].copy(), rows[:, 1].copy(), rows[:, 2].copy()


def _quoted(text: str) -> str:
    """Accept a single time column like any other option, time=Time, and columns by number and blanks without quotes:
    value=2, delimiter=\\t.
    """
    name, _, value = text.partition("=")
    if name.strip() == "time" and not value.lstrip().startswith("["):
        return f"time={json.dumps([value])}"
    if name.strip() == "delimiter" and value in (r"\t", "\t", " "):
        return f"delimiter={json.dumps(value.replace(chr(9), chr(92) + 't'))}"
    return f"{name}={json.dumps(value)}" if name.strip() in _COLUMNS and value.isdecimal() else text


def _covered(covers: Sequence[str], roles: Mapping[str, str], path: Path) -> tuple[str, ...]:
    """Expand what is covered to names of hosts; if servers are known, everything is these and the switch."""
    servers = [name for name, role in roles.items() if role != "client"]
    clients = [name for name, role in roles.items() if role == "client"]
    if covers == EVERYTHING:
        return ("servers", "switch") if servers else tuple(clients)
    if set(covers) == {"servers", "switch"}:
        return ("servers", "switch")
    hosts_of = {"servers": servers or clients, "clients": clients, "switch": ["switch"]}
    if strange := [name for name in covers if name not in (*hosts_of, *roles)]:
        names = ", ".join((*roles, *hosts_of))
        raise CampaignError(
            f'no host is called "{strange[0]}"',
            where=str(path),
            next=f"known: {names}; name hosts with --role",
        )
    return tuple(
        dict.fromkeys(name for name_given in covers for name in hosts_of.get(name_given, [name_given]))
    )
