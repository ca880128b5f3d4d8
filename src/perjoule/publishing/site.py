"""The list's static site: index.html, a page for each bundle down to its raw files, and the bundles
themselves.

Words of a bundle are only ever text: pages escape them, forbid every script but their own, and name no file
after them. Raw files are served as .txt; a bundle's own report is not served, because it may hold anything.
"""

import shutil
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from perjoule import __version__
from perjoule.machine import removal
from perjoule.machine.pages import policy
from perjoule.machine.untrusted import words
from perjoule.model.errors import CampaignError, MachineError, PerjouleError
from perjoule.model.format import like
from perjoule.model.metrics import BOUNDARIES, metric_of
from perjoule.publishing.entry import BundledTrial, Entry, checked, printable
from perjoule.publishing.folder import BUNDLES, bundles
from perjoule.publishing.ranking import groups
from perjoule.results.table import load_text
from perjoule.store.journal import sha256

MARK = ".perjoule-site"  # identifies a folder that a later build may replace
HEADERS = {  # of the list, those of words with their style
    "load": "word",
    "redundancy": "word",
    "file system": "word",
    "work per joule": "",
    "rate": "",
    "clients": "",
    "data hosts": "",
    "n": "",
    "rank": "",
    "publication": "word",
}
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
    paths = bundles(of)
    if not paths:
        raise CampaignError(
            "the list has no bundles", where=str(of), next=f"perjoule publish BUNDLE --into {of}"
        )
    if to.exists() and any(to.iterdir()) and not (to / MARK).is_file():
        raise MachineError(
            "this folder holds something else", where=str(to), next="name a new folder, or an earlier site"
        )
    entries: dict[str, Entry] = {}
    refused: list[str] = []
    to.parent.mkdir(parents=True, exist_ok=True)
    removal.sweep(to.parent)  # what a killed build left
    with removal.scratch("perjoule-site-", to.parent.resolve()) as room:
        site = room / "site"
        (site / BUNDLES).mkdir(parents=True)
        (site / MARK).write_text("`perjoule list build` made this folder and replaces it\n")
        for path in paths:
            try:
                entry = checked(path)
                if entry.digest not in entries:
                    _add(entry, site, room / "entry", {earlier.id for earlier in entries.values()})
                    entries[entry.digest] = entry
            except PerjouleError as error:
                refused.append(str(error))
            except Exception as error:  # whatever one bundle breaks, the others are published
                problem = f"it can't be checked ({type(error).__name__}: {words(error)})"
                refused.append(
                    f"{path}: {problem}; open it with `perjoule verify`, and report what it breaks"
                )
        _write(site / "index.html", _list_page(tuple(entries.values())))
        site.chmod(0o755)
        if to.exists():
            removal.remove_folder(to, mark=MARK)
        site.replace(to)
    return Built(to / "index.html", tuple(entries.values()), tuple(refused))


def _add(entry: Entry, site: Path, folder: Path, ids: Set[str]) -> None:
    """Write the page of an entry, its raw files and its bundle: all of it or nothing.

    Args:
        entry: a checked bundle.
        site: to which it goes.
        folder: where it is made.
        ids: of the other entries.

    Raises:
        CampaignError: its place is taken, or the bundle is no longer what was checked.
        OSError: it can't be written.
    """
    if entry.id in ids:
        raise CampaignError(
            "its digest begins like that of another bundle", where=str(entry.path), next="export it again"
        )
    removal.remove_folder(folder, mark="")
    folder.mkdir()
    shutil.copyfile(entry.path, folder / "bundle.zip", follow_symlinks=False)
    if sha256(folder / "bundle.zip") != entry.digest:
        raise CampaignError(
            "it changed while it was checked", where=str(entry.path), next="build the list again"
        )
    _list_page((entry,))  # a fault of the common page is found here, and is this entry's
    page = folder / "page"
    page.mkdir()
    raw = {trial.id: _raw(trial, number, page) for number, trial in enumerate(entry.trials)}
    _write(
        page / "index.html",
        _pages().get_template("entry.html").render(title=entry.title, entry=entry, raw=raw, **_common()),
    )
    (site / "entries").mkdir(exist_ok=True)
    page.replace(site / "entries" / entry.id)
    (folder / "bundle.zip").replace(site / BUNDLES / f"{entry.id}.zip")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _list_page(entries: Sequence[Entry]) -> str:
    ranked = groups(entries)
    choices = {name: sorted({str(getattr(group, name)) for group in ranked}) for name in FILTERS}
    values = {"groups": ranked, "choices": choices, "entries": entries, "headers": HEADERS}
    return _pages().get_template("list.html").render(title="Verified results", **_common(), **values)


@cache
def _pages() -> Environment:
    return Environment(
        loader=PackageLoader("perjoule.publishing"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _common() -> Mapping[str, object]:
    """Give what all pages have."""
    style, script = (
        Markup((files("perjoule.publishing") / "templates" / name).read_text())
        for name in ("list.css", "list.js")
    )
    return {
        "css": style,
        "script": script,
        "policy": policy(script),
        "version": __version__,
        "like": _like,
        "load": load_text,
        "metric_of": metric_of,
        "boundaries": {boundary.name: boundary.hosts for boundary in BOUNDARIES},
        "moment": _moment,
        "printable": printable,
    }


def _raw(trial: BundledTrial, index: int, folder: Path) -> list[tuple[str, str]]:
    """Write the raw files of a trial, and give each one's name and link; "" for one that only the bundle
    has.
    """
    links: list[tuple[str, str]] = []
    for count, (name, text) in enumerate(trial.raw):
        link = f"raw/{index}-{count}.txt" if text is not None else ""
        if text is not None:
            (folder / "raw").mkdir(exist_ok=True)
            (folder / link).write_text(text, encoding="utf-8")
        links.append((name, link))
    return links


def _like(value: float, per: float, mean_text: str) -> str:
    """Print a repetition with the decimals of the mean over all of them."""
    return like(value / per, mean_text)


def _moment(utc_s: float) -> str:
    try:
        return f"{datetime.fromtimestamp(utc_s, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return "at an impossible time"
