"""The list's static site: index.html, a page for each bundle down to its raw files, and the bundles themselves.

Words of a bundle are only ever text: pages escape them, forbid every script but their own, and name no file after them. Raw files
are served as .txt; a bundle's own report is not served, because it may hold anything.
"""

import base64
import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from perjoule import __version__
from perjoule.machine import removal
from perjoule.model.errors import CampaignError, MachineError, PerjouleError
from perjoule.model.format import any_number, like, with_interval
from perjoule.model.metrics import BOUNDARIES, metric_of
from perjoule.publishing.entry import Entry, Trial, checked
from perjoule.publishing.folder import BUNDLES, bundles
from perjoule.publishing.ranking import groups
from perjoule.results.table import load_text

MARK = ".perjoule-site"  # identifies a folder that a later build may replace
FILTERS = ("hosts", "boundary", "grade", "workload", "direction", "redundancy")


@dataclass(frozen=True)
class Built:
    """A site, its entries, and why bundles are not on it."""

    page: Path
    entries: tuple[Entry, ...]
    refused: tuple[str, ...]


def build(of: Path, to: Path) -> Built:
    """Check every bundle of a list again, and write the site; a bundle that fails is left out and named.

    Args:
        of: the list.
        to: a new or empty folder, or an earlier site, which is replaced.

    Raises:
        CampaignError: the list has no bundles.
        MachineError: `to` holds something else.
        OSError: it can't be written.
    """
    found = bundles(of)
    if not found:
        raise CampaignError("the list has no bundles", where=str(of), next=f"perjoule publish BUNDLE --into {of}")
    if to.exists() and any(to.iterdir()) and not (to / MARK).is_file():
        raise MachineError("this folder holds something else", where=str(to), next="name a new folder, or an earlier site")
    entries: dict[str, Entry] = {}
    refused: list[str] = []
    for path in found:
        try:
            entry = checked(path)
            entries.setdefault(entry.digest, entry)
        except PerjouleError as error:
            refused.append(str(error))
    to.parent.mkdir(parents=True, exist_ok=True)
    removal.sweep(to.parent)  # what a killed build left
    with removal.scratch("perjoule-site-", to.parent.resolve()) as room:
        site = room / "site"
        _write(site, tuple(entries.values()))
        site.chmod(0o755)
        if to.exists():
            removal.remove_folder(to, mark=MARK)
        site.replace(to)
    return Built(to / "index.html", tuple(entries.values()), tuple(refused))


def _write(site: Path, entries: Sequence[Entry]) -> None:
    (site / BUNDLES).mkdir(parents=True)
    (site / MARK).write_text("`perjoule list build` made this folder and replaces it\n")
    style, script = (Markup((files("perjoule.publishing") / "templates" / name).read_text()) for name in ("list.css", "list.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    pages = Environment(
        loader=PackageLoader("perjoule.publishing"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    common: dict[str, object] = {
        "css": style,
        "script": script,
        "script_digest": digest,
        "version": __version__,
        "value": _value,
        "like": _like,
        "with_interval": with_interval,
        "load": load_text,
        "metric_of": metric_of,
        "boundaries": {one.name: one.hosts for one in BOUNDARIES},
        "moment": _moment,
    }
    ranked = groups(entries)
    choices = {name: sorted({str(getattr(group, name)) for group in ranked}) for name in FILTERS}
    shown = {"groups": ranked, "choices": choices, "entries": entries}
    (site / "index.html").write_text(
        pages.get_template("list.html").render(title="Verified results", **common, **shown), encoding="utf-8"
    )
    for entry in entries:
        shutil.copyfile(entry.path, site / BUNDLES / f"{entry.id}.zip")
        folder = site / "entries" / entry.id
        folder.mkdir(parents=True)
        raw = {trial.id: _raw(trial, number, folder) for number, trial in enumerate(entry.trials)}
        page = pages.get_template("entry.html").render(title=entry.title, entry=entry, raw=raw, **common)
        (folder / "index.html").write_text(page, encoding="utf-8")


def _raw(trial: Trial, index: int, folder: Path) -> list[tuple[str, str]]:
    """Write the raw files of a trial, and give each one's name and link; "" for one that only the bundle has."""
    found: list[tuple[str, str]] = []
    for count, (name, text) in enumerate(trial.raw):
        link = f"raw/{index}-{count}.txt" if text is not None else ""
        if text is not None:
            (folder / "raw").mkdir(exist_ok=True)
            (folder / link).write_text(text, encoding="utf-8")
        found.append((name, link))
    return found


def _value(value: float, per: float = 1.0) -> str:
    return any_number(value / per)


def _like(value: float, per: float, shown: str) -> str:
    """Print a repetition with the decimals of the mean over all of them."""
    return like(value / per, shown)


def _moment(utc_s: float) -> str:
    try:
        return f"{datetime.fromtimestamp(utc_s, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return "at an impossible time"
