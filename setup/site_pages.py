"""Build the documentation as a site of static files, with search, that works offline: build/site/index.html.

Usage: .venv/bin/python setup/site_pages.py [FOLDER]

The pages are those of docs/, in the order of docs/README.md, and what is generated: a page for each driver
with its options, the pages of `perjoule docs` that the code lays out, the help of all commands, the examples,
the list of decisions, the ledger of predictions, and our own list of results. `perjoule docs NAME` in a page
links such a page. A link that leads nowhere is an error.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from man import WIDTH, commands

from perjoule import campaign, drivers, prediction, publishing
from perjoule.cli import cli
from perjoule.cli.pages import LAID_OUT, laid_out
from perjoule.prediction import published
from perjoule.results import scores
from perjoule.results.published import published_remarks, published_table
from perjoule.results.table import Table

ROOT = Path(__file__).parents[1]
SITE = ROOT / "build" / "site"
GENERATED = ("reference/commands", "reference/drivers/index", "reference/ledger", "examples/index")
EXTRA = ("*.html", "*.1", "*.json", "*.csv")  # shown or downloaded as they are
LISTED = re.compile(r"^- .*(?:\n  .*)*", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+\.md)\)")
REPORT = re.compile(r"\[([^]]*)\]\(([^)#:]+\.html)\)")  # Sphinx would offer it for download
NAMED = re.compile(rf"(?<!\[)`perjoule\s+docs\s+({'|'.join(LAID_OUT)})`")
URL = re.compile(r"https?://[^\s,;]*[\w/]")
# What the theme's pages lack for people who hear them or use no mouse: names, levels, focus.
LACKING = (
    (re.compile('role="heading">'), 'role="heading" aria-level="2">'),
    (re.compile('<aside class="sidebar-drawer"'), '<aside aria-label="Pages" class="sidebar-drawer"'),
    (re.compile('<aside class="toc-drawer'), '<aside aria-label="On this page" class="toc-drawer'),
    (re.compile(r'<(pre|div class="table-wrapper[^"]*")>'), r'<\1 tabindex="0">'),
    (re.compile('(?=<div id="search-results">)'), "<h1>Search</h1>\n"),
)
CELL = str.maketrans({"|": "\\|", "\n": " "})


def build(target: Path, pages: Path = ROOT / "docs") -> None:
    """Write the site into a folder that is empty or an earlier site.

    Raises CalledProcessError: a page is faulty.
    """
    with TemporaryDirectory(prefix="perjoule-site-") as name:
        source = Path(name) / "docs"
        prepare(pages, source)
        lay_out(source, target)
    for page in by_theme(target, pages):
        page.write_text(accessible(page.read_text(encoding="utf-8")), encoding="utf-8")
    shutil.copy(target / "README.html", target / "index.html")
    if (pages / "list").is_dir():
        publish(pages / "list", target / "list" / "ranked")


def lay_out(source: Path, target: Path) -> None:
    """Write the pages of a folder as those of a site.

    Raises CalledProcessError: a page is faulty.
    """
    with TemporaryDirectory(prefix="perjoule-site-") as trees:
        sphinx = [
            sys.executable,
            "-m",
            "sphinx",
            "--fail-on-warning",
            "--keep-going",
            "--quiet",
            "-b",
            "html",
        ]
        subprocess.run([*sphinx, "-d", trees, source, target], check=True)


def by_theme(target: Path, pages: Path) -> list[Path]:
    """List the pages that the theme laid out: not those that are shown as they are."""
    as_they_are = {target / page.relative_to(pages) for page in pages.rglob("*.html")}
    return sorted(set(target.rglob("*.html")) - as_they_are)


def accessible(page: str) -> str:
    """Return a page of the theme with what it lacks."""
    for pattern, better in LACKING:
        page = pattern.sub(better, page)
    return page


def publish(of: Path, to: Path) -> None:
    """Write the pages of our own list of results. Raises SystemExit: a bundle does not verify."""
    if refused := publishing.build(of, to).refused:
        raise SystemExit("\n".join(refused))


def prepare(pages: Path, source: Path) -> None:
    """Copy the pages and write those that are generated."""
    shutil.copytree(pages, source, ignore=shutil.ignore_patterns("__pycache__", *EXTRA))
    for pattern in EXTRA:
        for file in pages.rglob(pattern):
            to = source / "extra" / file.relative_to(pages)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, to)
    for name in LAID_OUT:
        write(source / "reference" / f"{name}.md", laid_out(name))
    for page in source.rglob("*.md"):
        text = REPORT.sub(r'<a href="\2">\1</a>', page.read_text(encoding="utf-8"))
        reference = os.path.relpath(source / "reference", page.parent)
        write(page, NAMED.sub(rf"[\g<0>]({reference}/\g<1>.md)", text))
    platforms = source / "reference" / "platforms.md"
    if platforms.exists():
        write(platforms, platforms.read_text(encoding="utf-8") + what_ran())
    write(source / "reference" / "commands.md", commands_page())
    for path, text in driver_pages():
        write(source / "reference" / "drivers" / path, text)
    write(source / "reference" / "ledger.md", ledger_page())
    write(source / "examples" / "index.md", examples_page())
    for index in (source / "README.md", source / "explanations" / "decisions" / "README.md"):
        if index.exists():
            text = index.read_text(encoding="utf-8") + "".join(files_beside(index))
            write(index, text + "".join(contents(text)))


def write(path: Path, text: str) -> None:
    """Write a page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def contents(index: str) -> Iterator[str]:
    """Yield a table of contents, for the side of each page, for each section of docs/README.md that lists
    pages.
    """
    for section in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        pages = [
            link.removesuffix(".md") for link in dict.fromkeys(LINK.findall("".join(LISTED.findall(body))))
        ]
        if not pages:
            continue
        pages += [
            page
            for page in GENERATED
            if title == ("Reference" if page.startswith("reference") else "Measure")
        ]
        yield "\n".join(["", "```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```", ""])


def files_beside(index: Path) -> Iterator[str]:
    """Yield a list of the numbered pages in an index's folder, by their titles."""
    pages = sorted(index.parent.glob("[0-9]*.md"))
    yield "\n## All\n\n" if pages else ""
    for page in pages:
        title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        yield f"- [{title}]({page.name})\n"


def what_ran() -> str:
    """Return the tables of what ran where."""
    argv = [sys.executable, "-m", "tests.kernels.table"]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def commands_page() -> str:
    """Return the help of all commands."""
    top = click.Context(cli, info_name="perjoule", terminal_width=WIDTH)
    shown = (
        f"## {one.command_path}\n\n```text\n{one.command.get_help(one)}\n```\n" for one in commands(cli, top)
    )
    return "# Commands\n\nWhat `--help` prints.\n\n" + "\n".join(shown)


def driver_pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of a page for each driver, and of their list."""
    listed = ["# Drivers", "", "What a campaign can consist of: `kind` names one, and these are its options."]
    pages: list[str] = []
    for part in drivers.PROTOCOLS:
        name = part.removesuffix("s")
        listed += ["", f"## {name.capitalize()}s", ""]
        for kind in drivers.kinds(part):
            page = f"{name}-{kind}"
            pages.append(page)
            listed.append(f"- [`{kind}`]({page}.md): {linked(campaign.headline(name, kind))}")
            yield f"{page}.md", driver_page(name, kind)
    yield "index.md", "\n".join([*listed, "", "```{toctree}", ":hidden:", "", *pages, "```", ""])


def driver_page(name: str, kind: str) -> str:
    """Return the page of a driver: what it is, an example, all options."""
    rows = [
        f"| {'– ' * one.depth_count}`{one.name}` | {cell(one.default)} | {escaped(one.description)} Value: "
        f"{cell(one.takes)} |"
        for one in campaign.options(name, kind)
    ]
    table = ["| option | default | meaning |", "|---|---|---|", *rows] if rows else ["It has no options."]
    shown = ["```toml", campaign.example_text(name, kind), "```"]
    return "\n".join(
        [
            f"# {kind} ({name})",
            "",
            linked(campaign.about(name, kind)),
            "",
            *shown,
            "",
            "## Options",
            "",
            *table,
            "",
            *(f"- TCP ports: {line}" for line in campaign.ports(name, kind)),
            "",
        ]
    )


def linked(text: str) -> str:
    """Return text whose addresses are links."""
    return URL.sub(r"<\g<0>>", text)


def escaped(text: str) -> str:
    """Return text for a cell of a table."""
    return text.translate(CELL)


def cell(text: str) -> str:
    """Return text for a cell that shows it as it is written."""
    return f"`{escaped(text)}`"


def ledger_page() -> str:
    """Return what `perjoule ledger` prints."""
    compared = published.compared()
    profiles = [prediction.shipped(name) for name in prediction.names()]
    return "\n".join(
        [
            "# The ledger: how wrong predictions are",
            "",
            "What `perjoule ledger` prints: errors of throughput, of measured points that were left out, "
            "with all similar ones,",
            "when the model was fitted. The last columns are the median errors of simpler models of the "
            "same points.",
            "[How predictions are made](../explanations/prediction.md) defines all of them;",
            "[Predict](../how-to/predict.md) shows how to pledge a prediction before you measure.",
            "",
            *table_rows(scores.scores_table(scores.shipped_scores(compared))),
            "",
            *(f"- {line}." for line in scores.scores_remarks(profiles)),
            "",
            "## Published clusters",
            "",
            "Throughput that papers print, and what is predicted of it. Nothing was ever fitted to it.",
            "",
            *table_rows(published_table(compared)),
            "",
            *(f"- {line}." for line in published_remarks(compared, published.UNPREDICTED)),
            "",
        ]
    )


def table_rows(table: Table) -> list[str]:
    """Return a table's rows in Markdown."""
    rows = (table.headers, ("---",) * len(table.headers), *table.rows)
    return [f"| {' | '.join(row)} |" for row in rows]


def examples_page() -> str:
    """Return all campaigns of examples/."""
    found = [
        "# Example campaigns",
        "",
        "They are in `examples/`; `perjoule check FILE` says what one does, and what it takes.",
    ]
    for file in sorted((ROOT / "examples").glob("*.toml")):
        found += ["", f"## {file.stem}", "", "```toml", file.read_text(encoding="utf-8").strip(), "```"]
    return "\n".join([*found, ""])


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else SITE)
